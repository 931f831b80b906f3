"""Matrix products that feed each other, turned so that lanes keep what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from wave_core.analysis.matrix import instruction_of
from wave_core.ir import (
    insert_after,
    insert_before,
    replace_uses,
    resolve,
    set_operands,
)
from wave_core.ops.matrix import Mma
from wave_core.ops.shape import Permute
from wave_core.ops.traits import Trait
from wave_core.passes import Pass
from wave_core.types import dim_name

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Layout
    from wave_core.targets import MatrixInstruction

AS_WRITTEN, EXCHANGED = 0, 1

ORDERS = tuple(product((AS_WRITTEN, EXCHANGED), repeat=2))
"""How the operands of the first and the second product stand."""


@dataclass(frozen=True)
class ChainMatrixProducts(Pass):
    """Exchange operands of products so that one's result is the other's operand.

    Needs types. The product of ``lhs`` and ``rhs`` is that of ``rhs`` and ``lhs`` with
    rows and columns exchanged. Where the result of one product, changed element by
    element, is an operand of another, the two are exchanged so that the instruction's
    accumulators lie in the lanes in which it takes that operand, and so that the
    second product keeps the operand's rows where they are. What is reduced or scaled
    between the two then moves between few lanes, and nothing goes through LDS.

    Happens where the order as written does not have the first of these and an
    exchange has. Products whose orders are settled by an earlier pair stay.

    Example::

          kernel "k" target "gfx942" {
            bind N = 16
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `16`,
                workgroup_dim = 0)
            constraint #WorkgroupConstraint(dim = N, tile_size = `16`,
                workgroup_dim = 1)
            %q = argument parameter "q" : mem<M, K, global, f16>
            %k = argument parameter "k" : mem<L, K, global, f16>
            %v = argument parameter "v" : mem<N, L, global, f16>
            %c = argument parameter "c" : mem<M, N, global, f32>
            %y = register {shape = [M, L], dtype = !f32, value = 0.0} : reg<M, L, f32>
            %z = register {shape = [M, N], dtype = !f32, value = 0.0} : reg<M, N, f32>
            %a = read %q, [] : reg<M, K, f16>
            %b = read %k, [] : reg<L, K, f16>
            %w = read %v, [] : reg<N, L, f16>
        -   %s = mma %a, %b, %y : reg<M, L, f32>
        -   %h = cast %s {dtype = !f16} : reg<M, L, f16>
        -   %p = mma %h, %w, %z : reg<M, N, f32>
        -   write %p, %c, []
        +   %0 = permute %y {shape = [L, M]} : reg<L, M, f32>
        +   %s = mma %b, %a, %0 : reg<L, M, f32>
        +   %1 = permute %s {shape = [M, L]} : reg<M, L, f32>
        +   %h = cast %1 {dtype = !f16} : reg<M, L, f16>
        +   %2 = permute %z {shape = [N, M]} : reg<N, M, f32>
        +   %p = mma %w, %h, %2 : reg<N, M, f32>
        +   %3 = permute %p {shape = [M, N]} : reg<M, N, f32>
        +   write %3, %c, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Exchange the products of the pairs that gain from it."""
        geometry = context.geometry(graph)
        settled: set[Op] = set()
        exchanged = 0
        for op in [op for op in graph.walk() if isinstance(op, Mma)]:
            for pair in _pairs(op):
                if pair.first in settled or op in settled:
                    continue
                settled.update((pair.first, op))
                rows = [
                    instruction_of(each, geometry, context.target)
                    for each in (pair.first, op)
                ]
                exchanged += _settle(pair, *rows)
        context.count("exchanged_products", exchanged)
        return exchanged > 0


@dataclass(frozen=True)
class _Pair:
    """A product whose result another one takes.

    Attributes:
        first: The product before.
        second: The product after.
        kept: The dim of the operand that is not contracted.
        contracted: The dim that is.
        is_rows: Whether the operand is the one whose dim becomes rows.
    """

    first: Mma
    second: Mma
    kept: str
    contracted: str
    is_rows: bool


def _pairs(second: Mma) -> Iterator[_Pair]:
    """The products whose results are operands of one."""
    roles = second.contraction()
    contracted = dim_name(roles.k[-1])
    for value, kept, is_rows in (
        (second.lhs, roles.m, True),
        (second.rhs, roles.n, False),
    ):
        first = _product_behind(value)
        if first is None or first is second:
            continue
        dims = first.contraction()
        if {dim_name(dims.m), dim_name(dims.n)} == {dim_name(kept), contracted}:
            yield _Pair(first, second, dim_name(kept), contracted, is_rows)


def _product_behind(value: Op) -> Mma | None:
    """The product that a value is made from, element by element; of several, one."""
    waiting: list[Op] = [resolve(value)]
    seen: set[Op] = set()
    while waiting:
        op = waiting.pop()
        if isinstance(op, Mma):
            return op
        passes_on = op.has(Trait.ELEMENTWISE) or isinstance(op, Permute)
        if op in seen or not passes_on:
            continue
        seen.add(op)
        waiting += [resolve(each) for each in op.operands]
    return None


def _settle(pair: _Pair, first: MatrixInstruction, second: MatrixInstruction) -> int:
    """Exchange what gains; how many products that were."""
    found = [order for order in ORDERS if _fits(pair, first, second, order)]
    if not found or ORDERS[0] in found:
        return 0
    steady = [order for order in found if _keeps_rows(pair, second, order)]
    order = (*steady, *found)[0]
    for each, turned in zip((pair.first, pair.second), order, strict=True):
        if turned:
            _exchange(each)
    return sum(order)


def _fits(
    pair: _Pair,
    first: MatrixInstruction,
    second: MatrixInstruction,
    order: tuple[int, ...],
) -> bool:
    """Whether accumulators lie in the lanes that the operand is taken from."""
    kept, contracted = _results(pair, order[0])
    side, rows = _operand(pair, second, order[1])
    return _lanes(first.acc, kept) == _lanes(side, rows) and _lanes(
        first.acc, contracted
    ) == _lanes(side, "K")


def _keeps_rows(pair: _Pair, second: MatrixInstruction, order: tuple[int, ...]) -> bool:
    """Whether the result has the operand's dim in the lanes that the operand has."""
    side, rows = _operand(pair, second, order[1])
    return _lanes(side, rows) == _lanes(second.acc, rows)


def _results(pair: _Pair, turned: int) -> tuple[str, str]:
    """The roles of the dims kept and contracted in the first product's result."""
    kept_is_rows = dim_name(pair.first.contraction().m) == pair.kept
    return ("M", "N") if kept_is_rows != bool(turned) else ("N", "M")


def _operand(pair: _Pair, row: MatrixInstruction, turned: int) -> tuple[Layout, str]:
    """The layout of the operand in the second product, and the role of its dim."""
    return (row.lhs, "M") if pair.is_rows != bool(turned) else (row.rhs, "N")


def _lanes(layout: Layout, dim: str) -> set[tuple[int, int]]:
    """The parts of the lane number that a dim is counted by."""
    return {(digit.div, digit.mod) for digit in layout.lane_digits(dim)}


def _exchange(op: Mma) -> None:
    """Exchange operands; sum and result keep their order for everything else."""
    shape = op.register_type.shape
    turned = (*shape[:-2], shape[-1], shape[-2])
    acc = insert_before(op, Permute(op.acc, turned))
    lhs, rhs, _, *scales = op.exchanged
    back = insert_after(op, Permute(op, shape))
    replace_uses(op, back)
    set_operands(back, (op,))
    set_operands(op, (lhs, rhs, acc, *scales))
    op.type = op.infer()
