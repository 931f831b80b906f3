"""Operands of matrix ops, swapped so that each lane holds neighbours of the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.matrix import instruction_of
from wave_core.ir import set_attributes, set_operands
from wave_core.ops.constant import Splat
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read
from wave_core.ops.structure import Argument
from wave_core.passes import Pass
from wave_core.types import RegisterType, dim_name
from wave_passes_memory.accesses.accumulator_chains import AccumulatorChain
from wave_passes_memory.accesses.pack import fastest

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr, Layout


@dataclass(frozen=True)
class SwapMatrixOperands(Pass):
    """Exchange the operands of matrix ops so that results can be stored wide.

    Needs types. The product of ``lhs`` and ``rhs`` is that of ``rhs`` and ``lhs`` with
    rows and columns exchanged: the same numbers, in the lanes where the instruction
    puts them. Happens where a lane then holds neighbours along the fastest dimension
    of every memory that results go to, where it did not before, where one store takes
    them all, where that dimension is a multiple of them, and where the instruction
    takes both operands alike. Sums
    that something else uses than matrix ops, elementwise ops and writes stay.

    Example::

          kernel "k" target "gfx942" {
            bind N = 64
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = M, tile_size = `16`,
                workgroup_dim = 0)
            constraint #WorkgroupConstraint(dim = N, tile_size = `16`,
                workgroup_dim = 1)
            %a = argument parameter "a" : mem<M, K, global, f16>
            %b = argument parameter "b" : mem<N, K, global, f16>
            %c = argument parameter "c" : mem<M, N, global, f32>
        -   %z = register {shape = [M, N], dtype = !f32, value = 0.0} : reg<M, N, f32>
        +   %z = register {shape = [N, M], dtype = !f32, value = 0.0} : reg<N, M, f32>
            %x = read %a, [] : reg<M, K, f16>
            %y = read %b, [] : reg<N, K, f16>
        -   %p = mma %x, %y, %z : reg<M, N, f32>
        +   %p = mma %y, %x, %z : reg<N, M, f32>
            write %p, %c, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Swap the operands of the sums that gain from it."""
        geometry = context.geometry(graph)
        seen: set[Op] = set()
        swapped = 0
        for op in [op for op in graph.walk() if isinstance(op, Mma)]:
            if op in seen:
                continue
            chain = AccumulatorChain(op)
            seen.update(chain.values)
            if chain.closed and chain.writes and _gains(chain, geometry, context):
                _swap(chain, graph)
                swapped += 1
        context.count("swapped_products", swapped)
        return swapped > 0


def _gains(chain: AccumulatorChain, geometry: Geometry, context: PassContext) -> bool:
    """Whether every matrix op of the chain then gives wider stores."""
    columns = dim_name(chain.dims[1])
    if any(fastest(write) != columns for write in chain.writes):
        return False
    widest_element = max(write.memory.memory_type.dtype.bits for write in chain.writes)
    extent = geometry.extent(columns)
    for op in chain.values:
        if not isinstance(op, Mma):
            continue
        roles = op.contraction()
        row = instruction_of(op, geometry, context.target)
        alike = row.lhs.rename({"M": "N"}) == row.rhs
        run = neighbours(row.acc, "M")
        if run * widest_element > context.target.memory.max_access_bits:
            return False
        if (roles.m, roles.n) != chain.dims or not alike:
            return False
        if run <= neighbours(row.acc, "N"):
            return False
        if not geometry.facts.prove_divisible(extent, run):
            return False
    return True


def neighbours(layout: Layout, dim: str) -> int:
    """How many registers of a lane follow each other along a dimension."""
    count = 1
    for digit in layout.reg_digits(dim):
        if digit.coeff != count or digit.div != count:
            break
        count *= digit.mod
    return count


def _swap(chain: AccumulatorChain, graph: Graph) -> None:
    for value in chain.values:
        kind = value.register_type
        kind = RegisterType(_transposed(kind.shape, chain), kind.dtype)
        if isinstance(value, Splat | Read):
            set_attributes(value, shape=kind.shape)
        elif isinstance(value, Argument):
            set_attributes(value, declared=kind)
        else:
            value.type = kind
    for value in chain.values:
        if isinstance(value, Mma):
            set_operands(value, value.exchanged)
    # Elementwise ops take the order of dims from their operands.
    for op in graph.walk():
        if op in chain.values:
            op.type = op.infer()


def _transposed(shape: tuple[Expr, ...], chain: AccumulatorChain) -> tuple[Expr, ...]:
    rows, columns = chain.dims
    other = {rows: columns, columns: rows}
    return tuple(other.get(dim, dim) for dim in shape)
