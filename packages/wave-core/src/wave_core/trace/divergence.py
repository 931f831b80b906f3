"""Barriers that provably not all threads of a workgroup reach.

Conditions that follow from the threads' own numbers and from sizes are computed for all
threads of the first and the last workgroup. Others are left to the simulators.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from wave_core.constraints import WorkgroupConstraint, thread_dims, workgroup_symbol
from wave_core.diagnostics import user_error
from wave_core.ir.rewrite import resolve
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex, argument_symbol
from wave_core.ops.control import Conditional, While
from wave_core.ops.elementwise import Elementwise
from wave_core.ops.shape import Broadcast, Permute
from wave_core.ops.structure import region_of
from wave_core.ops.sync import MEETINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wave_core.ir.graph import Graph
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


def check_barriers(graph: Graph) -> None:
    """Refuse a barrier of which it is proved that some threads come and others not.

    Raises:
        UserError: WV0152.
    """
    found = [op for op in graph.walk() if isinstance(op, MEETINGS)]
    for op in found if thread_dims(graph.constraints) else ():
        around = [each for each in region_of(op).around if _decides(each)]
        for places in _workgroups(graph) if around else ():
            threads = _Threads({**graph.bindings, **places}, graph)
            answers = [threads.answer(each) for each in around]
            if any(answer is None for answer in answers):
                continue
            here = answers[0]
            for answer in answers[1:]:
                here = here & answer
            if here.any() and not here.all():
                raise _divergent(op, around[0], int(here.sum()), here.size)


def _decides(op: Op) -> bool:
    return isinstance(op, Conditional | While)


def _workgroups(graph: Graph) -> Iterator[dict[Expr, int]]:
    """The places of the first and the last workgroup on each axis."""
    choices: list[list[tuple[Expr, int]]] = []
    for row in graph.constraints:
        if isinstance(row, WorkgroupConstraint) and row.primary:
            number = workgroup_symbol(row.workgroup_dim)
            count = row.count.subs(graph.bindings)
            last = count.constant_value - 1 if count.is_constant else 0
            choices.append([(number, each) for each in sorted({0, max(last, 0)})])
    for chosen in product(*choices):
        yield dict(chosen)


class _Threads:
    """Values of all threads of one workgroup, as far as they follow from ``known``.

    Arrays have one axis for each dim of threads; extents of 1 broadcast.
    """

    def __init__(self, known: Mapping[Expr, int], graph: Graph) -> None:
        self._known = known
        self._dims = thread_dims(graph.constraints)
        self._found: dict[Op, Any] = {}

    def answer(self, op: Op) -> Any:
        """For each thread whether it runs the body; ``None`` where that is open."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only where it computes

        known = all(dim in self._known for dim in self._dims)
        if not isinstance(op, Conditional) or not known:
            return None
        if op.condition is None:
            found = None if op.expr is None else self._number(op.expr)
        else:
            found = self._value(op.condition)
        counts = [self._known[dim] for dim in self._dims]
        return None if found is None else np.broadcast_to(found, counts) != 0

    def _number(self, expr: Expr) -> Any:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only where it computes

        bound = expr.subs(self._known)
        return np.asarray(bound.constant_value) if bound.is_constant else None

    def _value(self, op: Op) -> Any:
        op = resolve(op)
        if op not in self._found:
            self._found[op] = self._computed(op)
        return self._found[op]

    def _computed(self, op: Op) -> Any:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only where it computes

        dtype = op.register_type.dtype.numpy()
        if isinstance(op, SelfIndex):
            axis = self._dims.index(op.dim)
            shape = [-1 if i == axis else 1 for i in range(len(self._dims))]
            return np.arange(self._known[op.dim]).reshape(shape).astype(dtype)
        if isinstance(op, Scalar):
            given = op.value
            if isinstance(given, bool | int | float):
                return np.asarray(given, dtype)
            found = self._number(given)
            return None if found is None else found.astype(dtype)
        if not isinstance(op, Broadcast | Permute | Elementwise | ApplyExpr):
            return None
        operands = [self._value(value) for value in op.operands]
        if any(value is None for value in operands):
            return None
        if isinstance(op, Elementwise):
            return op.evaluate(*operands)
        return self._applied(op, operands) if isinstance(op, ApplyExpr) else operands[0]

    def _applied(self, op: ApplyExpr, operands: list[Any]) -> Any:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only where it computes

        expr = op.expr.subs(self._known)

        def at(*values: Any) -> Any:
            numbers = {argument_symbol(i): int(v) for i, v in enumerate(values)}
            bound = expr.subs(numbers)
            return bound.constant_value if bound.is_constant else None

        found = np.frompyfunc(at, len(operands), 1)(*operands)
        if any(each is None for each in np.ravel(found)):
            return None
        return np.asarray(found).astype(op.register_type.dtype.numpy())


def _divergent(op: Op, around: Op, here: int, threads: int) -> Exception:
    return user_error(
        "WV0152",
        f"`{op.op_name}` where {here} of {threads} threads of a workgroup come",
        at=op.location,
        label="a thread waits here for all others",
        secondary=((around.location, "not all threads enter this"),),
        help=(
            "move the barrier out of the branch: all threads have to reach it",
            "split the branch in two, and put the barrier between them",
        ),
    )
