"""Extracting an element becomes a reduction that all lanes take part in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.loops import loops_around
from wave_core.diagnostics import user_error
from wave_core.ir import insert_before, replace
from wave_core.ops.compare import Cast, Select
from wave_core.ops.constant import ApplyExpr, SelfIndex, Splat, argument_symbol
from wave_core.ops.reduce import Reduce, identity_value
from wave_core.ops.shape import Extract
from wave_core.passes import Pass
from wave_core.symbols import as_expr, constant, eq, le, lt
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr


@dataclass(frozen=True)
class LowerExtracts(Pass):
    """Replace ``extract`` by the maximum over all other elements set to -inf.

    The element may sit in any lane; a reduction brings it to all of them. The
    maximum of one number and -inf is that number, exactly, NaN and -0.0 included.

    Example::

          kernel "k" target "generic" {
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = N, tile_size = `64`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<M, N, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %x = read %a, [] : reg<M, N, f32>
        -   %y = extract %x {offset = [`3`]} : reg<M, f32>
        -   write %y, %b, []
        +   %0 = self_index {dim = N, dtype = !i64} : reg<N, i64>
        +   %1 = apply_expr [%0] {expr = $ARG0? == 64*$WG0 + 3, dtype = !bool} : reg<N,
        +       bool>
        +   %2 = register {shape = [M, N], dtype = !f32, value = -inf} : reg<M, N, f32>
        +   %3 = select %1, %x, %2 : reg<M, N, f32>
        +   %4 = reduce [%3], none {kind = "max", dim = N} : reg<M, f32>
        +   write %4, %b, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Lower the extracts of ``graph``."""
        found = [op for op in graph.walk() if isinstance(op, Extract)]
        if found:
            geometry = context.geometry(graph)
            for op in found:
                _lower(op, geometry)
        return bool(found)


def _lower(op: Extract, geometry: Geometry) -> None:
    kind = op.value.register_type
    if kind.dtype.is_bool:
        wide = insert_before(op, Cast(op.value, DTYPES["i32"]))
        picked = _pick(op, wide, geometry)
        replace(op, Cast(picked, kind.dtype))
    else:
        replace(op, _pick(op, op.value, geometry, insert=False))


def _check_offset(op: Extract, offset: Expr, tile: Expr, geometry: Geometry) -> None:
    """Refuse an offset that is never in the tile of a wave.

    Raises:
        UserError: WV0213.
    """
    facts = geometry.facts
    if facts.prove(lt(offset, constant(0))) or facts.prove(le(tile, offset)):
        raise user_error(
            "WV0213",
            f"`extract` at offset {offset}, and a wave holds {tile} elements of"
            f" `{op.value.register_type.dims[-1]}`",
            at=op.location,
            secondary=((op.value.location, "this register"),),
            help="give an offset from 0, smaller than the tile of the wave",
        )


def _pick(op: Extract, value: Op, geometry: Geometry, *, insert: bool = True) -> Op:
    kind = value.register_type
    dim = kind.shape[-1]
    loops, offset = loops_around(op), geometry.bind(as_expr(op.offset[0]))
    base = geometry.base(kind.dims[-1], loops)
    _check_offset(op, offset, geometry.tile(kind.dims[-1], loops), geometry)
    wanted = eq(argument_symbol(0) - base, offset)
    index = insert_before(op, SelfIndex(dim, DTYPES["i64"]))
    here = insert_before(op, ApplyExpr((index,), wanted, DTYPES["bool"]))
    filler = identity_value("max", kind.dtype)
    others = insert_before(op, Splat(kind.shape, kind.dtype, filler))
    chosen = insert_before(op, Select(here, value, others))
    reduced = Reduce((chosen,), None, "max", dim)
    return insert_before(op, reduced) if insert else reduced
