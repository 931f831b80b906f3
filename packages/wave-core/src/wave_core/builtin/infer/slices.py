"""Slices need all elements in one wave, and all lanes at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.analysis.loops import loops_around
from wave_core.diagnostics import user_error
from wave_core.ir import region_of
from wave_core.ops.control import Conditional
from wave_core.symbols import as_expr, constant, lt

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ops.shape import ExtractSlice
    from wave_core.symbols import Expr


def check_slice(op: ExtractSlice, geometry: Geometry) -> None:
    """Refuse a slice of elements that a wave does not have.

    Raises:
        UserError: WV0341 where not all lanes come along, WV0343.
    """
    loops = loops_around(op)
    dims = op.value.register_type.shape
    for position in op.cut:
        for dim in (dims[position], op.shape[position]):
            _check_whole(op, str(dim), loops, geometry)
        _check_inside(op, position, geometry)
    for parent in region_of(op).around:
        if isinstance(parent, Conditional) and parent.condition is not None:
            raise user_error(
                "WV0341",
                "a slice is taken where not all lanes come along",
                at=op.location,
                label="needs elements of other lanes",
                secondary=((parent.location, "some of them do not run this"),),
                help="take the slice before the conditional",
            )


def _check_whole(
    op: ExtractSlice, dim: str, loops: dict[str, Expr], geometry: Geometry
) -> None:
    row = geometry.spreading(dim) or geometry.sharing(dim)
    if row is None and dim not in loops:
        return
    raise user_error(
        "WV0343",
        f"a slice goes along `{dim}`, of which a wave holds a part",
        at=op.location,
        label="takes elements of others",
        secondary=() if row is None else ((row.location, f"cuts `{dim}`"),),
        help=f"give one wave all of `{dim}`, or read the elements by a mapping",
    )


def _check_inside(op: ExtractSlice, position: int, geometry: Geometry) -> None:
    dim = str(op.value.register_type.shape[position])
    size, extent = geometry.bind(op.shape[position]), geometry.extent(dim)
    offset, stride = (
        geometry.bind(as_expr(row[position])) for row in (op.offsets, op.strides)
    )
    last = offset + stride * (size - 1)
    facts = geometry.facts
    if facts.prove(lt(constant(0), size)) and facts.prove(lt(extent - 1, last)):
        raise user_error(
            "WV0343",
            f"a slice ends at element {last} of `{dim}`, which has {extent}",
            at=op.location,
            label=f"{size} elements from {offset} on, {stride} apart",
            secondary=((op.value.location, "of this register"),),
            help="take fewer elements, or begin earlier",
        )
