"""Integers of every width, with and without a sign, against Python's own.

The values are the ends of each type and what lies beside them; results wrap.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError
from wave_core.types import DTYPES

M, P = tkl.sym.M, tkl.sym.P
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
NAMES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    *(("emulator", chip) for chip in ("gfx942", "gfx950", "gfx1100", "gfx1201")),
)
ROWS = [
    tkw.WorkgroupConstraint(M, 64, 0),
    tkw.HardwareConstraint(vector_shapes={M: 64}),
]


def shifted_up(x, y, dtype):
    return x << y if 0 <= y < dtype.bits else 0


def shifted_down(x, y, dtype):
    return x >> (y if 0 <= y < dtype.bits else dtype.bits)


BINARY = {
    "add": (lambda x, y: x + y, lambda x, y, _: x + y),
    "sub": (lambda x, y: x - y, lambda x, y, _: x - y),
    "mul": (lambda x, y: x * y, lambda x, y, _: x * y),
    "floordiv": (lambda x, y: x // y, lambda x, y, _: x // y if y else 0),
    "mod": (lambda x, y: x % y, lambda x, y, _: x % y if y else 0),
    "and": (lambda x, y: x & y, lambda x, y, _: x & y),
    "or": (lambda x, y: x | y, lambda x, y, _: x | y),
    "xor": (lambda x, y: x ^ y, lambda x, y, _: x ^ y),
    "shl": (lambda x, y: x << y, shifted_up),
    "shr": (lambda x, y: x >> y, shifted_down),
    "maximum": (tkw.maximum, lambda x, y, _: max(x, y)),
    "minimum": (tkw.minimum, lambda x, y, _: min(x, y)),
    "less": (lambda x, y: tkw.where(x < y, x, y), lambda x, y, _: min(x, y)),
    "at least": (lambda x, y: tkw.where(x >= y, x, y), lambda x, y, _: max(x, y)),
    "neg": (lambda x, _: -x, lambda x, *_: -x),
    "not": (lambda x, _: ~x, lambda x, *_: ~x),
    "abs": (lambda x, _: tkw.abs(x), lambda x, *_: abs(x)),
    "shl by 3": (lambda x, _: x << 3, lambda x, *_: x << 3),
    "shr by 3": (lambda x, _: x >> 3, lambda x, *_: x >> 3),
}


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, where, *arrays, **sizes):
    device, target = where
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(subs=subs, target=target, device=device)
    wave_compile(options, kernel, session=session)(*arrays)


def wrapped(values, dtype):
    """Integers as a type holds them."""
    bits = np.array([v % (1 << dtype.bits) for v in values], np.uint64)
    return bits.astype(f"u{dtype.bytes}").view(dtype.numpy())


def edges(dtype):
    held = dtype.integer_range
    near = (-dtype.bits, -3, -2, -1, 0, 1, 2, 3, 7, dtype.bits - 1, dtype.bits)
    ends = (held[0], held[0] + 1, held[-1] // 2, held[-1] // 2 + 1, held[-1])
    return sorted({value for value in (*near, *ends) if value in held})


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", NAMES)
def test_arithmetic(session, name, where):
    dtype = DTYPES[name]
    i = tkw.IndexMapping.iterator(0)

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, GLOBAL, dtype],
        b: tkl.Memory[M, GLOBAL, dtype],
        c: tkl.Memory[P, M, GLOBAL, dtype],
    ):
        x, y = tkw.read(a), tkw.read(b)
        for row, (function, _) in enumerate(BINARY.values()):
            to_row = tkw.IndexMapping(1, {M: i}, {P: row, M: i})
            tkw.write(function(x, y), c, mapping=to_row)

    # The simulator reports a division by zero; the next test has those.
    pairs = [(x, y) for x, y in product(edges(dtype), repeat=2) if y]
    a, b = (np.array(side, dtype.numpy()) for side in zip(*pairs, strict=True))
    c = np.full((len(BINARY), len(pairs)), 77, dtype.numpy())
    launch(session, kernel, where, a, b, c, M=len(pairs), P=len(BINARY))
    for row, (title, (_, reference)) in enumerate(BINARY.items()):
        wanted = wrapped([reference(x, y, dtype) for x, y in pairs], dtype)
        wrong = np.flatnonzero(c[row] != wanted)
        assert not wrong.size, (title, [(pairs[k], c[row, k]) for k in wrong[:5]])


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", NAMES)
def test_conversions(session, name, where):
    source = DTYPES[name]
    i = tkw.IndexMapping.iterator(0)

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, GLOBAL, source],
        c: tkl.Memory[P, M, GLOBAL, tkl.i64],
        d: tkl.Memory[P, M, GLOBAL, tkl.f64],
    ):
        x = tkw.read(a)
        for row, wanted in enumerate(NAMES):
            to_row = tkw.IndexMapping(1, {M: i}, {P: row, M: i})
            y = tkw.cast(x, DTYPES[wanted])
            tkw.write(tkw.cast(y, tkl.i64), c, mapping=to_row)
            tkw.write(tkw.cast(y, tkl.f64), d, mapping=to_row)

    values = edges(source)
    a = np.array(values, source.numpy())
    c = np.full((len(NAMES), len(values)), 77, np.int64)
    d = np.full(c.shape, 0.5)
    launch(session, kernel, where, a, c, d, M=len(values), P=len(NAMES))
    for row, wanted in enumerate(NAMES):
        narrow = wrapped(values, DTYPES[wanted])
        assert (c[row] == narrow.astype(np.int64)).all(), wanted
        assert (d[row] == narrow.astype(np.float64)).all(), wanted


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", NAMES)
def test_reductions_and_floats(session, name, where):
    dtype = DTYPES[name]

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, GLOBAL, dtype],
        f: tkl.Memory[M, GLOBAL, tkl.f32],
        c: tkl.Memory[P, GLOBAL, dtype],
        d: tkl.Memory[M, GLOBAL, dtype],
    ):
        x = tkw.read(a)
        for row, reduce in enumerate((tkw.sum, tkw.max, tkw.min)):
            to_row = tkw.IndexMapping(0, {}, {P: row})
            tkw.write(reduce(x, dim=M), c, mapping=to_row)
        tkw.write(tkw.cast(tkw.read(f), dtype), d)

    values = edges(dtype)
    a = np.array(values, dtype.numpy())
    whole = np.linspace(0, min(dtype.integer_range[-1], 2**23), len(values) - 1)
    f = np.append(np.floor(whole), dtype.integer_range[-1] // 2 + 1).astype(np.float32)
    c, d = np.full(3, 77, dtype.numpy()), np.full_like(a, 77)
    launch(session, kernel, where, a, f, c, d, M=len(values), P=3)
    assert (c == wrapped([sum(values), max(values), min(values)], dtype)).all()
    in_range = f <= np.float32(dtype.integer_range[-1])
    assert [int(v) for v in d[in_range]] == [int(v) for v in f[in_range]]


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", ["u8", "u16", "u32"])
def test_positions_beyond_the_signed_half(session, name, where):
    """A gather whose positions are negative where they are taken for signed."""
    dtype, N = DTYPES[name], tkl.sym.N
    i = tkw.IndexMapping.iterator(0)
    low = dtype.integer_range[-1] // 2
    rows = tkw.IndexMapping(
        1, {N: tkw.IndexMapping.dynamic_val(0) - low}, {M: i}, ({M: i},)
    )

    @tkw.wave(ROWS)
    def kernel(
        places: tkl.Memory[M, GLOBAL, dtype],
        a: tkl.Memory[N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
        d: tkl.Memory[M, GLOBAL, tkl.i64],
    ):
        place = tkw.read(places)
        found = tkw.read(a, mapping=rows, mapping_dynamic_vals=(place,))
        tkw.write(found, c)
        wide = tkw.cast(tkw.apply_expr(place, lambda x: x // 3), tkl.i64)
        tkw.write(wide, d)

    rng = np.random.default_rng(3)
    a = rng.standard_normal(50).astype(np.float32)
    steps = rng.integers(0, 50, 70)
    places = (low + steps).astype(dtype.numpy())
    c, d = np.full(70, 7, np.float32), np.full(70, 7, np.int64)
    launch(session, kernel, where, places, a, c, d, M=70, N=50)
    assert (c == a[steps]).all()
    assert (d == (low + steps) // 3).all()


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("name", NAMES)
def test_scalars(session, name, where):
    dtype = DTYPES[name]

    @tkw.wave(ROWS)
    def kernel(c: tkl.Memory[M, GLOBAL, dtype], value: dtype):
        tkw.write(tkw.broadcast(value, [M]), c)

    for value in edges(dtype):
        c = np.full(65, 77, dtype.numpy())
        launch(session, kernel, where, c, value, M=65)
        assert (c == value).all()
    for value in (dtype.integer_range[0] - 1, dtype.integer_range[-1] + 1):
        with pytest.raises(UserError, match=f"beyond the range of {name}"):
            launch(session, kernel, where, c, value, M=65)


def test_numbers_beyond_the_type():
    @tkw.wave(ROWS)
    def kernel(c: tkl.Memory[M, GLOBAL, tkl.u8]):
        tkw.write(tkl.Register[M, tkl.u8](-1), c)

    with pytest.raises(UserError, match="`-1` is not a value of element type `u8`"):
        kernel.trace({"M": 64})
