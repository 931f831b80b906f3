"""The meaning of a program: its steps on whole arrays, in float64 and int64 of numpy.

Nothing here knows of waves or lanes. A value is an array over the indices that its
dimensions have where it is computed: all of them, or those of one iteration.
"""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.types import DTYPES
from wave_testing.programs.dims import Dims, base_of, union_dims
from wave_testing.programs.exact import SIGNIFICANT, is_float, is_unsigned
from wave_testing.programs.formula import compute
from wave_testing.programs.functions import BINARY, UNARY
from wave_testing.programs.infer import infer_types
from wave_testing.programs.kinds import FUNCTIONS, OPERATORS

if TYPE_CHECKING:
    from wave_testing.programs.model import Dim, Program, Step

Array = np.ndarray[Any, np.dtype[Any]]

COMBINE: Mapping[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class Tile:
    """A value: an array with one axis for each of its dims.

    Attributes:
        error: By how much a computed element may differ from that in ``data``;
            0 where nobody asks.
    """

    dims: Dims
    data: Array
    error: Array

    def over(self, dims: Dims) -> Array:
        """The array with axes in the order of ``dims``; missing ones have length 1."""
        return self._over(self.data, dims)

    def error_over(self, dims: Dims) -> Array:
        """``error``, as `over` gives ``data``."""
        return self._over(self.error, dims)

    def _over(self, array: Array, dims: Dims) -> Array:
        order = [self.dims.index(d) for d in dims if d in self.dims]
        extents = iter(array.shape[i] for i in order)
        shape = [next(extents) if d in self.dims else 1 for d in dims]
        return array.transpose(order).reshape(shape)


@dataclass
class Store:
    """A memory: its elements, their errors as in `Tile`, which of them were written."""

    dims: Dims
    data: Array
    error: Array
    written: Array


def wide(dtype: str) -> type[np.generic]:
    """The numpy type that computes the values of an element type exactly."""
    if dtype == "bool":
        return np.bool_
    return np.float64 if is_float(dtype) else np.int64


class Reference:
    """Runs a program on whole arrays.

    Attributes:
        stores: Memories by name, outputs with what was written.
    """

    def __init__(self, program: Program, inputs: Mapping[str, Array]) -> None:
        self.program = program
        self.values: dict[str, Tile] = {}
        self.symbols: dict[str, int] = {d.name: d.extent for d in program.dims}
        self._domains: dict[str, Array] = {}
        self._dtypes = {
            name: dtype for name, (_, dtype) in infer_types(program).items()
        }
        self.masks: list[Tile] = []
        self.stores = {
            memory.name: self.store(memory.dims, inputs.get(memory.name), memory.dtype)
            for memory in program.memories
        }
        for scalar in program.scalars:
            self.symbols[scalar.name] = scalar.value
            number = np.asarray(scalar.value, wide(scalar.dtype))
            self.values[scalar.name] = Tile((), number, np.zeros(()))

    def run(self) -> None:
        """Execute all steps, unless there is no workgroup to do so."""
        if 0 not in self.program.grid:
            # Infinities take part, and neither they nor their differences are mistakes.
            with np.errstate(all="ignore"):
                self.steps(self.program.steps)

    def steps(self, steps: tuple[Step, ...]) -> None:
        """Execute some steps."""
        for step in steps:
            MEANINGS[step.kind](self, step)

    def store(self, dims: Dims, data: Array | None, dtype: str) -> Store:
        """A memory of which nothing is written; zeros where no data are given."""
        shape = self.program.extents(dims)
        held = np.zeros(shape) if data is None else data
        held = held.astype(wide(dtype))
        return Store(dims, held, np.zeros(shape), np.zeros(shape, np.bool_))

    def domain(self, dim: str) -> Array:
        """The indices that exist along a dimension here."""
        base, parts = base_of(dim)
        if parts > 1:
            return np.unique(self.domain(base) // parts)
        found = self._domains.get(dim)
        return np.arange(self.program.dim(dim).extent) if found is None else found

    def sizes(self, dims: Dims) -> tuple[int, ...]:
        """How many indices exist along each dim here."""
        return tuple(self.domain(dim).size for dim in dims)

    def tile(self, name: str) -> Tile:
        """A value by name."""
        return self.values[name]

    def define(
        self, step: Step, dims: Dims, data: Array, error: Array | None = None
    ) -> None:
        """Give a step its value; by default its `error` follows from its kind."""
        shape, dtype = self.sizes(dims), self.dtype(step)
        data = np.broadcast_to(data, shape)
        if is_unsigned(dtype):
            data = data & (2 ** SIGNIFICANT[dtype] - 1)
        error = self.error(step, dims, data) if error is None else error
        self.values[step.name[0]] = Tile(dims, data, np.broadcast_to(error, shape))

    def dtype(self, step: Step) -> str:
        """The element type of what a step makes."""
        return self.dtype_of(step.name[0])

    def dtype_of(self, name: str) -> str:
        """The element type of a value."""
        return self._dtypes[name]

    def error(self, step: Step, dims: Dims, data: Array) -> Array:
        """By how much computed elements of a step may differ from ``data``."""
        del step, dims, data
        return np.zeros(())

    def formula(self, formula: Any, leaves: Mapping[tuple[str, Any], Any]) -> Any:
        """The value of a formula over these leaves and the symbols."""

        def leaf(kind: str, name: Any) -> Any:
            return self.symbols[name] if kind == "sym" else leaves[kind, name]

        return compute(formula, leaf)

    def coordinates(self, step: Step) -> tuple[Array, ...]:
        """The coordinates that an access touches, broadcast over its dims."""
        dims: Dims = step.get("shape")
        store = self.stores[step.get("memory")]
        grids = {
            d: self.domain(d).reshape([-1 if e == d else 1 for e in dims]) for d in dims
        }
        mapping = step.get("mapping")
        if mapping is None:
            return tuple(grids[d] for d in store.dims)
        leaves: dict[tuple[str, Any], Any] = {
            ("it", i): grids[d] for i, d in enumerate(dims)
        }
        for i, name in enumerate(step.get("index", ())):
            leaves["dyn", i] = self.tile(name).over(dims)
        return tuple(
            np.asarray(self.formula(part, leaves), np.int64) for part in mapping
        )

    def places(self, step: Step) -> tuple[Array, ...]:
        """`coordinates`, each as large as the value."""
        shape = self.sizes(step.get("shape"))
        return tuple(np.broadcast_to(p, shape) for p in self.coordinates(step))

    def inside(self, dim: Dim, iteration: int) -> None:
        """Narrow a dimension to what all waves hold in one iteration."""
        tile, loop = dim.wave_tile, dim.loop
        assert loop is not None, "only looped dims are narrowed"
        bases = range(0, max(dim.extent, 1), tile) if dim.axis is not None else [0]
        parts = [
            np.arange(
                b + iteration * loop,
                min(b + (iteration + 1) * loop, b + tile, dim.extent),
            )
            for b in bases
        ]
        self._domains[dim.name] = np.concatenate(parts).astype(np.int64)

    def outside(self, dim: Dim) -> None:
        """Undo `inside`."""
        del self._domains[dim.name]


Meaning = Callable[[Reference, "Step"], None]


def _read(ref: Reference, step: Step) -> None:
    store = ref.stores[step.get("memory")]
    places, inside = ref.places(step), np.asarray(True)
    if step.get("bounds"):
        ends = store.data.shape
        for place, end in zip(places, ends, strict=True):
            inside = inside & (place >= 0) & (place < end)
        places = tuple(np.where(inside, place, 0) for place in places)
    data, error = (
        np.where(inside, array[places], array.dtype.type(0))
        for array in (store.data, store.error)
    )
    ref.define(step, step.get("shape"), data, error)


def _write(ref: Reference, step: Step) -> None:
    store = ref.stores[step.get("memory")]
    dims: Dims = step.get("shape")
    shape = ref.sizes(dims)
    chosen = np.ones(shape, np.bool_)
    for mask in ref.masks:
        chosen = chosen & mask.over(dims)
    full = tuple(place[chosen] for place in ref.places(step))
    tile = ref.tile(step.args[0])
    store.data[full] = np.broadcast_to(tile.over(dims), shape)[chosen]
    store.error[full] = np.broadcast_to(tile.error_over(dims), shape)[chosen]
    store.written[full] = True


def _copy(ref: Reference, step: Step) -> None:
    """Of tiles over the same dims, which the two memories may have in other orders."""
    store, source = (ref.stores[step.get(name)] for name in ("memory", "source"))
    grids = np.ix_(*(ref.domain(d) for d in source.dims))
    found = Tile(source.dims, source.data[grids], source.error[grids])
    places, dims = np.ix_(*(ref.domain(d) for d in store.dims)), store.dims
    store.data[places], store.error[places] = found.over(dims), found.error_over(dims)
    store.written[places] = True


def _splat(ref: Reference, step: Step) -> None:
    number = np.asarray(step.get("value"), wide(step.get("dtype")))
    ref.define(step, step.get("shape"), number)


def _elementwise(compute_: Callable[..., Any]) -> Meaning:
    def meaning(ref: Reference, step: Step) -> None:
        tiles = [ref.tile(name) for name in step.args]
        dims = union_dims([tile.dims for tile in tiles])
        assert dims is not None, "the generator permutes operands that clash"
        arrays = [tile.over(dims) for tile in tiles]
        number = step.get("number")
        if number is not None:
            arrays.append(np.asarray(number, arrays[0].dtype))
        if step.get("reflected"):
            arrays.reverse()
        ref.define(step, dims, np.asarray(compute_(*arrays)))

    return meaning


def _cast(ref: Reference, step: Step) -> None:
    tile = ref.tile(step.args[0])
    dtype = step.get("dtype")
    if dtype == "bool":
        data = tile.data != 0
    else:
        data = tile.data if is_float(dtype) else np.trunc(tile.data)
    data = data.astype(wide(dtype))
    ref.define(step, tile.dims, data)


def _realign(ref: Reference, step: Step) -> None:
    dims, tile = step.get("shape"), ref.tile(step.args[0])
    ref.define(step, dims, tile.over(dims), tile.error_over(dims))


def _reduce(ref: Reference, step: Step) -> None:
    dim, count, kind = (step.get(key) for key in ("dim", "sources", "combine"))
    tiles, combine = [ref.tile(name) for name in step.args], COMBINE[kind]
    dims = tuple(d for d in tiles[0].dims if d != dim)
    wholes = [tile.over((*dims, dim)) for tile in tiles[:count]]
    # Over nothing, a maximum or minimum is what the accumulator says.
    some = [whole for whole in wholes if whole.shape[-1] or kind == "sum"]
    parts = [combine.reduce(whole, axis=-1) for whole in some]
    parts += [tile.over(dims) for tile in tiles[count:]]
    if step.get("acc") is not None:
        parts.append(np.asarray(step.get("acc")))
    ref.define(step, dims, reduce(combine, parts))


def _scan(ref: Reference, step: Step) -> None:
    dim, tile = step.get("dim"), ref.tile(step.args[0])
    whole = tile.over((*(d for d in tile.dims if d != dim), dim))
    turn = slice(None, None, -1 if step.get("reverse") else 1)
    found = COMBINE[step.get("combine")].accumulate(whole[..., turn], axis=-1)
    if step.get("exclusive") and found.shape[-1]:
        found = np.roll(found, 1, axis=-1)
        found[..., 0] = 0
    data = np.moveaxis(found[..., turn], -1, tile.dims.index(dim))
    ref.define(step, tile.dims, data)


def _total(ref: Reference, step: Step) -> None:
    dims, tile = step.get("shape"), ref.tile(step.args[0])
    whole = tile.over((*dims, *step.get("over")))
    over = tuple(range(len(dims), whole.ndim))
    ref.define(step, dims, COMBINE[step.get("combine")].reduce(whole, axis=over))


def _places(data: Array, *, descending: bool) -> Array:
    """The order of the elements along the last axis: NaN the greatest one."""
    if not descending:
        return np.argsort(data, axis=-1, kind="stable")
    reverse = np.argsort(data[..., ::-1], axis=-1, kind="stable")
    return data.shape[-1] - 1 - reverse[..., ::-1]


def _in_order(ref: Reference, step: Step) -> None:
    dim, tile = step.get("dim"), ref.tile(step.args[0])
    axis = tile.dims.index(dim)
    whole = np.moveaxis(tile.data, axis, -1)
    least = step.kind == "argmin" or step.get("descending") is False
    places = _places(whole, descending=not least)
    if step.kind in ("argmax", "argmin"):
        ref.define(step, step.get("shape"), ref.domain(dim)[places[..., 0]])
        return
    if step.kind == "topk":
        places = places[..., : ref.domain(step.get("k")).size]
    found = np.take_along_axis(whole, places, -1)
    if step.get("dtype"):
        found = ref.domain(dim)[places]
    ref.define(step, step.get("shape"), np.moveaxis(found, -1, axis))


UPDATES: Mapping[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _atomic(ref: Reference, step: Step) -> None:
    """Integers are combined, in whatever order; of unknown ones all is unknown."""
    store, dims = ref.stores[step.get("memory")], step.get("shape")
    assert not ref.masks, "a lane branches on writes alone"
    shape, tile = ref.sizes(dims), ref.tile(step.args[0])
    places = ref.places(step)
    data = np.broadcast_to(tile.over(dims), shape)
    error = np.broadcast_to(tile.error_over(dims), shape)
    UPDATES[step.get("combine")].at(store.data, places, data)
    np.maximum.at(store.error, places, np.where(error > 0, np.inf, 0.0))
    store.written[places] = True


def _exchange(ref: Reference, step: Step) -> None:
    """Each element has a cell of its own."""
    store, dims, kind = (
        ref.stores[step.get("memory")],
        step.get("shape"),
        step.get("combine"),
    )
    shape, places = ref.sizes(dims), ref.places(step)
    new, *expected = [
        np.broadcast_to(ref.tile(name).over(dims), shape) for name in step.args
    ]
    error = np.broadcast_to(ref.tile(step.args[0]).error_over(dims), shape)
    old, before = store.data[places], store.error[places]
    if kind == "cas":
        new = np.where(old == expected[0], new, old)
    store.data[places] = new if kind in ("xchg", "cas") else UPDATES[kind](old, new)
    store.error[places] = np.where(error + before > 0, np.inf, 0.0)
    store.written[places] = True
    ref.define(step, dims, old, before)


def _bitcast(ref: Reference, step: Step) -> None:
    """The bits of numbers that their element type has exactly."""
    tile = ref.tile(step.args[0])
    if ref.dtype(step) == "f4e2m1fn":
        # The low half of a byte comes first.
        held = tile.data.astype(np.int8).view(np.uint8)
        halves = np.stack((held & 15, held >> 4), -1).reshape(*held.shape[:-1], -1)
        numbers = halves.view(DTYPES["f4e2m1fn"].numpy()).astype(np.float64)
        # Two numbers of a byte that may be another one may be anything.
        error = np.where(np.repeat(tile.error, 2, axis=-1) > 0, np.inf, 0.0)
        ref.define(step, step.get("shape"), numbers, error)
        return
    names = ref.dtype_of(step.args[0]), ref.dtype(step)
    old, new = (np.dtype(DTYPES[name].numpy()) for name in names)
    held = np.ascontiguousarray(tile.data.astype(old)).view(new)
    ref.define(step, tile.dims, held.astype(np.int64).reshape(tile.data.shape))


def _philox(ref: Reference, step: Step) -> None:
    """Philox4x32-10 of Salmon and others, 2011, section 3.3 and table 2."""
    tile = ref.tile(step.args[0])
    seed, offset = np.uint64(step.get("seed") % 2**64), tile.data.astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b = offset & low, offset >> half
    c = d = np.zeros_like(offset)
    keys = [seed & low, seed >> half]
    for _ in range(10):
        one, other = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b = other >> half ^ b ^ keys[0], other & low
        c, d = one >> half ^ d ^ keys[1], one & low
        weyl = zip(keys, (0x9E3779B9, 0xBB67AE85), strict=True)
        keys = [(key + np.uint64(by)) & low for key, by in weyl]
    ref.define(step, tile.dims, (a, b, c, d)[step.get("word")].astype(np.int64))


def _slice(ref: Reference, step: Step) -> None:
    tile, dims = ref.tile(step.args[0]), step.get("shape")
    size = ref.domain(dims[-1]).size
    places = step.get("offset") + step.get("stride") * np.arange(size)
    ref.define(step, dims, tile.data[..., places], tile.error[..., places])


def _apply(ref: Reference, step: Step) -> None:
    tiles = [ref.tile(name) for name in step.args]
    dims = union_dims([tile.dims for tile in tiles])
    assert dims is not None, "the generator permutes operands that clash"
    leaves = {("arg", i): tile.over(dims) for i, tile in enumerate(tiles)}
    ref.define(step, dims, np.asarray(ref.formula(step.get("formula"), leaves)))


def _extract(ref: Reference, step: Step) -> None:
    tile = ref.tile(step.args[0])
    offset = step.get("offset")
    offset = ref.symbols.get(offset, offset)
    data, error = (array[..., offset] for array in (tile.data, tile.error))
    ref.define(step, tile.dims[:-1], data, error)


BLOCK = 32
"""Elements that share a scale."""


def factors(ref: Reference, step: Step) -> tuple[Tile, Tile, Tile]:
    """Both operands of a product, times their scales where it has some; and the sum."""
    tiles = [ref.tile(name) for name in step.args]
    if step.kind == "mma":
        return tiles[0], tiles[1], tiles[2]
    lhs, rhs = (
        Tile(x.dims, x.data * by, x.error * by)
        for x, by in (
            (tiles[i], np.repeat(tiles[i + 1].data, BLOCK, axis=-1)) for i in (0, 2)
        )
    )
    return lhs, rhs, tiles[4]


def products(dims: Dims, lhs: tuple[Dims, Array], rhs: tuple[Dims, Array]) -> Array:
    """Sums of products along what is no dim of the result; new dims have length 1."""
    letters = {d: chr(97 + i) for i, d in enumerate({*lhs[0], *rhs[0]})}
    kept = [d for d in dims if d in letters]
    left, right, out = (
        "".join(letters[d] for d in names) for names in (lhs[0], rhs[0], kept)
    )
    found = np.einsum(f"{left},{right}->{out}", lhs[1], rhs[1], optimize=True)
    missing = tuple(i for i, d in enumerate(dims) if d not in letters)
    return np.expand_dims(found, missing)


def _mma(ref: Reference, step: Step) -> None:
    lhs, rhs, acc = factors(ref, step)
    found = products(acc.dims, (lhs.dims, lhs.data), (rhs.dims, rhs.data))
    ref.define(step, acc.dims, acc.data + found)


def _iterate(ref: Reference, step: Step) -> None:
    dim = next(d for d in ref.program.dims if d.name == step.get("axis"))
    carried = [ref.tile(name) for name in step.args]
    for iteration in range(step.get("start", 0), dim.trips, step.get("step", 1)):
        ref.inside(dim, iteration)
        for name, tile in zip(step.params, carried, strict=True):
            ref.values[name] = tile
        ref.steps(step.body)
        carried = [
            Tile(old.dims, new.over(old.dims), new.error_over(old.dims))
            for old, new in zip(carried, map(ref.tile, step.yields), strict=True)
        ]
        ref.outside(dim)
    for name, tile in zip(step.name, carried, strict=True):
        ref.values[name] = tile


def _conditional(ref: Reference, step: Step) -> None:
    register = step.get("register")
    if register is not None and ref.tile(register).dims:
        # A body of writes alone, for the elements where the register holds.
        assert not step.name, "such a body has no results"
        ref.masks.append(ref.tile(register))
        ref.steps(step.body)
        ref.masks.pop()
        return
    if register is None:
        holds = ref.formula(step.get("condition"), {})
    else:
        holds = ref.tile(register).data
    if holds:
        ref.steps(step.body)
    for name, found in zip(step.name, step.yields if holds else step.args, strict=True):
        ref.values[name] = ref.tile(found)


def _set_symbol(ref: Reference, step: Step) -> None:
    ref.symbols[step.get("symbol")] = int(ref.tile(step.args[0]).data)


def _allocate(ref: Reference, step: Step) -> None:
    """A memory of the workgroup, here as large as the whole problem."""
    store = ref.store(step.get("shape"), None, step.get("dtype"))
    ref.stores[step.name[0]] = store


MEANINGS: Mapping[str, Meaning] = {
    "read": _read,
    "write": _write,
    "copy": _copy,
    "splat": _splat,
    "self_index": lambda ref, step: ref.define(
        step, (step.get("dim"),), ref.domain(step.get("dim"))
    ),
    "cast": _cast,
    "broadcast": _realign,
    "permute": _realign,
    "reduce": _reduce,
    "scan": _scan,
    "total": _total,
    **dict.fromkeys(("sort", "topk", "argmax", "argmin"), _in_order),
    "atomic": _atomic,
    "exchange": _exchange,
    "bitcast": _bitcast,
    "philox": _philox,
    "slice": _slice,
    "apply": _apply,
    "extract": _extract,
    **dict.fromkeys(("mma", "scaled"), _mma),
    "iterate": _iterate,
    "conditional": _conditional,
    "set_symbol": _set_symbol,
    "allocate": _allocate,
    # Whole arrays need none.
    **dict.fromkeys(("barrier", "hint"), lambda _ref, _step: None),
    **{kind: _elementwise(function) for kind, function in OPERATORS.items()},
    **{
        kind: _elementwise(getattr(np, kind)) for kind in FUNCTIONS if hasattr(np, kind)
    },
    **{kind: _elementwise(function) for kind, (function, _) in UNARY.items()},
    **{kind: _elementwise(function) for kind, function in BINARY.items()},
    "roundeven": _elementwise(np.round),
    "select": _elementwise(np.where),
}
