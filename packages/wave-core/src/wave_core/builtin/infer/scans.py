"""Scans and sorts need all elements in one workgroup, and all lanes at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.builtin.infer.slices import check_slice
from wave_core.diagnostics import user_error
from wave_core.ir import region_of
from wave_core.ops.control import Conditional
from wave_core.ops.scan import Along, Sort
from wave_core.ops.shape import ExtractSlice
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class CheckScans(Pass):
    """Refuse scans, sorts and slices that lack elements, or lanes.

    Workgroups run in any order and do not wait for each other, so none can go on from
    another; waves do not sort together. Lanes that do not run a conditional have
    nothing to give. Changes nothing.

    Example::

          kernel "k" target "generic" {
            bind N = 64
            constraint #HardwareConstraint(threads_per_wave = 64)
            constraint #WorkgroupConstraint(dim = N, tile_size = `64`,
                workgroup_dim = 0)
            %a = argument parameter "a" : mem<N, global, i32>
            %x = read %a, [] : reg<N, i32>
            %s = scan [%x], [] {dim = N} body {
              %f = argument carried "f" : reg<N, i32>
              %g = argument carried "g" : reg<N, i32>
              %t = add %f, %g : reg<N, i32>
              yield [%t]
            }
            %y = get_result %s : reg<N, i32>
            write %y, %a, []
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Look at each scan."""
        found = [op for op in graph.walk() if isinstance(op, Along | ExtractSlice)]
        if found:
            geometry = context.geometry(graph)
            for op in found:
                if isinstance(op, ExtractSlice):
                    check_slice(op, geometry)
                else:
                    _check_whole(op, geometry)
                    _check_lanes(op, geometry)
        return False


def _check_whole(op: Along, geometry: Geometry) -> None:
    dim = str(op.dim)
    row, extent = geometry.spreading(dim), geometry.extent(dim)
    if row is not None:
        known = f"Assumption({extent} <= {row.tile_size}) says that it is one tile"
        raise user_error(
            "WV0340",
            f"a {op.op_name} goes along `{dim}`, which is spread across workgroups",
            at=op.location,
            label=f"goes along `{dim}`",
            secondary=((row.location, f"{row.tile_size} of {extent}"),),
            help=(
                f"give one workgroup all of `{dim}`, among several waves if it is long",
                f"or loop over `{dim}` and carry the last sum as `acc`",
                *(() if extent.is_constant else (known,)),
            ),
        )
    wave = geometry.sharing(dim)
    if wave is not None and isinstance(op, Sort):
        raise user_error(
            "WV0342",
            f"a sort goes along `{dim}`, which several waves share",
            at=op.location,
            label=f"sorts along `{dim}`",
            secondary=((wave.location, f"{wave.tile_size} to each"),),
            help=f"give one wave all of `{dim}`",
        )
    if wave is not None and wave.wave_id is not None:
        raise user_error(
            "WV0340",
            f"a scan goes along `{dim}`, whose waves `wave_id` numbers",
            at=op.location,
            label="needs the order of the waves",
            secondary=((wave.location, "numbers them"),),
            help="leave `wave_id` out",
        )


def _check_lanes(op: Along, geometry: Geometry) -> None:
    shared = geometry.split_among_waves(str(op.dim)) is not None
    for parent in region_of(op).around:
        condition = parent.condition if isinstance(parent, Conditional) else None
        if condition is not None and (shared or condition.register_type.shape):
            raise user_error(
                "WV0341",
                f"a {op.op_name} stands where not all lanes come along",
                at=op.location,
                label="combines elements of all lanes",
                secondary=((parent.location, "some of them do not run this"),),
                help=f"move the {op.op_name} out of the conditional",
            )
