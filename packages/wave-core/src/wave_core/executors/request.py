"""The request that a device gets: one launch of one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from wave_core.symbols import symbol
from wave_core.types import MemoryType
from wave_runtime.arrays import ArrayView, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set as AbstractSet

    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_core.types import DType
    from wave_runtime.kernel import Seen

Scalar = bool | int | float
"""A number as a device gets it."""


@dataclass(frozen=True, kw_only=True)
class LaunchSettings:
    """How a device should go about a launch.

    Attributes:
        checks: What to look for on the way: all, none, or checks by name.
        poison_outputs: Whether memory that the kernel writes counts as unwritten: all
            of it, none, or that of these parameters.
        lowerings: Rules that plugins register for the device, or for its backend.
        compile_options: The `WaveCompileOptions`, which say how a backend makes
            machine code; its defaults without.
        backend: The session's own instance of the backend that the device declares.
    """

    checks: bool | AbstractSet[str] = True
    poison_outputs: bool | AbstractSet[str] = False
    lowerings: LoweringTable | None = None
    compile_options: object = None
    backend: object = None

    def looks_for(self, check: str) -> bool:
        """Whether ``check`` is wanted."""
        return self.checks if isinstance(self.checks, bool) else check in self.checks

    def poisons(self, name: str) -> bool:
        """Whether the memory of the parameter ``name`` counts as unwritten."""
        chosen = self.poison_outputs
        return chosen if isinstance(chosen, bool) else name in chosen


@dataclass(frozen=True, kw_only=True, eq=False)
class LaunchRequest:
    """One launch: everything that a device gets, simulators and GPUs alike.

    Attributes:
        graph: The lowered kernel.
        target: The machine that it was lowered for.
        arguments: One for each parameter, in order: the caller's array, or a number.
            They fit the parameters.
        sizes: Values of the symbols that were left open at compile time.
        settings: How to go about it.
        ordinal: The device that the arrays are on; ``None`` where nothing says it.
        stream: The queue of the device; 0 is its default.
        seen: What a glance showed of the arguments, so that a device of the runtime
            does not look again.
    """

    graph: Graph
    target: Target
    arguments: tuple[Any, ...]
    sizes: Mapping[str, int]
    settings: LaunchSettings
    ordinal: int | None = None
    stream: int = 0
    seen: Seen | None = None

    @classmethod
    def of(
        cls,
        graph: Graph,
        target: Target,
        arguments: Sequence[Any],
        sizes: Mapping[str, int] | None = None,
        settings: LaunchSettings | None = None,
    ) -> Self:
        """A request for arrays and numbers that are known to fit."""
        return cls(
            graph=graph,
            target=target,
            arguments=tuple(arguments),
            sizes=sizes or {},
            settings=settings or LaunchSettings(),
        )

    @cached_property
    def views(self) -> tuple[ArrayView | Scalar, ...]:
        """The arguments, with the memory where it lies in place of arrays.

        Raises:
            UnfitArgument: where something is no array.
        """
        rows = zip(self.graph.parameters, self.arguments, strict=True)
        return tuple(
            view(each) if isinstance(parameter.type, MemoryType) else each
            for parameter, each in rows
        )

    @property
    def symbols(self) -> dict[Expr, int]:
        """The sizes by symbol."""
        return {symbol(name): value for name, value in self.sizes.items()}

    def host_arguments(self) -> dict[str, Any]:
        """By name: numpy arrays over the memory of the CPU, and numbers."""
        rows = zip(self.graph.parameters, self.views, strict=True)
        return {
            parameter.label: host_array(each, parameter.declared.dtype)
            if isinstance(each, ArrayView)
            else each
            for parameter, each in rows
        }


class _Memory:
    """Bytes of the CPU, as numpy takes them; keeps their owner alive."""

    def __init__(self, seen: ArrayView) -> None:
        self.__array_interface__ = seen.interface
        self.owner = seen.owner


def host_array(seen: ArrayView, dtype: DType) -> Any:
    """A numpy array of ``dtype`` over memory of the CPU; nothing is copied."""
    assert seen.is_in(("cpu",)), "a device gets the memory that it reads"
    import numpy as np  # noqa: PLC0415 - importing a plugin must not load it

    if not all(seen.shape):
        # Empty memory may lie at address 0, which numpy 2.0 takes for no memory at all.
        return np.empty(seen.shape, dtype.numpy())
    return np.asarray(_Memory(seen)).view(dtype.numpy())
