"""Random updates of memory in one step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_testing.programs import literal
from wave_testing.programs.accesses import index_below, may_write
from wave_testing.programs.exact import Info

if TYPE_CHECKING:
    from wave_testing.programs.builder import Builder
    from wave_testing.programs.formula import Formula

_SCOPES = ("device", "device", "workgroup", "system")


def atomic(build: Builder) -> str | None:
    """Combine integers with a memory that may have fewer dims, or bins."""
    kind = build.space.pick(("add", "add", "min", "max", "and", "or", "xor"))
    rows = [
        (name, info)
        for name, info in _integers(build)
        if replace(info, bound=info.bound * _times(build, info.dims) + 4).exact
    ]
    if not rows:
        return None
    name, info = build.space.pick(rows[-6:])
    kept = build.subset(info.dims, len(info.dims))
    place: list[str] = list(kept)
    mapping: list[Formula] = [("it", info.dims.index(d)) for d in kept]
    fields: dict[str, Any] = {"index": ()}
    if build.space.chance(0.4):
        index, extent = index_below(build, kept[:1], kept[:1], None)
        if index is not None:
            place[0], mapping[0] = build.size(extent), ("dyn", 0)
            fields["index"] = (index,)
    fields |= {"shape": info.dims, "mapping": tuple(mapping), "combine": kind}
    fields["memory"] = _updated(build, tuple(place), info.dtype)
    build.add(literal.step("atomic", "", name, **fields))
    return name


def exchange(build: Builder) -> str | None:
    """Each element changes a cell of its own, once; what was there is the result."""
    rows = _integers(build)
    if not rows:
        return None
    name, info = build.space.pick(rows[-6:])
    if not build.loops <= set(info.dims):
        return None
    place = build.shuffled(info.dims)
    mapping = tuple(("it", info.dims.index(d)) for d in place)
    kind = build.space.pick(("xchg", "cas", "cas", "add", "max", "xor"))
    args = (name,)
    if kind == "cas":
        number = int(build.rng.integers(4))
        known: dict[str, Any] = {"shape": info.dims, "dtype": info.dtype}
        small = Info(info.dims, info.dtype, 4)
        expected = build.emit("splat", small, **known, value=number)
        if expected is None:
            return None
        args = (name, expected)
    memory = _updated(build, place, info.dtype)
    fields: dict[str, Any] = {"shape": info.dims, "mapping": mapping, "index": ()}
    fields |= {"memory": memory, "combine": kind, "scope": build.space.pick(_SCOPES)}
    old = Info(info.dims, info.dtype, 4)
    return build.emit("exchange", old, args, dtype=info.dtype, **fields)


def _integers(build: Builder) -> list[tuple[str, Info]]:
    """Values that may update a memory; none where waves do the same."""
    if any(d.copies > 1 for d in build.space.dims.values()):
        return []
    return [
        (name, info)
        for name, info in build.numbers()
        if info.dtype in ("i32", "i64") and may_write(build, info.dims)
    ]


def _updated(build: Builder, place: tuple[str, ...], dtype: str) -> str:
    """A memory of small numbers that the kernel changes."""
    name = build.memory(place, dtype, "index", 4)
    build.memories[-1] = replace(build.memories[-1], updated=True)
    return name


def _times(build: Builder, dims: tuple[str, ...]) -> int:
    """How often one element of a memory may be updated."""
    return build.elements(tuple({*dims, *build.loops}))
