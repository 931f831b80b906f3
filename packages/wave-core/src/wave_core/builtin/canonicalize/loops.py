"""Loops get a symbol for their iteration number, and a trip count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.loops import iterations
from wave_core.constraints.machine import induction_symbol
from wave_core.diagnostics import user_error
from wave_core.ir import set_attributes
from wave_core.ops.control import Iterate, Loop, While
from wave_core.passes import Pass
from wave_core.symbols import as_expr
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph, Region
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class NumberLoops(Pass):
    """Give every loop an induction symbol and the trip count of its constraint.

    The symbol is the number of the tile: it goes from ``start`` in steps of ``step``.
    A loop nested in another one over the same
    axis gets a symbol of its own. Values with the loop's own dimension may not
    cross its border: inside, that dimension means another tile.

    Example::

          kernel "k" target "generic" {
            bind N = 64
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #TilingConstraint(dim = N, tile_size = `16`)
            %a = argument parameter "a" : mem<N, global, f32>
        -   %l = iterate [], [%a] {axis = N} body {
        +   %l = iterate [], [%a] {axis = N, induction = $IV:N, count = `4`} body {
              %m = argument capture "a" : mem<N, global, f32>
              %x = read %m, [] : reg<N, f32>
              write %x, %m, []
              yield []
            }
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Number the loops of ``graph``."""
        geometry = context.geometry(graph)
        return _number(graph.body, {}, geometry)


def _number(region: Region, depths: dict[str, int], geometry: Geometry) -> bool:
    changed = False
    for op in region.ops:
        inner = depths
        if isinstance(op, Iterate):
            axis = str(op.axis)
            _check_border(op, axis, geometry)
            depth = depths.get(axis, 0)
            start = as_expr(op.start)
            count = iterations(axis, start, op.step, geometry, op.location)
            set_attributes(op, induction=induction_symbol(axis, depth), count=count)
            inner = {**depths, axis: depth + 1}
            changed = True
        elif isinstance(op, While) and op.axis is not None:
            _check_border(op, str(op.axis), geometry)
        for nested in op.regions:
            changed |= _number(nested, inner, geometry)
    return changed


def _check_border(op: Loop, axis: str, geometry: Geometry) -> None:
    for value in op.operands:
        if not isinstance(value.type, RegisterType) or value.op_name == "register":
            continue
        if axis in map(geometry.loop_axis, value.type.dims):
            raise user_error(
                "WV0322",
                f"a value with dimension `{axis}` enters a loop over `{axis}`",
                at=value.location,
                label=f"has dimension `{axis}` of the whole tile",
                secondary=[(op.location, f"inside, `{axis}` is one tile of the loop")],
                help=("compute it inside the loop",),
            )
