"""A kernel around one op: read the operands, compute, write the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import numpy as np

from wave_core.constraints import HardwareConstraint
from wave_core.constraints import WorkgroupConstraint
from wave_core.diagnostics import capture_location
from wave_core.ir import Graph
from wave_core.ops.memory import Read
from wave_core.ops.memory import Write
from wave_core.ops.structure import Yield
from wave_core.passes import PassContext
from wave_core.plugin.plan import plan_pipeline
from wave_core.plugin.results import PipelineRequest
from wave_core.symbols import constant
from wave_core.symbols import symbol
from wave_core.types import DTYPES
from wave_core.types import AddressSpace
from wave_core.types import MemoryType
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from wave_core.compile import Session
    from wave_core.ops import Op
    from wave_core.passes.base import GraphLike
    from wave_core.types import DType

    Array = np.ndarray[Any, np.dtype[Any]]

TILE = 32
"""The workgroup's tile along the last dimension, in elements."""


@dataclass(frozen=True)
class OneOp:
    """A kernel around one op.

    Attributes:
        graph: The kernel.
        op: The op, in the graph.
        operands: The arrays that it reads.
    """

    graph: Graph
    op: Op
    operands: tuple[Array, ...]

    @classmethod
    def make(
        cls,
        op: type[Op],
        attributes: Mapping[str, object],
        operands: Sequence[Array],
        target: str,
    ) -> OneOp:
        """The kernel for these operands.

        Raises:
            UserError: where the op refuses them.
        """
        graph = empty_kernel(operands[0].shape, target)
        values = [read(graph, a.shape, dtype_of(a)) for a in operands]
        one = emit(graph, build(op, values, attributes))
        assert isinstance(one.type, RegisterType), f"`{op.op_name}` gives no register"
        output = parameter(graph, MemoryType(one.type.shape, SPACE, one.type.dtype))
        emit(graph, Write(one, output))
        emit(graph, Yield(values=()))
        return cls(graph, one, tuple(operands))

    def output(self) -> Array:
        """An output that nobody has written."""
        assert isinstance(self.op.type, RegisterType), "checked when it was made"
        bound = self.graph.bindings
        shape = tuple(dim.subs(bound).constant_value for dim in self.op.type.shape)
        return np.zeros(shape, self.op.type.dtype.numpy())


SPACE = AddressSpace.GLOBAL


def dims(count: int) -> tuple[Any, ...]:
    """The symbols of the dimensions."""
    return tuple(symbol(f"D{i}") for i in range(count))


def empty_kernel(shape: tuple[int, ...], target: str) -> Graph:
    """A kernel without ops, whose last dimension is cut into tiles."""
    names = dims(len(shape))
    rows = (
        HardwareConstraint(),
        WorkgroupConstraint(names[-1], constant(TILE), 0),
    )
    bindings = dict(zip(names, shape, strict=True))
    return Graph("one_op", target, bindings, rows, location=capture_location())


def emit(graph: Graph, op: Op) -> Op:
    """Append an op to the kernel's body."""
    op.location = capture_location()
    return graph.body.append(op)


def parameter(graph: Graph, declared: MemoryType) -> Op:
    """A further parameter of the kernel."""
    label = f"p{len(graph.parameters)}"
    where = capture_location()
    return graph.body.add_argument("parameter", label, declared, where)


def read(graph: Graph, shape: tuple[int, ...], dtype: DType) -> Op:
    """The register with the elements of a further parameter."""
    return emit(
        graph, Read(parameter(graph, MemoryType(dims(len(shape)), SPACE, dtype)))
    )


def build(op: type[Op], values: Sequence[Op], attributes: Mapping[str, object]) -> Op:
    """The op on values: one for each operand field, the rest for a variadic one."""
    given: dict[str, object] = dict(attributes)
    left = list(values)
    for field in op.operand_fields:
        if field.variadic:
            given[field.name] = tuple(left)
            left = []
        elif left:
            given[field.name] = left.pop(0)
    assert not left, f"`{op.op_name}` has fewer operands than `make_operands` gives"
    return op(**given)


def dtype_of(array: Array) -> DType:
    """The element type of an array."""
    return next(d for d in DTYPES.values() if d.numpy() == array.dtype)


def lower(session: Session, graph: Graph, stop_after: str | None) -> None:
    """Run the pipeline, or a part of it, on a kernel."""
    target = session.target(graph.target)
    plan = plan_pipeline(session.plugins, PipelineRequest(target.name, graph.name))
    context = PassContext(target)
    plan.runner().run(cast("GraphLike", graph), context, stop_after)
