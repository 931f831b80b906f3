"""Random steps without control flow: arithmetic, shapes, reductions, products."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_testing.programs.accesses import MATRIX_DTYPES, read, some_dims, staged
from wave_testing.programs.dims import union_dims
from wave_testing.programs.exact import (
    GENERATED,
    Info,
    any_unsigned,
    is_float,
    is_unsigned,
    wraps,
)
from wave_testing.programs.kinds import COMPARISONS, HINTS, LOGIC, ROUNDINGS, SHIFTS
from wave_testing.programs.literal import step
from wave_testing.programs.space import INSTRUCTIONS

if TYPE_CHECKING:
    from wave_testing.programs.builder import Builder
    from wave_testing.programs.formula import Formula

_BINARY = ("add", "sub", "mul", "maximum", "minimum")


def any_number(build: Builder) -> str | None:
    """A visible value, recent ones more likely."""
    rows = build.numbers()
    if not rows:
        return None
    recent = rows[-4:] if build.space.chance(0.6) else rows
    return build.space.pick(recent)[0]


def binary(build: Builder) -> str | None:
    """Arithmetic on two values, or on a value and a number."""
    kind = build.space.pick(_BINARY)
    return _with_partner(build, kind)


def _with_partner(build: Builder, kind: str) -> str | None:
    name = any_number(build)
    if name is None:
        return None
    info = build.info(name)
    partners = [n for n, i in build.numbers() if i.dtype == info.dtype]
    if build.space.chance(0.3):
        number = _number(build, info.dtype, -3, 4)
        reflected = build.space.chance(0.3) and kind not in ("maximum", "minimum")
        return build.pointwise(kind, (name,), number, reflected=reflected)
    other = build.space.pick(partners)
    if not _union_fits(build, (name, other)):
        return None
    return build.pointwise(kind, (name, other))


def _number(build: Builder, dtype: str, first: int, end: int) -> int:
    """A number that an element type has."""
    number = int(build.rng.integers(first, end))
    return abs(number) if is_unsigned(dtype) else number


def _union_fits(build: Builder, names: tuple[str, ...]) -> bool:
    dims = {d for name in names for d in build.info(name).dims}
    return build.fits(tuple(dims))


def unary(build: Builder) -> str | None:
    """Negation, magnitude, powers of two, rounding."""
    name = any_number(build)
    if name is None or is_unsigned(build.info(name).dtype):
        return None
    info = build.info(name)
    kinds = ("neg", "abs")
    if is_float(info.dtype):
        kinds += ("exp2", "reciprocal", "exp2", "reciprocal")
        kinds += ROUNDINGS * (3 if info.lsb < 0 else 1)
    kind = build.space.pick(kinds)
    found = build.pointwise(kind, (name,))
    if kind == "exp2" and found is not None and build.space.chance(0.5):
        return build.pointwise("reciprocal", (found,))
    return found


def divide(build: Builder) -> str | None:
    """Integer division by a constant, its remainder, and shifts."""
    rows = [name for name, i in build.numbers() if not is_float(i.dtype)]
    if not rows:
        return None
    if build.space.chance(0.3):
        count, kind = int(build.rng.integers(0, 5)), build.space.pick(SHIFTS)
        return build.pointwise(kind, (build.space.pick(rows),), count)
    number = int(build.rng.integers(1, 8)) * (-1 if build.space.chance(0.2) else 1)
    kind, name = build.space.pick(("floordiv", "mod")), build.space.pick(rows)
    number = abs(number) if is_unsigned(build.info(name).dtype) else number
    return build.pointwise(kind, (name,), number)


def logic(build: Builder) -> str | None:
    """And, or, exclusive or, not, of truth values or of bits."""
    rows = [r for r in build.visible() if not is_float(r[1].dtype)]
    if not rows:
        return None
    truths = [r for r in rows if r[1].dtype == "bool"] or rows
    name, info = build.space.pick(truths if build.space.chance(0.8) else rows)
    kind = build.space.pick(LOGIC)
    if kind == "not":
        return build.pointwise("not", (name,))
    other = build.space.pick([n for n, i in rows if i.dtype == info.dtype])
    if not _union_fits(build, (name, other)):
        return None
    return build.pointwise(kind, (name, other))


def choose(build: Builder) -> str | None:
    """A comparison, and a selection by it."""
    condition = _with_partner(build, build.space.pick(COMPARISONS))
    if condition is None:
        return None
    on_true = any_number(build)
    if on_true is None:
        return None
    dtype = build.info(on_true).dtype
    on_false = build.space.pick([n for n, i in build.numbers() if i.dtype == dtype])
    if not _union_fits(build, (condition, on_true, on_false)):
        return None
    return build.pointwise("select", (condition, on_true, on_false))


def cast(build: Builder) -> str | None:
    """A conversion to another element type."""
    row = build.space.pick(build.visible() or [None])
    if row is None:
        return None
    name, info = row
    dtype = build.space.pick(GENERATED)
    if dtype == info.dtype or (dtype == "bool" and is_float(info.dtype)):
        return None
    if dtype == "u64" and not is_unsigned(info.dtype):
        return None
    if wraps(dtype):
        from_float, wrapped = is_float(info.dtype), any_unsigned(info.dims, dtype)
        return None if from_float else build.emit("cast", wrapped, (name,), dtype=dtype)
    lsb = info.lsb if is_float(dtype) else max(0, info.lsb)
    new = replace(info, dtype=dtype, lsb=lsb, power=False)
    if dtype == "bool":
        new = Info(info.dims, "bool")
    return build.emit("cast", new, (name,), dtype=dtype)


def broadcast(build: Builder) -> str | None:
    """A value on more dims."""
    row = build.space.pick(build.visible() or [None])
    if row is None:
        return None
    name, info = row
    more = [d for d in build.dims if d not in info.dims]
    if not more:
        return None
    dims = build.shuffled((*info.dims, *build.subset(more, min(2, len(more)))))
    if not build.fits(dims):
        return None
    return build.emit("broadcast", info.over(dims), (name,), shape=dims)


def permute(build: Builder) -> str | None:
    """A value with its dims in another order."""
    rows = [row for row in build.visible() if len(row[1].dims) > 1]
    if not rows:
        return None
    name, info = build.space.pick(rows)
    dims = build.shuffled(info.dims)
    return build.emit("permute", info.over(dims), (name,), shape=dims)


def splat(build: Builder) -> str | None:
    """A constant."""
    dims = some_dims(build)
    dtype = build.dtype(tuple(t for t in GENERATED if t != "bool"))
    number = _number(build, dtype, -4, 5)
    info = Info(dims, dtype, abs(number))
    value = float(number) if is_float(dtype) else number
    return build.emit("splat", info, shape=dims, dtype=dtype, value=value)


def self_index(build: Builder) -> str | None:
    """The index of each element."""
    name = build.space.pick(build.dims)
    dtype = build.space.pick(("i32", "i64"))
    info = Info((name,), dtype, max(1, build.dim(name).extent))
    return build.emit("self_index", info, dim=name, dtype=dtype)


def apply(build: Builder) -> str | None:
    """Index arithmetic on one or two integer values."""
    signed = ("i8", "i16", "i32", "i64")
    rows = [r for r in build.numbers() if r[1].dtype in signed]
    if not rows:
        return self_index(build)
    names = [build.space.pick(rows)[0] for _ in range(int(build.rng.integers(1, 3)))]
    if not _union_fits(build, tuple(names)):
        return None
    formula, bound = _formula(build, names)
    dims = build.aligned(tuple(names))
    infos = [build.info(name) for name in dims]
    merged = union_dims([info.dims for info in infos])
    if merged is None:
        return None
    if build.space.chance(0.25):
        limit = int(build.rng.integers(0, 20))
        sign = build.space.pick(("<", "<=", ">", ">="))
        relation = (sign, formula, limit)
        return build.emit("apply", Info(merged, "bool"), dims, formula=relation)
    info = Info(merged, infos[0].dtype, bound)
    return build.emit("apply", info, dims, formula=formula)


def _formula(build: Builder, names: list[str]) -> tuple[Formula, int]:
    """A formula of the values and a bound of its magnitude."""
    first = build.info(names[0])
    formula: Formula = ("arg", 0)
    bound = first.bound
    if len(names) > 1:
        formula, bound = ("+", formula, ("arg", 1)), bound + build.info(names[1]).bound
    for _ in range(int(build.rng.integers(1, 4))):
        formula, bound = _wrapped(build, formula, bound)
    return formula, bound


def _wrapped(build: Builder, formula: Formula, bound: int) -> tuple[Formula, int]:
    number = int(build.rng.integers(1, 9))
    kind = build.space.pick(("+", "-", "*", "//", "%", "sym"))
    if kind == "*":
        return ("*", formula, number), bound * number
    if kind == "//":
        return ("//", formula, number), bound // number + 1
    if kind == "%":
        return ("%", formula, number), number
    if kind == "sym":
        sizes = [d for d in build.space.dims.values() if d.extent]
        if not sizes:
            return formula, bound
        size = build.space.pick(sizes)
        if build.space.chance(0.5):
            return ("%", formula, ("sym", size.name)), size.extent
        return ("+", formula, ("sym", size.name)), bound + size.extent
    return (kind, formula, number), bound + number


def reducible(build: Builder, name: str) -> bool:
    """Whether one workgroup has all of a dimension."""
    return build.dim(name).groups == 1


def may_be_empty(build: Builder, name: str) -> bool:
    """Whether a tile along a dimension may have no elements."""
    dim = build.dim(name)
    return dim.extent == 0 or (
        name in build.loops and dim.trips * (dim.loop or 0) > dim.extent
    )


def reduce(build: Builder) -> str | None:
    """A sum, maximum or minimum of one value or several."""
    rows = [
        (name, d)
        for name, info in build.numbers()
        for d in info.dims
        if reducible(build, d)
    ]
    if not rows:
        return None
    name, dim = build.space.pick(rows[-6:] if build.space.chance(0.6) else rows)
    kind = build.space.pick(("sum", "sum", "max", "min"))
    return reduction(build, kind, name, dim, acc=_accumulator(build, name, dim))


def _accumulator(build: Builder, name: str, dim: str) -> Any:
    info = build.info(name)
    kept = tuple(d for d in info.dims if d != dim)
    if build.space.chance(0.3):
        return _number(build, info.dtype, -3, 4)
    fitting = [
        other
        for other, i in build.numbers()
        if i.dtype == info.dtype and (i.dims == kept or set(i.dims) < set(kept))
    ]
    return build.space.pick(fitting) if fitting and build.space.chance(0.5) else None


def reduction(
    build: Builder, kind: str, name: str, dim: str, acc: Any = None
) -> str | None:
    """A reduction of ``name`` and of its like, on top of a value or a number."""
    info = build.info(name)
    if kind != "sum" and acc is None and may_be_empty(build, dim):
        return None
    sources = [name]
    if build.space.chance(0.15):
        sources += [
            other
            for other, i in build.numbers()
            if other != name and set(i.dims) == set(info.dims) and i.dtype == info.dtype
        ][:2]
    infos = [build.info(source) for source in sources]
    parts = list(infos)
    args = tuple(sources)
    if isinstance(acc, str):
        args = (*args, acc)
        parts.append(build.info(acc))
    found = _reduced(build, kind, infos, dim)
    number = acc if isinstance(acc, int) else None
    extra = parts[-1].bound if isinstance(acc, str) else abs(number or 0)
    bound = found.bound + extra if kind == "sum" else max(found.bound, extra)
    lsb = min(part.lsb for part in parts)
    result = replace(found, bound=max(1, bound), lsb=lsb)
    return build.emit(
        "reduce",
        result,
        args,
        combine=kind,
        dim=dim,
        sources=len(sources),
        acc=number,
    )


def _reduced(build: Builder, kind: str, infos: list[Info], dim: str) -> Info:
    first = infos[0]
    dims = tuple(d for d in first.dims if d != dim)
    bound = max(info.bound for info in infos)
    if kind == "sum":
        bound = sum(info.bound for info in infos) * max(1, build.dim(dim).extent)
    return Info(dims, first.dtype, bound)


def scan(build: Builder) -> str | None:
    """A running sum, maximum or minimum, where one workgroup is proved to have all."""
    rows = [
        (name, d)
        for name, info in build.numbers()
        for d in info.dims
        if reducible(build, d) and not (build.dim(d).dynamic and build.dim(d).tile)
    ]
    if not rows:
        return None
    name, dim = build.space.pick(rows[-6:])
    kind = build.space.pick(("sum", "max", "min"))
    info = build.info(name)
    terms = max(1, build.dim(dim).extent) if kind == "sum" else 1
    return build.emit(
        "scan",
        replace(info, bound=max(1, info.bound * terms), power=False),
        (name,),
        combine=kind,
        dim=dim,
        reverse=build.space.chance(0.3),
        exclusive=kind == "sum" and build.space.chance(0.3),
    )


def whole_in_a_wave(build: Builder, name: str) -> bool:
    """Whether each wave has all elements along a dim, and there are some."""
    dim = build.dim(name)
    alone = dim.groups == 1 and dim.shared == 1 and name not in build.loops
    return alone and dim.extent > 0


def extract(build: Builder) -> str | None:
    """One element along the last dim, where a wave has all of it."""
    rows = [
        (name, info)
        for name, info in build.visible()
        if info.dims and whole_in_a_wave(build, info.dims[-1])
    ]
    if not rows:
        return None
    name, info = build.space.pick(rows)
    extent = build.dim(info.dims[-1]).extent
    offset: int | str = int(build.rng.integers(extent))
    small = [s for s in sorted(build.symbols) if build.symbols[s] < extent]
    if small and build.space.chance(0.3):
        offset = build.space.pick(small)
    return build.emit("extract", info.over(info.dims[:-1]), (name,), offset=offset)


def mma(build: Builder) -> str | None:
    """A matrix product of reads or of what was computed before."""
    contracted = [
        d for d in build.dims if reducible(build, d) and build.dim(d).shared == 1
    ]
    if not contracted:
        return None
    k = build.space.pick(contracted)
    free = [d for d in build.dims if d != k]
    if len(free) < 2:
        return None
    m, n = build.shuffled(free)[:2]
    batch = tuple(d for d in free if d not in (m, n) and build.space.chance(0.15))
    return product(build, (batch, m, n, k))


Roles = tuple[tuple[str, ...], str, str, str]


def product(build: Builder, roles: Roles, acc: str | None = None) -> str | None:
    """``acc + lhs * rhs`` with these dims as batch, rows, columns, contracted."""
    batch, m, n, k = roles
    if not _cheap(build, roles):
        return None
    dtype = build.space.pick(MATRIX_DTYPES)
    lhs = _operand(build, {*batch, m, k}, dtype)
    rhs = _operand(build, {*batch, n, k}, dtype)
    acc = acc or _initial(build, (*batch, m, n))
    if lhs is None or rhs is None or acc is None:
        return None
    name = build.space.pick((None, None, None, *INSTRUCTIONS))
    return multiply(build, lhs, rhs, acc, name)


def multiply(
    build: Builder, left: str, right: str, total: str, instruction: str | None = None
) -> str | None:
    """The product of two values that are there, on top of a third one."""
    lhs, rhs, acc = (build.info(name) for name in (left, right, total))
    contracted = set(lhs.dims) & set(rhs.dims) - set(acc.dims)
    grown = lhs.bound * rhs.bound * build.elements(tuple(contracted))
    lsb = min(lhs.lsb + rhs.lsb, acc.lsb)
    info = Info(acc.dims, acc.dtype, acc.bound + grown, lsb)
    return build.emit("mma", info, (left, right, total), instruction=instruction)


def _cheap(build: Builder, roles: Roles) -> bool:
    batch, *rest = roles
    steps = 1
    for name in rest:
        tile = build.dim(name).tile_in(looped=name in build.loops)
        steps *= -(-max(1, tile) // 16)
    return steps * build.tile(batch) <= 32


def _operand(build: Builder, dims: set[str], dtype: str) -> str | None:
    """A value over these dims in an element type that matrices take."""
    if not build.fits(tuple(dims)):
        return None
    known = [
        (name, info)
        for name, info in build.numbers()
        if set(info.dims) == dims and replace(info, dtype=dtype).exact and info.lsb == 0
    ]
    if known and build.space.chance(0.7):
        name, info = build.space.pick(known[-3:])
        if info.dtype == dtype:
            return name
        new = replace(info, dtype=dtype, power=False)
        return build.emit("cast", new, (name,), dtype=dtype)
    return read(build, build.shuffled(sorted(dims)), dtype)


def _initial(build: Builder, dims: tuple[str, ...]) -> str | None:
    """An accumulator: what is there, a bias with fewer dims, or a constant."""
    rows = [(n, i) for n, i in build.numbers() if i.dtype == "f32"]
    ready = [n for n, i in rows if i.dims == dims]
    if ready and build.space.chance(0.5):
        return build.space.pick(ready)
    fewer = [(n, i) for n, i in rows if set(i.dims) < set(dims)]
    if fewer and build.space.chance(0.3):
        name, info = build.space.pick(fewer)
        return build.emit("broadcast", info.over(dims), (name,), shape=dims)
    number = int(build.rng.integers(-2, 3)) if build.space.chance(0.3) else 0
    info = Info(dims, "f32", max(1, abs(number)))
    return build.emit("splat", info, shape=dims, dtype="f32", value=float(number))


def scores(build: Builder) -> str | None:
    """A product that a later product can use: rows by the innermost loop's tile."""
    axis = build.scopes[-1].axis
    whole = [
        d
        for d in build.dims
        if d != axis and reducible(build, d) and build.dim(d).shared == 1
    ]
    if not whole:
        return None
    k = build.space.pick(whole)
    rows = [d for d in build.dims if d not in (axis, k)]
    if not rows:
        return None
    m, n = build.shuffled((build.space.pick(rows), axis))
    name = product(build, ((), m, n, k))
    if name is None or build.space.chance(0.3):
        return name
    return cut(build, name, int(build.rng.integers(1, 9)))


def cut(build: Builder, name: str, most: int) -> str:
    """A value with magnitudes of at most ``most``."""
    clamped = build.pointwise("minimum", (name,), most)
    assert clamped is not None, "a small number is exact"
    # Known to be small only once both ends are cut.
    found = build.pointwise("maximum", (clamped,), -most)
    assert found is not None, "a small number is exact"
    build.scopes[-1].values[found] = replace(build.info(found), bound=most)
    return found


def stage(build: Builder) -> str | None:
    """A value through LDS by hand."""
    name = any_number(build)
    return None if name is None else staged(build, name)


def hint(build: Builder) -> None:
    """What schedules place, written by hand: results are the same."""
    build.add(step("hint", "", form=build.space.pick(HINTS)))


def set_symbol(build: Builder) -> str | None:
    """A symbol gets the value of a scalar; formulas of mappings may use it then."""
    rows = [
        (name, info)
        for name, info in build.numbers()
        if not info.dims and info.dtype in ("i32", "i64") and info.bound < 40
    ]
    if not rows or len(build.scopes) > 1:
        return None
    name, info = build.space.pick(rows)
    positive = build.pointwise("abs", (name,))
    if positive is None:
        return None
    symbol = build.fresh("X")
    build.symbols[symbol] = info.bound
    build.add(step("set_symbol", "", positive, symbol=symbol))
    return positive
