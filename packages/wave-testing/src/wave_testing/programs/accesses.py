"""Random reads and writes: plain, permuted, strided, flattened, gathered, staged."""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from wave_testing.programs import literal
from wave_testing.programs.exact import Info, is_float

if TYPE_CHECKING:
    from wave_testing.programs.builder import Builder
    from wave_testing.programs.formula import Formula

DTYPES = (
    "f16", "f16", "bf16", "f32", "f32", "f64", "i8", "i16", "i32", "i32", "i64",
    "f8e5m2", "f8e4m3fn",
)  # fmt: skip
READ_DTYPES = (*DTYPES, "u8", "u16", "u32", "u64")
MATRIX_DTYPES = ("f16", "f16", "bf16")


FLAGS = ("VOLATILE", "NONTEMPORAL")
"""How an access may treat caches."""


def some_dims(build: Builder, most: int = 3) -> tuple[str, ...]:
    """Random dims of a value that fits, preferably more than one."""
    spread = tuple(d for d in build.dims if build.dim(d).groups > 1)
    for _ in range(20):
        dims = build.subset(build.dims, min(most, len(build.dims)))
        if build.space.chance(0.6):
            dims = build.shuffled(dict.fromkeys((*dims, *spread)))
        if build.fits(dims):
            return dims
    return (min(build.dims, key=lambda d: build.tile((d,))),)


def read(
    build: Builder,
    dims: tuple[str, ...] | None = None,
    dtype: str | None = None,
    plain: float = 0.55,
) -> str | None:
    """A read of an input, new or used before, by a random way of access.

    ``plain`` is the share of reads without a mapping.
    """
    dims = dims or some_dims(build)
    if not build.fits(dims):
        return None
    dtype = dtype or build.dtype(READ_DTYPES)
    bound = int(build.rng.integers(1, 5))
    place, mapping, index = _memory_side(build, dims, plain, _coordinate)
    if build.elements(place) > 4 * 40_000:
        return None
    strays = mapping is not None and any(map(_strays, mapping))
    known = [
        m
        for m in build.memories
        if m.dims == place
        and m.dtype == dtype
        and m.fill == "small"
        # Neighbours of what the kernel changes would be a race.
        and not (strays and m.updated)
    ]
    if known and build.space.chance(0.3):
        memory = build.space.pick(known)
        name, bound = memory.name, memory.bound
    else:
        name = build.memory(place, dtype, "small", bound)
    if mapping is None:
        dims = place
    fields: dict[str, Any] = {"memory": name, "shape": dims, "mapping": mapping}
    fields |= {"index": index, **_how(build)}
    if strays:
        fields["bounds"] = True
    return build.emit("read", Info(dims, dtype, bound), **fields)


def _strays(formula: Formula) -> bool:
    """Whether a coordinate is an index some elements away, which may not exist."""
    match formula:
        case ("+", ("it", _), int()):
            return True
        case _:
            return False


def _how(build: Builder) -> dict[str, Any]:
    """Elements of a lane at a time, and what caches do, now and then."""
    found: dict[str, Any] = {}
    if build.space.chance(0.15):
        found["elements"] = build.space.pick((1, 2, 3, 4, 8, 16))
    if build.space.chance(0.1):
        found["flags"] = build.space.pick((("VOLATILE",), ("NONTEMPORAL",), FLAGS))
    return found


Side = tuple[tuple[str, ...], "tuple[Formula, ...] | None", tuple[str, ...]]
"""Dims of a memory, their formulas, and index registers."""

Place = tuple[list[tuple[str, Any]], tuple[str, ...]]
"""Dims of a memory with their formulas, and index registers."""

Coordinate = Callable[["Builder", int, tuple[str, ...]], Place]
"""Makes the coordinates that one dim of a register walks."""


def _memory_side(
    build: Builder, dims: tuple[str, ...], plain: float, coordinate: Coordinate
) -> Side:
    """Dims of the memory, its coordinates as formulas, and index registers."""
    if build.space.chance(plain):
        return build.shuffled(dims), None, ()
    parts = [coordinate(build, i, dims) for i in range(len(dims))]
    rows = [row for part in parts for row in part[0]]
    index = tuple(name for part in parts for name in part[1])
    numbers = itertools.count()
    # Each gathered coordinate has the number of its index register.
    rows = [(d, ("dyn", next(numbers)) if f == "gather" else f) for d, f in rows]
    order = build.shuffled(range(len(rows)))
    place = tuple(rows[i][0] for i in order)
    return place, tuple(rows[i][1] for i in order), index


def _coordinate(build: Builder, position: int, dims: tuple[str, ...]) -> Place:
    """Coordinates that one register dim walks, and an index register if it does."""
    name = dims[position]
    extent = max(1, build.dim(name).extent)
    it: Formula = ("it", position)
    kind = build.space.pick(
        ("plain", "plain", "strided", "flat", "gather", "offset", "paged", "halo")
    )
    if kind == "halo":
        return [(name, ("+", it, int(build.space.pick((-3, -1, 1, 2)))))], ()
    if kind == "strided":
        step, start = int(build.rng.integers(2, 4)), int(build.rng.integers(3))
        size = build.size((extent - 1) * step + start + 1 + int(build.rng.integers(2)))
        return [(size, ("+", ("*", it, step), start))], ()
    if kind == "flat":
        return _flattened(build, it, extent), ()
    if kind == "gather":
        return _gathered(build, dims, position)
    if kind == "paged":
        return _paged(build, name, it, extent)
    if kind == "offset" and build.symbols:
        symbol = build.space.pick(sorted(build.symbols))
        size = build.size(extent + build.symbols[symbol])
        return [(size, ("+", it, ("sym", symbol)))], ()
    return [(name, it)], ()


def _flattened(build: Builder, it: Formula, extent: int) -> list[tuple[str, Any]]:
    """``i // w`` and ``i % w``: the register's dim flattens two of the memory."""
    width = int(build.space.pick((1, 2, 3, 4, 5, 8, 16)))
    rows, columns = build.size(-(-extent // width)), build.size(width)
    by: Formula = ("sym", columns) if build.space.chance(0.4) else width
    return [(rows, ("//", it, by)), (columns, ("%", it, by))]


def _gathered(build: Builder, dims: tuple[str, ...], position: int) -> Place:
    """The coordinate is what an index input says."""
    others = [d for d in dims if d != dims[position]]
    own = (dims[position], *(d for d in others if build.space.chance(0.3)))
    place = build.shuffled(own)
    index, extent = index_below(build, place, place, None)
    if index is None:
        return [(dims[position], ("it", position))], ()
    return [(build.size(extent), "gather")], (index,)


def _paged(build: Builder, name: str, it: Formula, extent: int) -> Place:
    """A page that a table names, and a slot of it: two dims of the memory."""
    slots = int(build.space.pick((1, 2, 4, 5, 16, 32)))
    table = build.size(-(-extent // slots))
    index, pages = index_below(build, (table,), (name,), (("//", ("it", 0), slots),))
    if index is None:
        return [(name, it)], ()
    return [(build.size(pages), "gather"), (build.size(slots), ("%", it, slots))], (
        index,
    )


def index_below(
    build: Builder,
    place: tuple[str, ...],
    shape: tuple[str, ...],
    mapping: tuple[Formula, ...] | None,
) -> tuple[str | None, int]:
    """A read of an input of indices, and what all of them are below."""
    most = int(build.rng.integers(1, 20))
    dtype = build.space.pick(("i8", "i16", "i32", "i32", "i64"))
    fields: dict[str, Any] = {"memory": build.memory(place, dtype, "index", most)}
    fields |= {"shape": shape, "mapping": mapping, "index": ()}
    return build.emit("read", Info(shape, dtype, most), **fields), most


def write(build: Builder, name: str, plain: float = 0.6) -> bool:
    """A write of a value to an output of its own; false where it would be a race.

    ``plain`` is the share of writes without a mapping.
    """
    info = build.info(name)
    if info.dtype == "bool":
        cast = build.emit("cast", Info(info.dims, "i32"), (name,), dtype="i32")
        return cast is not None and write(build, cast)
    if not may_write(build, info.dims):
        return False
    place, mapping, index = _memory_side(build, info.dims, plain, _output_coordinate)
    memory = build.memory(place, info.dtype)
    fields = {"mapping": mapping, "index": index, **_how(build)}
    build.add(literal.write(name, memory, *info.dims, **fields))
    return True


def update(build: Builder) -> str | None:
    """Read a memory, add something, and write it back in place."""
    dims = some_dims(build)
    dims = build.shuffled(dict.fromkeys((*dims, *_owners(build))))
    if build.space.chance(0.5):
        dims = tuple(d for d in dims if d not in build.loops or d in _owners(build))
    looped = build.loops - set(dims)
    copied = any(d.copies > 1 for d in build.space.dims.values())
    if copied or not may_write(build, dims) or not build.fits(dims):
        return None
    dtype = build.dtype(DTYPES)
    bound = int(build.rng.integers(1, 5))
    memory = build.memory(dims, dtype, "small", bound)
    build.memories[-1] = replace(build.memories[-1], updated=True)
    fields = {"memory": memory, "shape": dims, "mapping": None, "index": ()}
    info = Info(dims, dtype, bound)
    old = build.emit("read", info, **fields, **_how(build))
    if old is None:
        build.memories.pop()
        return None
    new = None
    if not looped:
        new = build.pointwise("mul", (old,), int(build.rng.integers(2, 5)))
    if new is None:
        # Any number of times, for it may be done in every iteration of a loop.
        new = build.pointwise("neg", (old,))
    assert new is not None, "negation is exact"
    build.add(literal.write(new, memory, *dims, **_how(build)))
    return new


def _owners(build: Builder) -> tuple[str, ...]:
    """The dims that tell workgroups and waves apart."""
    return tuple(
        d.name for d in build.space.dims.values() if d.groups != 1 or d.shared > 1
    )


def may_write(build: Builder, dims: tuple[str, ...]) -> bool:
    """Whether no two workgroups would write the same cell."""
    spread = {d.name for d in build.space.dims.values() if d.groups != 1}
    return bool(dims) and spread <= set(dims)


def _output_coordinate(build: Builder, position: int, dims: tuple[str, ...]) -> Place:
    name = dims[position]
    extent = max(1, build.dim(name).extent)
    it: Formula = ("it", position)
    kind = build.space.pick(("plain", "plain", "strided", "flat", "scatter"))
    if kind == "strided":
        step, start = int(build.rng.integers(1, 3)), int(build.rng.integers(3))
        size = build.size((extent - 1) * step + start + 1)
        return [(size, ("+", ("*", it, step), start))], ()
    if kind == "flat":
        return _flattened(build, it, extent), ()
    if kind == "scatter":
        memory = build.memory((name,), "i32", "permutation", extent)
        fields = {"memory": memory, "shape": (name,), "mapping": None, "index": ()}
        index = build.emit("read", Info((name,), "i32", extent), **fields)
        if index is not None:
            return [(build.size(extent), "gather")], (index,)
    return [(name, it)], ()


def staged(build: Builder, name: str) -> str | None:
    """Write a value to LDS and read it back, rolled along a whole dim or not."""
    info = build.info(name)
    if not info.dims or info.dtype == "bool" or not is_float(info.dtype):
        return None
    place = build.shuffled(info.dims)
    memory = _buffer(build, place, info.dtype)
    if memory is None:
        return None
    access: dict[str, Any] = {"memory": memory, "mapping": None, "index": ()}
    build.add(literal.write(name, memory, *info.dims))
    if build.space.chance(0.5):
        build.add(literal.step("barrier", ""))
    rolled = _rolled(build, place)
    dims = place if rolled is None else info.dims
    if rolled is not None:
        name, shift, extent = rolled
        its: list[Formula] = [("it", info.dims.index(d)) for d in place]
        access["mapping"] = tuple(
            ("%", ("+", it, shift), extent) if d == name else it
            for d, it in zip(place, its, strict=True)
        )
    return build.emit("read", info.over(dims), **access, shape=dims)


def copied(build: Builder) -> str | None:
    """A tile of an input, copied to LDS and read there."""
    dims, dtype = some_dims(build), build.space.pick(("f16", "bf16", "f32", "i32"))
    buffer = _buffer(build, dims, dtype) if build.fits(dims) else None
    if buffer is None:
        return None
    source = build.memory(build.shuffled(dims), dtype, "small", 4)
    access: dict[str, Any] = {"memory": buffer, "shape": dims, "mapping": None}
    build.add(literal.step("copy", "", source=source, **access))
    return build.emit("read", Info(dims, dtype, 4), **access, index=())


def _buffer(build: Builder, place: tuple[str, ...], dtype: str) -> str | None:
    """A buffer in LDS of a workgroup's tile over these dims, where it is small."""
    held = tuple(_held(build, d) for d in place)
    if 8 * prod(held) > 16_384:
        return None
    name = build.fresh("lds")
    fields: dict[str, Any] = {"shape": place, "held": held, "dtype": dtype}
    if build.space.chance(0.3):
        fields["padding"] = int(build.rng.integers(1, 9))
    build.add(literal.step("allocate", name, **fields))
    return name


def _held(build: Builder, name: str) -> int:
    """Elements that a workgroup's buffer holds along a dim."""
    dim = build.dim(name)
    if name in build.loops and dim.loop is not None:
        return dim.loop * dim.shared if dim.shared == 1 else dim.tile
    return max(1, dim.extent if dim.axis is None else dim.tile)


def _rolled(build: Builder, dims: tuple[str, ...]) -> tuple[str, int, int] | None:
    """A dim that each workgroup holds whole, how far it is rolled, and its extent.

    Where waves share the dim, each reads what others wrote.
    """
    whole = [
        d
        for d in dims
        if build.dim(d).groups == 1 and d not in build.loops and build.dim(d).extent
    ]
    if not whole or not build.space.chance(0.5):
        return None
    name = build.space.pick(whole)
    extent = build.dim(name).extent
    return name, int(build.rng.integers(extent)), extent
