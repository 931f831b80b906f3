"""The parameters of a kernel, as a launch sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from wave_core.executors import ExecutorSpec
from wave_core.symbols import symbol
from wave_core.trace import parameter_usage
from wave_core.types import MemoryType, RegisterType, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.launch.logs import LogArray
    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Graph
    from wave_core.symbols import Expr
    from wave_core.types import DType


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        name: As the author wrote it.
        position: Its place in the signature, from 0.
        dtype: The element type, or the type of the scalar.
        shape: The dimensions of a tensor as the author wrote them; ``None`` for a
            scalar.
        extents: The dimensions with what is known at compile time put in.
        usage: How the kernel uses a tensor.
        location: Where the author declared it.
    """

    name: str
    position: int
    dtype: DType
    shape: tuple[Expr, ...] | None
    extents: tuple[Expr, ...] = ()
    usage: Usage = Usage.NONE
    location: Location | None = None

    @property
    def is_tensor(self) -> bool:
        """Whether an array is wanted, not a number."""
        return self.shape is not None

    @property
    def is_output(self) -> bool:
        """Whether the kernel writes it."""
        return self.usage is Usage.OUTPUT

    @property
    def symbol(self) -> Expr:
        """The symbol that carries the value of an integer scalar."""
        return symbol(self.name)

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.name}: {self.dtype}"
        dims = ", ".join(map(str, self.shape))
        return f"{self.name}: {self.dtype}[{dims}]"


@dataclass(frozen=True)
class Signature:
    """The parameters of one kernel, in order."""

    kernel: str
    parameters: tuple[Parameter, ...]
    location: Location | None = None

    @classmethod
    def of(cls, graph: Graph) -> Signature:
        """The signature of a traced kernel; logs are no parameters of a launch."""
        usage = parameter_usage(graph)
        rows: list[Parameter] = []
        own = graph.parameters[: len(graph.parameters) - len(graph.logs)]
        for position, argument in enumerate(own):
            kind, name, at = argument.type, argument.label, argument.location
            assert kind is not None, "parameters are typed when they are traced"
            if isinstance(kind, RegisterType):
                rows.append(Parameter(name, position, kind.dtype, None, location=at))
                continue
            assert isinstance(kind, MemoryType), "a parameter is a memory or a scalar"
            extents = tuple(dim.subs(graph.bindings) for dim in kind.storage_shape)
            shape = kind.storage_shape
            rows.append(
                Parameter(name, position, kind.dtype, shape, extents, usage[name], at)
            )
        return cls(graph.name, tuple(rows), graph.location)

    @cached_property
    def tensors(self) -> tuple[Parameter, ...]:
        """The parameters that take arrays."""
        return tuple(row for row in self.parameters if row.is_tensor)

    def __str__(self) -> str:
        return f"{self.kernel}({', '.join(map(str, self.parameters))})"


ON_CPU = ExecutorSpec("cpu", "")
"""A device that reads memory of the CPU, whatever the strides."""


@dataclass(frozen=True)
class LaunchShape:
    """Facts about a kernel that a launch needs, besides its signature.

    Attributes:
        signature: The kernel's parameters.
        grid: Workgroups on each axis, over the symbols that a launch binds.
        bindings: Symbols bound at compile time.
        constraints: The kernel's constraints.
        dynamic: Symbols that a launch must bind.
        logs: The arrays that a launch allocates.
        device: What runs the kernel.
    """

    signature: Signature
    grid: tuple[Expr, ...]
    bindings: Mapping[Expr, int]
    constraints: tuple[Constraint, ...] = ()
    dynamic: tuple[Expr, ...] = ()
    device: ExecutorSpec = ON_CPU
    logs: tuple[LogArray, ...] = ()
