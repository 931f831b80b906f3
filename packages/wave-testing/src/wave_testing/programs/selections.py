"""Random steps that pick elements along a dimension, or combine all along several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_testing.programs.exact import Info
from wave_testing.programs.model import Dim
from wave_testing.programs.moves import may_be_empty, reducible, whole_in_a_wave

if TYPE_CHECKING:
    from wave_testing.programs.builder import Builder

MAX_SORTED = 64
"""Elements of a wave's tile along a dim that is sorted: a network of 21 layers."""

MAX_PICKED = 8
"""Elements that a selection picks, each with two reductions."""


def _lines(build: Builder) -> list[tuple[str, str]]:
    """Values, each with a dim along which one workgroup is proved to have elements."""
    return [
        (name, d)
        for name, info in build.numbers()
        for d in info.dims
        if reducible(build, d)
        and not may_be_empty(build, d)
        and not (build.dim(d).dynamic and build.dim(d).tile)
    ]


def extreme(build: Builder) -> str | None:
    """Where the greatest or least element is."""
    rows = _lines(build)
    if not rows:
        return None
    name, dim = build.space.pick(rows[-6:])
    dims = tuple(d for d in build.info(name).dims if d != dim)
    info = Info(dims, "i32", max(1, build.dim(dim).extent))
    kind = build.space.pick(("argmax", "argmin"))
    return build.emit(kind, info, (name,), dim=dim, shape=dims, dtype="i32")


def pick(build: Builder) -> str | None:
    """The greatest elements, or their places: as many as a small dim has."""
    rows = [
        (name, dim, k)
        for name, dim in _lines(build)
        if dim not in build.loops
        for k in build.dims
        if k not in build.info(name).dims and _counts(build, k, dim)
    ]
    if not rows:
        return None
    name, dim, k = build.space.pick(rows[-6:])
    dims = tuple(k if d == dim else d for d in build.info(name).dims)
    return _in_order(build, "topk", name, dim, dims, k=k)


def _counts(build: Builder, k: str, dim: str) -> bool:
    """Whether the size of ``k`` can say how many elements along ``dim`` are picked."""
    found = build.dim(k)
    plain = found.axis is None and found.loop is None and not found.dynamic
    return plain and 0 < found.extent <= min(MAX_PICKED, build.dim(dim).extent)


def sort(build: Builder) -> str | None:
    """All elements in order, or where they were; one wave has them."""
    rows = [
        (name, d)
        for name, d in _lines(build)
        if build.dim(d).shared == 1 and build.tile((d,)) <= MAX_SORTED
    ]
    if not rows:
        return None
    name, dim = build.space.pick(rows[-6:])
    down = build.space.chance(0.5)
    return _in_order(build, "sort", name, dim, build.info(name).dims, descending=down)


def _in_order(
    build: Builder,
    kind: str,
    name: str,
    dim: str,
    dims: tuple[str, ...],
    **fields: object,
) -> str | None:
    """The values that come out, or their i32 places."""
    info = replace(build.info(name), dims=dims)
    if build.space.chance(0.4):
        info = Info(dims, "i32", max(1, build.dim(dim).extent))
        fields["dtype"] = "i32"
    return build.emit(kind, info, (name,), dim=dim, shape=dims, **fields)


def cut_out(build: Builder) -> str | None:
    """Elements at equal distances along the last dim, which get a dim of their own."""
    rows = [
        (name, info)
        for name, info in build.numbers()
        if info.dims and _known_whole(build, info.dims[-1])
    ]
    if not rows:
        return None
    name, info = build.space.pick(rows[-6:])
    extent = build.dim(info.dims[-1]).extent
    stride = int(build.rng.integers(1, 4))
    offset = int(build.rng.integers(extent))
    count = int(build.rng.integers(1, (extent - 1 - offset) // stride + 2))
    dim = Dim(build.fresh("C"), count)
    dims = (*info.dims[:-1], dim.name)
    build.space.dims[dim.name] = dim
    fields = {"offset": offset, "stride": stride, "shape": dims}
    return build.emit("slice", info.over(dims), (name,), **fields)


def _known_whole(build: Builder, name: str) -> bool:
    """Whether each wave has all elements along a dim, as the compiler sees."""
    dim = build.dim(name)
    return whole_in_a_wave(build, name) and not (dim.dynamic and dim.tile)


def total(build: Builder) -> str | None:
    """A sum, maximum or minimum over several dims at once."""
    rows = [
        (name, whole)
        for name, info in build.numbers()
        if len(whole := [d for d in info.dims if reducible(build, d)]) > 1
    ]
    if not rows:
        return None
    name, whole = build.space.pick(rows[-6:])
    over, info = build.shuffled(whole)[:3], build.info(name)
    empty = any(may_be_empty(build, d) for d in over)
    kind = "sum" if empty else build.space.pick(("sum", "max", "min"))
    dims = tuple(d for d in info.dims if d not in over)
    terms = build.elements(over) if kind == "sum" else 1
    new = replace(info, dims=dims, bound=max(1, info.bound * terms), power=False)
    return build.emit("total", new, (name,), combine=kind, over=over, shape=dims)
