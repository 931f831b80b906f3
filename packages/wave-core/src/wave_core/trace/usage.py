"""Which memories a kernel reads and which it writes, and what its author states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops.structure import Argument
from wave_core.ops.traits import EffectKind
from wave_core.types import MemoryType, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Graph
    from wave_core.ops.traits import Effect


def parameter_usage(graph: Graph) -> dict[str, Usage]:
    """The usage of every memory parameter by label, in order.

    Written anywhere, in a loop too: output. Else input, read or not.
    """
    usage = {
        parameter.label: Usage.INPUT
        for parameter in graph.parameters
        if isinstance(parameter.type, MemoryType)
    }
    return usage | dict.fromkeys(_first_writes(graph), Usage.OUTPUT)


def unwritten_outputs(graph: Graph) -> frozenset[str]:
    """Parameters that the kernel writes and whose old values it has no use for.

    What atomics update is brought by the caller: they need what it held before.
    """
    updated = {
        memory.label
        for op in graph.walk()
        for effect in op.effects()
        if effect.kind is EffectKind.READ_WRITE
        and (memory := _parameter(effect)) is not None
    }
    return frozenset(_first_writes(graph).keys() - updated)


def check_usage(graph: Graph, stated: Mapping[str, Usage]) -> None:
    """See that a kernel does to its memories what their annotations state.

    Raises:
        UserError: WV0419 where it writes an input, or does not write an output.
    """
    writes = _first_writes(graph)
    for parameter in graph.parameters:
        name, at = parameter.label, parameter.location
        match stated.get(name, Usage.NONE), name in writes:
            case Usage.INPUT, True:
                what = f"`{name}` is declared as an input, and written"
                raise user_error(
                    "WV0419",
                    what,
                    at=writes[name],
                    label="written here",
                    secondary=((at, "`KernelBufferUsage.INPUT`"),),
                    help="declare it as `OUTPUT`, or leave the usage out",
                )
            case Usage.OUTPUT, False:
                raise user_error(
                    "WV0419",
                    f"`{name}` is declared as an output, and never written",
                    at=at,
                    label="`KernelBufferUsage.OUTPUT`",
                    help="write to it, declare it as `INPUT`, or leave the usage out",
                )
            case _:
                pass


def _first_writes(graph: Graph) -> dict[str, Location | None]:
    """Where the kernel first writes each memory parameter that it writes."""
    found: dict[str, Location | None] = {}
    for op in graph.walk():
        for effect in op.effects():
            memory = _parameter(effect) if effect.writes else None
            if memory is not None:
                found.setdefault(memory.label, op.location)
    return found


def _parameter(effect: Effect) -> Argument | None:
    """The memory parameter that an effect touches, if it is one."""
    from wave_core.ir.graph import resolve  # noqa: PLC0415 - loads the graph storage

    memory = resolve(effect.memory) if effect.memory else None
    return memory if isinstance(memory, Argument) else None
