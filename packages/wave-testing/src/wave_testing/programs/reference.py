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
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_testing.programs.exact import is_float
from wave_testing.programs.formula import compute
from wave_testing.programs.kinds import FUNCTIONS, OPERATORS

if TYPE_CHECKING:
    from wave_testing.programs.model import Dim, Program, Step

Array = np.ndarray[Any, np.dtype[Any]]
Dims = tuple[str, ...]

COMBINE: Mapping[str, np.ufunc] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
}


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


def merge_dims(first: Dims, second: Dims) -> Dims | None:
    """The union of two lists of dims that keeps both orders, or ``None``.

    Wave's rule: dims of ``first`` come first where there is a choice.
    """
    merged: list[str] = []
    rest = list(second)
    for dim in first:
        if dim in rest:
            place = rest.index(dim)
            ahead = rest[:place]
            if any(other in first for other in ahead):
                return None
            merged += [*ahead, dim]
            rest = rest[place + 1 :]
        elif dim in merged:
            return None
        else:
            merged.append(dim)
    merged += rest
    return tuple(merged) if len(set(merged)) == len(merged) else None


def union_dims(shapes: list[Dims]) -> Dims | None:
    """The dims of an elementwise result; ``None`` where operands clash."""
    merged: Dims | None = ()
    for shape in sorted(shapes, key=len, reverse=True):
        merged = merge_dims(merged, shape)
        if merged is None:
            return None
    return merged


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
        self.masks: list[Tile] = []
        self.stores = {
            memory.name: self._store(memory.dims, inputs.get(memory.name), memory.dtype)
            for memory in program.memories
        }
        for scalar in program.scalars:
            self.symbols[scalar.name] = scalar.value
            number = np.asarray(scalar.value, wide(scalar.dtype))
            self.values[scalar.name] = Tile((), number, np.zeros(()))

    def run(self) -> None:
        """Execute all steps, unless there is no workgroup to do so."""
        if 0 not in self.program.grid:
            # Infinities take part, and their differences are no mistake.
            with np.errstate(invalid="ignore"):
                self.steps(self.program.steps)

    def steps(self, steps: tuple[Step, ...]) -> None:
        """Execute some steps."""
        for step in steps:
            MEANINGS[step.kind](self, step)

    def _store(self, dims: Dims, data: Array | None, dtype: str) -> Store:
        shape = self.program.extents(dims)
        held = np.zeros(shape) if data is None else data
        held = held.astype(wide(dtype))
        return Store(dims, held, np.zeros(shape), np.zeros(shape, np.bool_))

    def domain(self, dim: str) -> Array:
        """The indices that exist along a dimension here."""
        found = self._domains.get(dim)
        return np.arange(self.program.dim(dim).extent) if found is None else found

    def sizes(self, dims: Dims) -> tuple[int, ...]:
        """How many indices exist along each dim here."""
        return tuple(self.domain(dim).size for dim in dims)

    def tile(self, name: str) -> Tile:
        """A value by name."""
        return self.values[name]

    def define(self, step: Step, dims: Dims, data: Array) -> None:
        """Give a step its value."""
        shape = self.sizes(dims)
        data = np.broadcast_to(data, shape)
        error = np.broadcast_to(self.error(step, dims, data), shape)
        self.values[step.name[0]] = Tile(dims, data, error)

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

    def declare(self, name: str, dims: Dims, dtype: str) -> None:
        """Make a memory of the workgroup, here as large as the whole problem."""
        self.stores[name] = self._store(dims, None, dtype)


Meaning = Callable[[Reference, "Step"], None]


def _read(ref: Reference, step: Step) -> None:
    store = ref.stores[step.get("memory")]
    ref.define(step, step.get("shape"), store.data[ref.places(step)])


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


def _splat(ref: Reference, step: Step) -> None:
    number = np.asarray(step.get("value"), wide(step.get("dtype")))
    ref.define(step, step.get("shape"), number)


def _self_index(ref: Reference, step: Step) -> None:
    dim = step.get("dim")
    ref.define(step, (dim,), ref.domain(dim))


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
    dims = step.get("shape")
    ref.define(step, dims, ref.tile(step.args[0]).over(dims))


def _reduce(ref: Reference, step: Step) -> None:
    dim, combine = step.get("dim"), COMBINE[step.get("combine")]
    count = step.get("sources")
    tiles = [ref.tile(name) for name in step.args[:count]]
    dims = tuple(d for d in tiles[0].dims if d != dim)
    total: Array | None = None
    for tile in tiles:
        part = tile.over((*dims, dim))
        # Over nothing, a maximum or minimum is what the accumulator says.
        if part.shape[-1] == 0 and step.get("combine") != "sum":
            continue
        whole = combine.reduce(part, axis=-1)
        total = whole if total is None else combine(total, whole)
    if len(step.args) > count:
        start = ref.tile(step.args[count]).over(dims)
        total = start if total is None else combine(total, start)
    if step.get("acc") is not None:
        start = np.asarray(step.get("acc"))
        total = start if total is None else combine(total, start)
    assert total is not None, "a reduction has a source"
    ref.define(step, dims, total)


def _apply(ref: Reference, step: Step) -> None:
    tiles = [ref.tile(name) for name in step.args]
    dims = union_dims([tile.dims for tile in tiles])
    assert dims is not None, "the generator permutes operands that clash"
    leaves = {("arg", i): tile.over(dims) for i, tile in enumerate(tiles)}
    ref.define(step, dims, np.asarray(ref.formula(step.get("formula"), leaves)))


def _extract(ref: Reference, step: Step) -> None:
    tile = ref.tile(step.args[0])
    offset = step.get("offset")
    if isinstance(offset, str):
        offset = ref.symbols[offset]
    ref.define(step, tile.dims[:-1], tile.data[..., offset])


def _mma(ref: Reference, step: Step) -> None:
    lhs, rhs, acc = (ref.tile(name) for name in step.args)
    letters = {d: chr(97 + i) for i, d in enumerate({*lhs.dims, *rhs.dims})}
    left, right, out = (
        "".join(letters[d] for d in tile.dims) for tile in (lhs, rhs, acc)
    )
    product = np.einsum(f"{left},{right}->{out}", lhs.data, rhs.data, optimize=True)
    ref.define(step, acc.dims, acc.data + product)


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
        _where(ref, step, ref.tile(register))
        return
    if register is None:
        holds = ref.formula(step.get("condition"), {})
    else:
        holds = ref.tile(register).data
    if holds:
        ref.steps(step.body)
        found = [ref.tile(name) for name in step.yields]
    else:
        found = [ref.tile(name) for name in step.args]
    for name, tile in zip(step.name, found, strict=True):
        ref.values[name] = tile


def _where(ref: Reference, step: Step, condition: Tile) -> None:
    """A body of writes alone, for the elements where a register holds."""
    assert not step.name, "such a body has no results"
    ref.masks.append(condition)
    ref.steps(step.body)
    ref.masks.pop()


def _set_symbol(ref: Reference, step: Step) -> None:
    ref.symbols[step.get("symbol")] = int(ref.tile(step.args[0]).data)


def _allocate(ref: Reference, step: Step) -> None:
    ref.declare(step.name[0], step.get("shape"), step.get("dtype"))


def _nothing(ref: Reference, step: Step) -> None:
    """Whole arrays need no barriers."""
    del ref, step


MEANINGS: Mapping[str, Meaning] = {
    "read": _read,
    "write": _write,
    "splat": _splat,
    "self_index": _self_index,
    "cast": _cast,
    "broadcast": _realign,
    "permute": _realign,
    "reduce": _reduce,
    "apply": _apply,
    "extract": _extract,
    "mma": _mma,
    "iterate": _iterate,
    "conditional": _conditional,
    "set_symbol": _set_symbol,
    "allocate": _allocate,
    "barrier": _nothing,
    **{kind: _elementwise(function) for kind, function in OPERATORS.items()},
    **{
        kind: _elementwise(getattr(np, kind)) for kind in FUNCTIONS if hasattr(np, kind)
    },
    "roundeven": _elementwise(np.round),
    "select": _elementwise(np.where),
}
