"""Random loops and conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_testing.programs.accesses import may_write, read, write
from wave_testing.programs.builder import Builder, Scope
from wave_testing.programs.exact import SIGNIFICANT, Info, is_float
from wave_testing.programs.model import Step
from wave_testing.programs.moves import product, reducible, reduction, scores

if TYPE_CHECKING:
    from wave_testing.programs.formula import Formula

    Move = Callable[[Builder], str | None]


@dataclass(frozen=True)
class Carried:
    """A value that a loop carries: parameter, initial value, how much it may grow."""

    param: str
    init: str
    cap: int


def iterate(build: Builder, moves: Callable[[int], None]) -> None:
    """A loop over a tiled dimension; ``moves(n)`` adds random steps to its body."""
    axes = [
        d
        for d in build.space.dims.values()
        if d.loop is not None and d.name not in build.loops
    ]
    if not axes or len(build.scopes) > 2:
        return
    dim = build.space.pick(axes)
    count = int(build.rng.choice([1, 1, 1, 2, 3]))
    carried = [_carry(build, dim.name) for _ in range(count)]
    kept = [c for c in carried if c is not None]
    build.scopes.append(Scope(dim.name))
    for each in kept:
        info = build.info(each.init)
        build.scopes[-1].values[each.param] = replace(
            info, bound=max(1, each.cap), power=False
        )
    if build.space.chance(0.4):
        scores(build)
    moves(int(build.rng.integers(0, 5)))
    yields = [_next(build, each, dim.name) for each in kept]
    # Now and then, an output that the loop writes tile by tile.
    rows = [n for n, i in build.scopes[-1].values.items() if dim.name in i.dims]
    if rows and build.space.chance(0.35):
        write(build, build.space.pick(rows))
    scope = build.scopes.pop()
    if kept or scope.steps:
        close_loop(build, scope, kept, yields)


def close_loop(
    build: Builder, scope: Scope, kept: list[Carried], yields: list[tuple[str, int]]
) -> tuple[str, ...]:
    """Add the loop whose body ``scope`` holds; the names of its results.

    Args:
        build: The program.
        scope: The body, no longer among those that are open.
        kept: What the loop carries.
        yields: What the body gives back, with the most that this can be.
    """
    names = tuple(build.fresh("v") for _ in kept)
    build.add(
        Step(
            "iterate",
            names,
            tuple(each.init for each in kept),
            _walk(build, scope),
            tuple(scope.steps),
            tuple(each.param for each in kept),
            tuple(name for name, _ in yields),
        )
    )
    for name, each, (_, bound) in zip(names, kept, yields, strict=True):
        info = build.info(each.init)
        build.scopes[-1].values[name] = replace(
            info, bound=max(info.bound, bound, 1), power=False
        )
    return names


def _walk(build: Builder, scope: Scope) -> tuple[tuple[str, object], ...]:
    """The attributes of a loop: now and then not all tiles, or written as a while.

    In a while loop its axis is no size.
    """
    found: list[tuple[str, object]] = [("axis", scope.axis)]
    if build.space.chance(0.1):
        found.append(("start", int(build.rng.integers(0, 3))))
    if build.space.chance(0.1):
        found.append(("step", int(build.rng.integers(2, 4))))
    # Steps are plain data, so their text shows every leaf of their formulas.
    sized = repr(("sym", scope.axis)) in repr(scope.steps)
    if build.space.chance(0.25) and not sized:
        found.append(("while", True))
    return tuple(found)


def _carry(build: Builder, axis: str) -> Carried | None:
    """A carried value: one that is there, or a constant."""
    fitting = [
        (name, info)
        for name, info in build.numbers()
        if axis not in info.dims and info.dims and info.lsb == 0
    ]
    if fitting and build.space.chance(0.4):
        name, info = build.space.pick(fitting)
    else:
        others = [d for d in build.dims if d != axis]
        if not others:
            return None
        dims = build.subset(others, min(3, len(others)))
        if len(others) > 1 and build.space.chance(0.5):
            dims = build.shuffled(others)[:2]
        dtype = build.space.pick(("f32", "f32", "f32", "f16", "i32", "i64", "f64"))
        info = Info(dims, dtype, 1)
        value = float(build.rng.integers(-1, 2))
        number = value if is_float(dtype) else int(value)
        made = build.emit("splat", info, shape=dims, dtype=dtype, value=number)
        if made is None:
            return None
        name = made
    cap = 2 ** (SIGNIFICANT[info.dtype] - 2)
    if info.bound >= cap:
        return None
    return Carried(build.fresh("p"), name, cap)


def _next(build: Builder, carried: Carried, axis: str) -> tuple[str, int]:
    """The value of the next iteration, and a bound of it after all of them."""
    info = build.info(carried.init)
    trips = max(1, build.dim(axis).trips)
    for _ in range(4):
        kind = build.space.pick(("mma", "mma", "sum", "max", "min", "add", "other"))
        found = _update(build, carried, axis, kind)
        if found is None:
            continue
        name, grown = found
        got = build.info(name)
        if got.dims != info.dims:
            name = build.ordered(name, info.dims)
        total = info.bound + grown * (trips if kind in ("add", "sum", "mma") else 1)
        if total < carried.cap:
            return name, total
    return carried.param, info.bound


def _update(
    build: Builder, carried: Carried, axis: str, kind: str
) -> tuple[str, int] | None:
    info = build.info(carried.init)
    if kind == "mma":
        return _update_mma(build, carried, axis)
    if kind in ("sum", "max", "min"):
        return _update_reduction(build, carried, axis, kind)
    rows = [
        (name, i)
        for name, i in build.numbers()
        if i.dtype == info.dtype
        and set(i.dims) <= set(info.dims)
        and i.lsb == 0
        and name != carried.param
        and i.bound * 64 < carried.cap
    ]
    if not rows:
        return None
    name, other = build.space.pick(rows)
    if kind == "other":
        return (name, other.bound) if other.dims == info.dims else None
    added = build.pointwise("add", (carried.param, name))
    return None if added is None else (added, other.bound)


def _update_mma(build: Builder, carried: Carried, axis: str) -> tuple[str, int] | None:
    info = build.info(carried.init)
    if len(info.dims) < 2 or info.dtype != "f32":
        return None
    dim = build.dim(axis)
    if not reducible(build, axis) or dim.shared > 1:
        return None
    roles = (info.dims[:-2], info.dims[-2], info.dims[-1], axis)
    name = product(build, roles, carried.param)
    return None if name is None else (name, build.info(name).bound - carried.cap)


def _update_reduction(
    build: Builder, carried: Carried, axis: str, kind: str
) -> tuple[str, int] | None:
    info = build.info(carried.init)
    dims = (*info.dims, axis)
    if not reducible(build, axis) or not build.fits(dims):
        return None
    known = [
        name
        for name, i in build.numbers()
        if i.dtype == info.dtype and set(i.dims) == set(dims) and i.lsb == 0
    ]
    if known and build.space.chance(0.5):
        source = build.space.pick(known)
    else:
        source = read(build, build.shuffled(dims), info.dtype)
    if source is None:
        return None
    found = build.info(source)
    if tuple(d for d in found.dims if d != axis) != info.dims:
        source = build.ordered(source, dims)
    grown = found.bound * (max(1, build.dim(axis).extent) if kind == "sum" else 1)
    name = reduction(build, kind, source, axis, carried.param)
    return None if name is None else (name, grown)


def conditional(build: Builder, moves: Callable[[int], None]) -> None:
    """A body under a condition on sizes or scalar arguments."""
    if len(build.scopes) > 2:
        return
    others = [row for row in build.numbers() if row[1].dims]
    truths = [row for row in build.visible() if row[1].dtype == "bool"]
    wide = [row for row in truths if row[1].dims]
    if wide and build.space.chance(0.15):
        _write_where(build, build.space.pick(wide))
        return
    scalars = [name for name, info in truths if not info.dims]
    if scalars and build.space.chance(0.7):
        attribute: tuple[str, object] = ("register", build.space.pick(scalars))
    else:
        attribute = ("condition", _condition(build))
    build.scopes.append(Scope())
    moves(int(build.rng.integers(1, 4)))
    inside = build.scopes[-1].values
    pairs = [
        (name, other)
        for name, info in inside.items()
        for other, o in others
        if o.dims == info.dims and o.dtype == info.dtype
    ]
    chosen = [build.space.pick(pairs)] if pairs else []
    if inside and (not chosen or build.space.chance(0.3)):
        write(build, build.space.pick(list(inside)))
    scope = build.scopes.pop()
    if not scope.steps:
        return
    names = tuple(build.fresh("v") for _ in chosen)
    yields, otherwise = (tuple(pair[i] for pair in chosen) for i in range(2))
    body = tuple(scope.steps)
    build.add(Step("conditional", names, otherwise, (attribute,), body, yields=yields))
    for name, (one, other) in zip(names, chosen, strict=True):
        a, b = scope.values[one], build.info(other)
        build.scopes[-1].values[name] = replace(
            a, bound=max(a.bound, b.bound), lsb=min(a.lsb, b.lsb), power=False
        )


def _condition(build: Builder) -> Formula:
    symbols = [d.name for d in build.space.dims.values()]
    symbols += [s.name for s in build.scalars if s.bind]
    sign = build.space.pick(("<", ">", "<=", ">="))
    return (sign, ("sym", build.space.pick(symbols)), int(build.rng.integers(0, 70)))


def _write_where(build: Builder, row: tuple[str, Info]) -> None:
    """A write of the elements where a register of truth values holds."""
    register, condition = row
    fitting = [
        name
        for name, info in build.numbers()
        if set(condition.dims) <= set(info.dims) and may_write(build, info.dims)
    ]
    if not fitting or build.tile(condition.dims) > LANES:
        return
    build.scopes.append(Scope())
    write(build, build.space.pick(fitting))
    scope = build.scopes.pop()
    attributes = (("register", register),)
    build.add(Step("conditional", (), (), attributes, tuple(scope.steps)))


LANES = 64
"""Beyond this a lane would hold several elements, and could not branch on them."""
