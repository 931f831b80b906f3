"""Every op on numbers in every element type, against f64, with special values.

One kernel has all ops of a kind on one element type. It is compiled once for sizes
that come with the launch, and runs on nothing, one element, and around a tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable

M, N, K, P = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.P
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
    ("emulator", "sm_90a"),
)
FLOATS = (
    *("f64", "f32", "f16", "bf16"),
    *("f8e5m2", "f8e5m2fnuz", "f8e4m3fn", "f8e4m3fnuz"),
)
INTEGERS = ("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")
NUMBERS = (*FLOATS, *INTEGERS)


def often(names, *common):
    """All names; those that are not common are for fuzz."""
    rest = (each for each in names if each not in common)
    return [*common, *(pytest.param(each, marks=pytest.mark.fuzz) for each in rest)]


EACH_FLOAT = often(FLOATS, "f32", "bf16", "f16", "f64")
EACH_NUMBER = often(NUMBERS, "f32", "u8", "bf16", "i64")
ROWS = [
    tkw.WorkgroupConstraint(M, 64, 0),
    tkw.HardwareConstraint(vector_shapes={M: 64}),
]
i = tkw.IndexMapping.iterator(0)


@dataclass(frozen=True)
class Row:
    """A function of the language, what it means in f64, and how far it may be off.

    ``ulps`` is for f32 and f64, in units of the last place; narrower floats are
    computed in f32, and may be off by one.
    """

    function: Callable[..., object]
    reference: Callable[..., torch.Tensor]
    ulps: int = 0


def of_torch(name, ulps=16):
    return Row(getattr(tkw, name), getattr(torch, name), ulps)


def fmod(x, y):
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.fmod(x.numpy(), y.numpy()))


ONE = {
    **{name: of_torch(name) for name in ("exp", "exp2", "log", "log2", "log10")},
    **{name: of_torch(name) for name in ("sin", "cos", "sinh", "tanh", "erf")},
    **{name: of_torch(name) for name in ("sqrt", "rsqrt", "reciprocal", "sigmoid")},
    **{name: of_torch(name, 0) for name in ("floor", "ceil", "round", "abs")},
    "roundeven": Row(tkw.roundeven, torch.round),
    "neg": Row(lambda x: -x, torch.neg),
    "cbrt": Row(tkw.cbrt, lambda x: torch.from_numpy(np.cbrt(x.numpy())), 16),
    "silu": Row(tkw.silu, torch.nn.functional.silu, 16),
    "gelu": Row(tkw.gelu, lambda x: x * 0.5 * torch.erfc(-x * 0.5**0.5), 16),
    "softsign": Row(tkw.softsign, lambda x: x / (1 + (x / 30).abs()), 16),
    "clamp": Row(lambda x: tkw.clamp(x, -1.0, 2.0), lambda x: x.clamp(-1.0, 2.0)),
}
TWO = {
    "add": Row(lambda x, y: x + y, torch.add),
    "sub": Row(lambda x, y: x - y, torch.sub),
    "mul": Row(lambda x, y: x * y, torch.mul),
    "div": Row(lambda x, y: x / y, torch.div, 1),
    "maximum": Row(tkw.maximum, torch.maximum),
    "minimum": Row(tkw.minimum, torch.minimum),
    "atan2": Row(tkw.atan2, torch.atan2, 16),
    "powf": Row(tkw.powf, torch.pow, 16),
    "remf": Row(tkw.remf, fmod),
}
COMPARISONS = {
    name: Row(getattr(tkw, name), getattr(np, numpy_name))
    for name, numpy_name in (
        *(("eq", "equal"), ("ne", "not_equal"), ("lt", "less")),
        *(("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")),
    )
}


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def compiled(session, kernel, where, *dynamic, **sizes):
    device, target = where
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(
        subs=subs,
        dynamic_symbols=dynamic,
        target=target,
        device=device,
        poison_outputs=True,
    )
    return wave_compile(options, kernel, session=session)


def special_values(name):
    """Zeros, ends of the type, numbers of which functions overflow, and plain ones."""
    dtype = DTYPES[name]
    if dtype.is_integer:
        held = dtype.integer_range
        near = (-3, -2, -1, 0, 1, 2, 3, 7, 100)
        ends = (held[0], held[0] + 1, held[-1] // 2, held[-1] - 1, held[-1])
        listed = sorted({value for value in (*near, *ends) if value in held})
        return np.array(listed, dtype.numpy())
    info = ml_dtypes.finfo(dtype.numpy())
    ends = [float(x) for x in (info.max, info.tiny, info.smallest_subnormal)]
    plain = (0.0, 1.0, 0.5, 2.5, 3.0, 1 / 3, 1 + float(info.eps), 10.0, 88.5, 1e4)
    numbers = np.array([*plain, *ends, np.inf, np.nan], np.float64)
    with np.errstate(all="ignore"):
        return rounded(np.concatenate([numbers, -numbers]), name).astype(dtype.numpy())


def rounded(wide, name):
    """Numbers in f64, as torch converts them to a type: narrow ones through f32."""
    given = torch.from_numpy(np.asarray(wide, np.float64))
    if name != "f64":
        given = given.float().to(getattr(torch, DTYPES[name].numpy_name))
    return given.double().numpy()


def units(wanted, name):
    """The unit in the last place at each number."""
    info = ml_dtypes.finfo(DTYPES[name].numpy())
    least = float(info.smallest_subnormal)
    finite = np.where(np.isfinite(wanted), np.abs(wanted), 1.0)
    _, exponent = np.frexp(np.maximum(finite, least))
    return np.maximum(np.ldexp(1.0, exponent - 1 - info.nmant), least)


def wrong(found, wanted, name, ulps):
    """Where numbers are not those that are wanted, by position."""
    found, aim = found.astype(np.float64), rounded(wanted, name)
    ulps = ulps if name in ("f32", "f64") else min(ulps, 1)
    alike = (found == aim) | (np.isnan(found) & np.isnan(aim))
    with np.errstate(invalid="ignore"):
        alike |= np.abs(found - aim) <= ulps * units(aim, name)
        # Beyond the greatest number by less than the error, both are right.
        top = float(ml_dtypes.finfo(DTYPES[name].numpy()).max)
        edge = np.abs(np.abs(wanted) - top) <= (ulps + 1) * units(top, name)
    return np.flatnonzero(~(alike | (edge & (ulps > 0))))


def launch_sizes(count):
    """No element, one, around a tile of 64, all."""
    return [size for size in (0, 1, 63, 64, 65) if size < count] + [count]


def elementwise(rows, count, dtype, result):
    """A kernel of all rows; each writes its results to a row of ``c``."""

    def compute(row, *operands):
        return rows[row].function(*operands)

    @tkw.wave(ROWS)
    def one(a: tkl.Memory[M, GLOBAL, dtype], c: tkl.Memory[P, M, GLOBAL, result]):
        for number, row in enumerate(rows):
            to_row = tkw.IndexMapping(1, {M: i}, {P: number, M: i})
            tkw.write(compute(row, tkw.read(a)), c, mapping=to_row)

    @tkw.wave(ROWS)
    def two(
        a: tkl.Memory[M, GLOBAL, dtype],
        b: tkl.Memory[M, GLOBAL, dtype],
        c: tkl.Memory[P, M, GLOBAL, result],
    ):
        for number, row in enumerate(rows):
            to_row = tkw.IndexMapping(1, {M: i}, {P: number, M: i})
            tkw.write(compute(row, tkw.read(a), tkw.read(b)), c, mapping=to_row)

    return (one, two)[count - 1]


def results(session, rows, operands, where, result):
    """What each row makes of whole operands; beginnings of them give the same."""
    dtype = DTYPES[next(n for n in NUMBERS if DTYPES[n].numpy() == operands[0].dtype)]
    kernel = elementwise(rows, len(operands), dtype, result)
    built = compiled(session, kernel, where, M, P=len(rows))
    found = np.zeros((len(rows), 0), result.numpy())
    for size in launch_sizes(len(operands[0])):
        before, found = found, np.zeros((len(rows), size), result.numpy())
        built(*(np.ascontiguousarray(each[:size]) for each in operands), found)
        again = found[:, : before.shape[1]]
        assert again.tobytes() == before.tobytes(), f"other values among {size}"
    return dict(zip(rows, found, strict=True))


def check(session, rows, operands, where, name):
    """The results of all rows are near those in f64."""

    found = results(session, rows, operands, where, DTYPES[name])
    wide = [torch.from_numpy(each.astype(np.float64)) for each in operands]
    for title, row in rows.items():
        wanted = row.reference(*wide).numpy()
        bad = wrong(found[title], wanted, name, row.ulps)
        shown = [(*(each[k] for each in operands), found[title][k]) for k in bad[:4]]
        assert not bad.size, (title, name, shown, rounded(wanted, name)[bad[:4]])


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", EACH_FLOAT)
def test_functions_of_one(session, name, where):
    check(session, ONE, (special_values(name),), where, name)


def pairs(name):
    values = special_values(name)
    both = zip(*product(values, values), strict=True)
    return tuple(np.array(side, values.dtype) for side in both)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", EACH_FLOAT)
def test_functions_of_two(session, name, where):
    check(session, TWO, pairs(name), where, name)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", EACH_NUMBER)
def test_comparisons(session, name, where):
    operands = pairs(name)

    found = results(session, COMPARISONS, operands, where, tkl.bool)
    wide = [e.astype(np.float64) if name in FLOATS else e for e in operands]
    for title, row in COMPARISONS.items():
        np.testing.assert_array_equal(found[title], row.reference(*wide), title)


def converted(values, name):
    """Numbers as torch converts them to a type, and where that is promised."""
    dtype = DTYPES[name]
    if dtype.is_bool:
        return values != 0, np.ones(len(values), np.bool_)
    if dtype.is_float:
        return rounded(values, name), np.ones(len(values), np.bool_)
    if values.dtype != np.float64:
        return values.astype(dtype.numpy()), np.ones(len(values), np.bool_)
    held = dtype.integer_range
    whole = np.trunc(np.nan_to_num(values, nan=np.inf, posinf=np.inf, neginf=np.inf))
    fits = (whole >= float(held[0])) & (whole < float(held[-1]) + (held[-1] < 2**53))
    return np.where(fits, whole, 0).astype(dtype.numpy()), fits


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", EACH_NUMBER)
def test_conversions(session, name, where):
    """To every type, and from there to f64 and i64, which hold what it holds."""
    targets = [*NUMBERS, "bool"]

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, GLOBAL, DTYPES[name]],
        f: tkl.Memory[P, M, GLOBAL, tkl.f64],
        n: tkl.Memory[P, M, GLOBAL, tkl.i64],
    ):
        x = tkw.read(a)
        for number, target in enumerate(targets):
            to_row = tkw.IndexMapping(1, {M: i}, {P: number, M: i})
            y = tkw.cast(x, DTYPES[target])
            tkw.write(tkw.cast(y, tkl.f64), f, mapping=to_row)
            whole = tkl.Register[M, tkl.i64](0)
            whole = whole if target in FLOATS else tkw.cast(y, tkl.i64)
            tkw.write(whole, n, mapping=to_row)

    a = special_values(name)
    f = np.zeros((len(targets), len(a)))
    n = np.zeros(f.shape, np.int64)

    compiled(session, kernel, where, M=len(a), P=len(targets))(a, f, n)
    values = a.astype(np.float64) if name in FLOATS else a
    for row, target in enumerate(targets):
        wanted, fits = converted(values, target)
        found = f[row] if target in FLOATS else n[row]
        aim = wanted if target in FLOATS else wanted.astype(np.int64)
        np.testing.assert_array_equal(found[fits], aim[fits], f"{name} to {target}")
        again = wanted.astype(np.float64)
        np.testing.assert_array_equal(f[row][fits], again[fits], f"{name} to {target}")


def some_rows(name, width):
    """Rows of a few small numbers, so that some are equal; then rows with all else."""
    dtype = DTYPES[name]
    rng = np.random.default_rng(width)
    a = rng.integers(0, 5, (8, width)).astype(dtype.numpy())
    special = special_values(name)
    a[1] = rng.choice(special, width)
    if dtype.is_float:
        a[2] = -0.0
        a[3, width // 2 :] = special[-2]  # the least number, or infinity
        a[4, :1] = np.nan
        a[5] = special[: len(special) // 2][-5]  # the greatest finite number
        a[6] = (rng.standard_normal(width) * 3).astype(dtype.numpy())
    return a


FOLDED = {
    "sum": (tkw.sum, lambda x: x.sum(1)),
    "max": (tkw.max, lambda x: x.max(1, initial=-np.inf)),
    "min": (tkw.min, lambda x: x.min(1, initial=np.inf)),
}
TWO_WAVES = (
    tkw.WorkgroupConstraint(N, 128, 1),
    tkw.WaveConstraint(N, 64),
    tkw.Assumption(N <= 128),
)


def folding(dtype, *spread):
    """A kernel of sums, extremes and running sums along rows."""

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), *spread, tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        c: tkl.Memory[P, M, GLOBAL, dtype],
        d: tkl.Memory[M, N, GLOBAL, dtype],
    ):
        x = tkw.read(a)
        for number, (function, _) in enumerate(FOLDED.values()):
            to_row = tkw.IndexMapping(1, {M: i}, {P: number, M: i})
            tkw.write(function(x, dim=N), c, mapping=to_row)
        tkw.write(tkw.cumsum(x, dim=N), d)

    return kernel


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", EACH_NUMBER)
def test_folds(session, name, where):
    """Of rows of every width on two waves, and of rows without an element."""
    dtype = DTYPES[name]
    spread = compiled(session, folding(dtype, *TWO_WAVES), where, M, N, P=3)
    empty = compiled(session, folding(dtype), where, M, N=0, P=3)

    def run(built, width):
        a = some_rows(name, width)
        c, d = np.zeros((len(FOLDED), len(a)), a.dtype), np.zeros_like(a)
        built(a, c, d)
        return a, c, d

    for built, width in ((empty, 0), *((spread, n) for n in (1, 63, 65, 128))):
        assert_folded(name, *run(built, width))


def assert_folded(name, a, c, d):
    """Against f64, or Python's integers, which wrap."""
    dtype = DTYPES[name]
    if dtype.is_integer:
        held = dtype.integer_range
        assert (c[0] == a.sum(1, dtype=a.dtype)).all()
        assert (c[1] == a.max(1, initial=held[0])).all()
        assert (c[2] == a.min(1, initial=held[-1])).all()
        assert (d == a.cumsum(1, dtype=a.dtype)).all()
        return
    wide = a.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(wide).sum(1)
        assert_sums(name, c[0], wide.sum(1), size)
        assert_sums(name, d, wide.cumsum(1), size[:, None])
    for found, title in ((c[1], "max"), (c[2], "min")):
        wanted = FOLDED[title][1](wide)
        if name.endswith(("fn", "fnuz")):  # no infinity: the greatest stands for it
            top = float(ml_dtypes.finfo(a.dtype).max)
            wanted = np.clip(wanted, -top, top)
        np.testing.assert_array_equal(found.astype(np.float64), wanted)


def assert_sums(name, found, wanted, size):
    """Added up in f32 or f64, in any order, and rounded once."""
    found, aim = found.astype(np.float64), rounded(wanted, name)
    bound = size * 2.0 ** (-49 if name == "f64" else -20) + units(aim, name)
    top = float(ml_dtypes.finfo(DTYPES[name].numpy()).max)
    far = size > (top if name == "f64" else min(top, 3e38))
    alike = (found == aim) | (np.isnan(found) & np.isnan(aim))
    alike |= (np.abs(found - aim) <= bound) | far & ~np.isnan(size)
    assert alike.all(), (name, found[~alike], aim[~alike])


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", EACH_NUMBER)
def test_selections(session, name, where):
    """The greatest, the least, the first few and all in order; NaN is the greatest."""
    dtype = DTYPES[name]

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        ends: tkl.Memory[P, M, GLOBAL, tkl.i32],
        few: tkl.Memory[M, K, GLOBAL, dtype],
        places: tkl.Memory[M, N, GLOBAL, tkl.i32],
    ):
        x = tkw.read(a)
        for number, function in enumerate((tkw.argmax, tkw.argmin)):
            to_row = tkw.IndexMapping(1, {M: i}, {P: number, M: i})
            tkw.write(function(x, dim=N), ends, mapping=to_row)
        tkw.write(tkw.topk(x, K, dim=N)[0], few)
        tkw.write(tkw.sort(x, dim=N)[1], places)

    a = some_rows(name, 17)
    ends, places = (np.zeros(s, np.int32) for s in ((2, len(a)), a.shape))
    few = np.zeros((len(a), 3), a.dtype)
    sizes = {"M": len(a), "N": 17, "K": 3, "P": 2}
    compiled(session, kernel, where, **sizes)(a, ends, few, places)
    wide = a.astype(np.float64) if dtype.is_float else a
    assert (ends == [wide.argmax(1), wide.argmin(1)]).all()
    wanted = np.argsort(wide, axis=1, kind="stable")
    np.testing.assert_array_equal(places, wanted)
    greatest = np.take_along_axis(wide, wanted, 1)[:, :-4:-1]
    np.testing.assert_array_equal(few.astype(wide.dtype), greatest)
