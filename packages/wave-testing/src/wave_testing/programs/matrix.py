"""Random kernels that multiply matrices, tiled and fed as people write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_testing.programs import literal, moves
from wave_testing.programs.accesses import may_write, read, staged, write
from wave_testing.programs.builder import Builder, Scope
from wave_testing.programs.control import Carried, close_loop
from wave_testing.programs.exact import Info
from wave_testing.programs.generate import first_made
from wave_testing.programs.model import Dim, Program
from wave_testing.programs.prune import pruned
from wave_testing.programs.space import Space

if TYPE_CHECKING:
    import numpy as np

    Names = list[str]
    Body = Callable[[Names], Names | None]

DTYPES = ("f16", "f16", "f16", "bf16", "bf16", "f32", "f8e4m3fn", "f8e5m2", "i8")
WAVES = ((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4))
"""Waves of a workgroup along M and N."""

WAVE_TILES = (16, 16, 16, 32, 32, 64)
STEPS = (16, 16, 32, 32, 64)
MAX_TILE = 2048
"""Elements of a wave's tile: 32 in each lane."""

MAX_WORK = 96
"""Products of 16x16x16 in the whole launch: what keeps a check under half a second."""

_PLAIN = 0.75
"""Share of accesses that follow the dims of their memory."""

_EMPTY = 0.02
"""Share of dims without elements."""


def random_matrix_program(rng: np.random.Generator, seed: int = 0) -> Program:
    """A kernel with one product or two that writes what comes of them.

    Products are plain or batched; or share an operand that is read twice; or one
    multiplies what the other gives, as attention does; or loops follow each other or
    stand in each other. Operands lie in memory in
    either order, gathered, strided or scaled before use; results are scaled, biased,
    reduced, cast and stored in either order. Sizes lie at the borders of tiles.

    Args:
        rng: Where all chances come from.
        seed: What ``rng`` was seeded with, for messages.
    """
    return first_made(_attempt, rng, seed, 200)


def _attempt(rng: np.random.Generator, seed: int) -> Program | None:
    space = Space(rng)
    kernel: Callable[[_Kernel], Names | None] = space.pick(KERNELS)
    _lay_out(space, chained=kernel is _chained, loops=kernel in (_nested, _one_by_one))
    if kernel is _scaled_product:
        # Blocks of 32 elements share a scale, and no tile cuts one.
        step = space.pick((32, 64, 128, 128))
        space.dims["K"] = Dim("K", step * space.pick((1, 2)), loop=step)
        space.dims.pop("E", None)
    if _work(space) > MAX_WORK:
        return None
    making = _Kernel(rng, space)
    results = kernel(making)
    if results is None:
        return None
    wrote = [making.finish(name) for name in results]
    return pruned(making.program(seed)) if any(wrote) else None


def _lay_out(space: Space, *, chained: bool, loops: bool) -> None:
    """The dims: M and N on the grid, a batch at times, what products contract.

    E is contracted beside K, as a convolution does; L is that of a second loop.
    """
    for axis, (name, waves) in enumerate(zip("MN", space.pick(WAVES), strict=True)):
        space.dims[name] = _on_grid(space, name, axis, waves)
    if space.chance(0.25):
        tile = space.pick((1, 2, 2, 4))
        space.dims["B"] = Dim("B", _extent(space, tile, 2), axis=2, tile=tile)
    step = space.pick(STEPS)
    inner = Dim("K", _extent(space, step, 3), space.chance(0.25), loop=step)
    if not chained and space.chance(0.1):
        inner = Dim("K", _extent(space, 32, 2))
    space.dims["K"] = inner
    if loops:
        tile = space.pick((2, 4, 16, 32))
        space.dims["L"] = Dim("L", _extent(space, tile, 3), loop=tile)
    if chained:
        space.dims["D"] = Dim("D", _extent(space, 16, 3))
    elif space.chance(0.25):
        space.dims["E"] = Dim("E", space.pick((2, 3, 4, 4)))


def _on_grid(space: Space, name: str, axis: int, waves: int) -> Dim:
    tile = min(64, space.pick(WAVE_TILES) * waves)
    split = waves if waves > 1 or space.chance(0.5) else 0
    extent, dynamic = _extent(space, tile, 2), space.chance(0.25)
    backwards = space.chance(0.05)
    return Dim(name, extent, dynamic, axis, tile, split, backwards=backwards)


def _extent(space: Space, tile: int, most: int) -> int:
    """A whole number of tiles more often than not; else anything near a border."""
    if space.chance(_EMPTY):
        return 0
    if space.chance(0.6):
        return tile * space.pick(range(1, most + 1))
    near = (tile - 1, tile + 1, tile // 2, tile + 8, 2 * tile - 4, 1, 7, 37, 61)
    return max(1, min(most * tile, space.pick(near)))


def _work(space: Space) -> int:
    """Products of 16x16x16 that all waves do."""
    held = {name: dim.tile_in(looped=True) for name, dim in space.dims.items()}
    tiles = {name: -(-held[name] // 16) for name in held if name in "MNKD"}
    steps = tiles["M"] * tiles["N"] * tiles["K"] * max(1, space.dims["K"].trips)
    if "L" in held:
        steps *= max(1, space.dims["L"].trips) * held["L"]
    if "D" in tiles:
        steps += steps * tiles["D"] // tiles["N"]
    return space.units * steps * held.get("B", 1) * held.get("E", 1)


class _Kernel:
    """A matrix kernel under construction.

    Attributes:
        dtype: The element type of the operands.
        total: That of the products.
        batch: The dims that operands and results share.
        outer: The dims that products contract beside the last one.
    """

    def __init__(self, rng: np.random.Generator, space: Space) -> None:
        self.space = space
        self.build = Builder(rng, space, MAX_TILE)
        self.dtype: str = space.pick(DTYPES)
        self.total = "i32" if self.dtype == "i8" else "f32"
        self.batch = tuple(name for name in space.dims if name == "B")
        self.outer = tuple(name for name in space.dims if name == "E")

    def program(self, seed: int) -> Program:
        """The program made so far."""
        named = self.dtype in moves.MATRIX_DTYPES
        return self.build.program(seed, tagged=0.3, matrices=named)

    def zeros(self, *dims: str) -> str | None:
        """The start of a sum."""
        dims = (*self.batch, *dims)
        number = 0 if self.total == "i32" else 0.0
        info = Info(dims, self.total)
        fields: dict[str, Any] = {"dtype": self.total, "value": number}
        return self.build.emit("splat", info, shape=dims, **fields)

    def operand(self, *dims: str) -> str | None:
        """A tile of an input for a product, as it is read or changed before.

        Now and then all of a batch has the same one.
        """
        build, space = self.build, self.space
        batch = () if space.chance(0.15) else self.batch
        name = self.tile(*build.shuffled((*batch, *dims)), *self.outer)
        if name is None or space.chance(0.8):
            return name
        if space.chance(0.4):
            return staged(build, name) or name
        scale = self.tile(dims[0])
        return (scale and build.pointwise("mul", (name, scale))) or name

    def tile(self, *dims: str) -> str | None:
        """A tile of an input of its own, most often in the order of its memory."""
        build = self.build
        if not self.space.chance(_PLAIN):
            return read(build, build.shuffled(dims), self.dtype, 0.0)
        bound = int(build.rng.integers(1, 4))
        memory = build.memory(dims, self.dtype, "small", bound)
        fields: dict[str, Any] = {"memory": memory, "mapping": None, "index": ()}
        return build.emit("read", Info(dims, self.dtype, bound), shape=dims, **fields)

    def again(self, name: str) -> str | None:
        """The same value, read a second time where it comes from a read."""
        for step in self.build.scopes[-1].steps:
            if step.name == (name,) and step.kind == "read":
                info = self.build.info(name)
                fields = dict(step.attributes)
                return self.build.emit("read", info, step.args, **fields)
        return name

    def multiply(
        self, lhs: str | None, rhs: str | None, total: str | None
    ) -> str | None:
        """A product on top of a sum."""
        if lhs is None or rhs is None or total is None:
            return None
        return moves.multiply(self.build, lhs, rhs, total)

    def over(self, axis: str, starts: list[str | None], body: Body) -> Names | None:
        """Results of ``body`` on the starts, in a loop over the axis if it is one."""
        inits = [name for name in starts if name is not None]
        if len(inits) < len(starts):
            return None
        build = self.build
        if build.dim(axis).loop is None:
            return body(inits)
        kept = [Carried(build.fresh("v"), name, 0) for name in inits]
        infos = {each.param: build.info(each.init) for each in kept}
        build.scopes.append(Scope(axis, infos))
        found = body([each.param for each in kept])
        yields = [(name, build.info(name).bound) for name in found or ()]
        scope = build.scopes.pop()
        return None if found is None else [*close_loop(build, scope, kept, yields)]

    def finish(self, name: str) -> bool:
        """Some of what follows a product, and the write."""
        for change, share in EPILOGUE:
            if self.space.chance(share):
                name = change(self, name) or name
        return self.store(name) or write(self.build, name, _PLAIN)

    def store(self, name: str) -> bool:
        """Half of the time, a write in the order of the value; or the batch last."""
        build, info = self.build, self.build.info(name)
        if not may_write(build, info.dims) or self.space.chance(0.5):
            return False
        last = self.batch if self.space.chance(0.5) else ()
        place = tuple(sorted(info.dims, key=last.__contains__))
        memory = build.memory(place, info.dtype)
        build.add(literal.write(name, memory, *info.dims))
        return True


def _product(kernel: _Kernel) -> Names | None:
    """``lhs rhs``, rows by columns or columns by rows."""
    rows, columns = kernel.build.shuffled("MN")

    def body(sums: Names) -> Names | None:
        lhs, rhs = kernel.operand(rows, "K"), kernel.operand(columns, "K")
        found = kernel.multiply(lhs, rhs, sums[0])
        return None if found is None else [found]

    return kernel.over("K", [kernel.zeros(rows, columns)], body)


def _scaled_product(kernel: _Kernel) -> Names | None:
    """``lhs rhs``, each with a scale for 32 elements."""
    dtype = kernel.space.pick(("f8e4m3fn", "f8e5m2", "f4e2m1fn"))
    rows, columns = kernel.build.shuffled("MN")
    kernel.total = "f32"

    def body(sums: Names) -> Names | None:
        pairs = [
            _with_scales(kernel, (*kernel.batch, dim), dtype) for dim in (rows, columns)
        ]
        args = [name for pair in pairs for name in pair if name is not None]
        if len(args) < 4:
            return None
        acc = kernel.build.info(sums[0])
        most = 8 * 4 * 8 * 4 * kernel.build.elements(("K",))
        grown = replace(acc, bound=acc.bound + most, lsb=-2)
        found = kernel.build.emit("scaled", grown, (*args, sums[0]))
        return None if found is None else [found]

    return kernel.over("K", [kernel.zeros(rows, columns)], body)


def _with_scales(
    kernel: _Kernel, dims: tuple[str, ...], dtype: str
) -> tuple[str | None, str | None]:
    """An operand, packed in bytes where it has 4 bits, and its scales."""
    build = kernel.build

    def tile(last: str, dtype: str, fill: str, bound: int) -> str | None:
        shape = (*dims, last)
        access: dict[str, Any] = {"mapping": None, "index": (), "shape": shape}
        access["memory"] = build.memory(shape, dtype, fill, bound)
        return build.emit("read", Info(shape, dtype, bound), **access)

    scales = tile("K/32", "f8e8m0fnu", "scale", 1)
    if dtype != "f4e2m1fn":
        return tile("K", dtype, "small", 3), scales
    packed, shape = tile("K/2", "i8", "bits", 127), (*dims, "K")
    if packed is None:
        return None, scales
    info = Info(shape, dtype)
    return build.emit("bitcast", info, (packed,), dtype=dtype, shape=shape), scales


def _one_by_one(kernel: _Kernel) -> Names | None:
    """A product over K, and one over L on top of it, in a loop after the other."""
    sums: Names | None = None
    for axis in kernel.build.shuffled("KL"):
        starts = [kernel.zeros("M", "N")] if sums is None else list[str | None](sums)
        sums = kernel.over(axis, starts, lambda sums, k=axis: _added(kernel, k, sums))
        if sums is None:
            return None
    return sums


def _nested(kernel: _Kernel) -> Names | None:
    """A loop in a loop; operands are tiles of both axes, or of the inner one alone."""
    inside = kernel.space.chance(0.6)
    outer = kernel.outer

    def body(sums: Names) -> Names | None:
        kernel.outer = (*outer, "L") if inside else outer
        found = kernel.over("K", [*sums], lambda sums: _added(kernel, "K", sums))
        kernel.outer = outer
        return found

    return kernel.over("L", [kernel.zeros("M", "N")], body)


def _added(kernel: _Kernel, k: str, sums: Names) -> Names | None:
    """One product on top of a sum."""
    found = kernel.multiply(kernel.operand("M", k), kernel.operand("N", k), sums[0])
    return None if found is None else [found]


def _twice(kernel: _Kernel) -> Names | None:
    """Two products with the same left operand, read for each of them."""

    def body(sums: Names) -> Names | None:
        lhs = kernel.operand("M", "K")
        if lhs is None:
            return None
        first = kernel.multiply(lhs, kernel.operand("N", "K"), sums[0])
        again = kernel.again(lhs)
        second = kernel.multiply(again, kernel.operand("N", "K"), sums[1])
        return None if first is None or second is None else [first, second]

    found = kernel.over("K", [kernel.zeros("M", "N"), kernel.zeros("M", "N")], body)
    if found is None or kernel.space.chance(0.5):
        return found
    joined = kernel.build.pointwise("add", (found[0], found[1]))
    return found if joined is None else [joined]


def _chained(kernel: _Kernel) -> Names | None:
    """A product of a product, and at times the sums of its rows beside it."""
    outside = None if kernel.space.chance(0.5) else kernel.operand("M", "D")
    summed = kernel.space.chance(0.4)

    def body(sums: Names) -> Names | None:
        scores = _scores(kernel, outside or kernel.operand("M", "D"))
        if scores is None:
            return None
        found = [kernel.multiply(scores[1], scores[2], sums[0])]
        if summed:
            row = moves.reduction(kernel.build, "sum", scores[0], "K", sums[1])
            found.append(row)
        kept = [name for name in found if name is not None]
        return kept if len(kept) == len(sums) else None

    starts = [kernel.zeros("M", "N")]
    if summed:
        starts.append(kernel.zeros("M"))
    return kernel.over("K", starts, body)


def _scores(kernel: _Kernel, query: str | None) -> tuple[str, str, str] | None:
    """A product over D, itself as an operand, and what to multiply that with."""
    build = kernel.build
    rows, columns = build.shuffled("MK")
    keys = kernel.operand("K", "D")
    pair = (query, keys) if rows == "M" else (keys, query)
    product = kernel.multiply(*pair, kernel.zeros(rows, columns))
    if product is None:
        return None
    cut = moves.cut(build, product, kernel.space.pick((1, 2, 3)))
    transposed = build.ordered(cut, (*kernel.batch, "M", "K"))
    narrow = replace(build.info(transposed), dtype=kernel.dtype, power=False)
    weights = transposed
    if kernel.dtype != kernel.total:
        weights = build.emit("cast", narrow, (transposed,), dtype=kernel.dtype)
    values = kernel.operand("N", "K")
    return None if weights is None or values is None else (transposed, weights, values)


def _scaled(kernel: _Kernel, name: str) -> str | None:
    return kernel.build.pointwise("mul", (name,), kernel.space.pick((2, 3, -1)))


def _biased(kernel: _Kernel, name: str) -> str | None:
    """A vector or a whole matrix on top."""
    dims = kernel.build.info(name).dims
    chosen = dims if kernel.space.chance(0.4) else dims[-1:]
    bias = read(kernel.build, chosen, kernel.build.info(name).dtype, _PLAIN)
    return None if bias is None else kernel.build.pointwise("add", (name, bias))


def _clamped(kernel: _Kernel, name: str) -> str | None:
    return kernel.build.pointwise("maximum", (name,), 0)


def _reduced(kernel: _Kernel, name: str) -> str | None:
    """The sum or maximum along a dim that one workgroup holds."""
    build = kernel.build
    whole = [d for d in build.info(name).dims if moves.reducible(build, d)]
    if not whole:
        return None
    kind = kernel.space.pick(("sum", "max"))
    return moves.reduction(build, kind, name, kernel.space.pick(whole))


def _cast(kernel: _Kernel, name: str) -> str | None:
    dtype = kernel.space.pick(("f16", "f16", "bf16", "f32", "i32"))
    info = replace(kernel.build.info(name), dtype=dtype, power=False)
    if info.dtype == kernel.build.info(name).dtype:
        return None
    return kernel.build.emit("cast", info, (name,), dtype=dtype)


EPILOGUE = (
    (_scaled, 0.2), (_biased, 0.25), (_clamped, 0.2), (_reduced, 0.12), (_cast, 0.3),
)  # fmt: skip
"""Steps that may follow a product, in this order, and how often."""

KERNELS = (
    *[_product] * 3, _scaled_product, _twice, *[_chained] * 2, _one_by_one, _nested,
)  # fmt: skip
