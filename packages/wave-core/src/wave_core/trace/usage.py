"""Which memories a kernel reads and which it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.structure import Argument
from wave_core.types import MemoryType, Usage

if TYPE_CHECKING:
    from wave_core.ir.graph import Graph


def parameter_usage(graph: Graph) -> dict[str, Usage]:
    """The usage of every memory parameter by label, in order.

    Written anywhere, in a loop too: output. Else input, read or not.
    """
    from wave_core.ir.graph import resolve  # noqa: PLC0415 - loads the graph storage

    usage = {
        parameter.label: Usage.INPUT
        for parameter in graph.parameters
        if isinstance(parameter.type, MemoryType)
    }
    for op in graph.walk():
        for effect in op.effects():
            memory = resolve(effect.memory) if effect.writes and effect.memory else None
            if isinstance(memory, Argument):
                usage[memory.label] = Usage.OUTPUT
    return usage
