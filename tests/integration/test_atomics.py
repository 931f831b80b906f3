"""Atomics against sums in Python's integers and in f64, on every device."""

from __future__ import annotations

import histogram
import ml_dtypes
import numpy as np
import pytest
import splitk
import torch
from machine_code import compiled

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import SimulationError, UserError

M, N, B = tkl.sym.M, tkl.sym.N, tkl.sym.B
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    *(("emulator", chip) for chip in ("gfx942", "gfx950", "gfx1201")),
)
ROWS = [
    tkw.WorkgroupConstraint(N, 128, 0),
    tkw.WaveConstraint(N, 64),
    tkw.HardwareConstraint(vector_shapes={N: 64}),
]
TO_BIN = tkw.IndexMapping(
    1,
    inputs={N: tkw.IndexMapping.iterator(0)},
    outputs={B: tkw.IndexMapping.dynamic_val(0)},
    dynamic_val_mappings={N: tkw.IndexMapping.iterator(0)},
)
BINS = 7


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, where, *arrays, preset=None, dynamic=(), **sizes):
    device, target = where
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    given = {} if preset is None else {"preset": preset}
    given["dynamic_symbols"] = dynamic
    options = tkl.WaveCompileOptions(subs=subs, target=target, device=device, **given)
    made = wave_compile(options, kernel, session=session)
    made(*arrays)
    return made


def updating(update, dtype, *, lds=False):
    """A kernel that updates bins by elements, and writes what it got back."""

    def combine(value, memory, bins):
        more = {"mapping": TO_BIN, "mapping_dynamic_vals": (bins,)}
        if update is tkw.atomic_cas:
            more["expected"] = tkl.Register[N, dtype](3)
        return update(value, memory, **more)

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[N, GLOBAL, tkl.i32],
        x: tkl.Memory[N, GLOBAL, dtype],
        h: tkl.Memory[B, GLOBAL, dtype],
        o: tkl.Memory[N, GLOBAL, dtype],
    ):
        bins, value = tkw.read(a), tkw.read(x)
        if not lds:
            tkw.write(combine(value, h, bins), o)
            return
        local = tkw.allocate((B,), (B,), dtype)
        tkw.write(tkw.read(h), local)
        tkw.write(combine(value, local, bins), o)
        tkw.write(tkw.read(local), h)

    return kernel


FUNCTIONS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
}
POINTS = [
    (name, dtype)
    for name in (*FUNCTIONS, "xchg", "cas")
    for dtype in NUMPY
    if not ("f" in dtype and name in {"and", "or", "xor", "cas"})
    and (name == "add" or dtype not in {"f16", "bf16"})
]


def numbers(rng, dtype, count):
    """Numbers whose sums are exact, and all bits for integers."""
    kind = NUMPY[dtype]
    if "f" in dtype:
        most = 3 if "16" in dtype else 999
        return rng.integers(-most, most, count).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, count, dtype=kind, endpoint=True)


def check(name, a, x, before, h, o):
    """The bins, and that each element saw a state that some order leads through."""
    if x.dtype.itemsize == 2:
        x, before, h, o = (each.astype(np.float64) for each in (x, before, h, o))
    for b in range(BINS):
        mine, old = x[a == b], o[a == b]
        if name in FUNCTIONS:
            with np.errstate(over="ignore"):
                want = FUNCTIONS[name].reduce(mine, initial=before[b], dtype=x.dtype)
            assert h[b] == want
        elif name == "xchg":
            # Each value is put in once and taken out once, or left.
            left, right = [*old, h[b]], [before[b], *mine]
            assert sorted(left) == sorted(right)
        else:
            held = before[b] == 3
            assert h[b] == before[b] if not (held and mine.size) else h[b] in mine
            assert held == bool((old == 3).any()) or not mine.size or 3 in mine
        if name in {"min", "max"}:
            assert (FUNCTIONS[name](old, h[b]) == h[b]).all()
        if mine.size and name in FUNCTIONS:
            assert before[b] in old


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("lds", [False, True], ids=["global", "lds"])
@pytest.mark.parametrize(("name", "dtype"), POINTS, ids="-".join)
def test_updates(session, where, name, dtype, lds):
    rng = np.random.default_rng([len(name), ord(name[0]), len(dtype), lds])
    kernel = updating(getattr(tkw, f"atomic_{name}"), getattr(tkl, dtype), lds=lds)
    n = 100 if lds else 331
    a = rng.integers(0, BINS, n).astype(np.int32)
    x, before = numbers(rng, dtype, n), numbers(rng, dtype, BINS)
    if name == "cas":
        before[::2] = 3
    h, o = before.copy(), np.full(n, 77, x.dtype)
    made = launch(session, kernel, where, a, x, h, o, N=n, B=BINS)
    check(name, a, x, before, h, o)
    assert not made.last_run.reports


PRESETS = (
    "auto",
    *("default", "fetch-ahead", "four-stage", "modulo", "naive", "pingpong"),
    *("prefetch", "prefetch-attention"),
)
CDNA = tuple(w for w in DEVICES if w[1] in {"gfx942", "gfx950"})
TILES = (1, 31, 127, 128, 129, 300)


def test_every_preset_is_tested(session):
    assert set(PRESETS) == set(session.plugins.presets)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", CDNA, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kernel", [histogram.scattered, histogram.privatised])
def test_histogram(session, where, preset, kernel):
    device, target = where
    given = {"device": device, "target": target, "preset": preset, "session": session}
    for n in TILES if preset == "default" else (129, 300):
        made, arguments, expected = histogram.build(kernel, n=n, **given)
        made(*arguments)
        assert torch.equal(arguments[-1], expected)
        assert not made.last_run.reports


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", CDNA, ids="-".join)
@pytest.mark.parametrize("space", [tkl.GLOBAL_MEMORY, tkl.SHARED_MEMORY])
@pytest.mark.parametrize("preset", PRESETS)
def test_split_sums(session, where, preset, space):
    device, target = where
    given = {"device": device, "target": target, "preset": preset, "session": session}
    for m, n, k in ((33, 31, 160), (32, 32, 256)):
        made, arguments, expected = splitk.build(m, n, k, space=space, **given)
        made(*arguments)
        assert torch.equal(arguments[-1], expected)
        assert not made.last_run.reports


T = tkl.sym.T


def ticket(waves):
    """Each workgroup draws a number and writes it to its rows."""
    rows = ROWS if waves == 2 else [*ROWS[:1], *ROWS[2:]]

    @tkw.wave(rows)
    def kernel(
        count: tkl.Memory[T, GLOBAL, tkl.i32], o: tkl.Memory[N, T, GLOBAL, tkl.i32]
    ):
        drawn = tkw.atomic_add(tkl.Register[T, tkl.i32](1), count)
        tkw.write(tkw.broadcast(drawn, [N, T]), o)

    return kernel


@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("waves", [1, 2])
@pytest.mark.parametrize("t", [1, 3])
def test_what_lanes_and_waves_share_counts_once(session, where, waves, t):
    n = 300
    count, o = np.full(t, 5, np.int32), np.zeros((n, t), np.int32)
    launch(session, ticket(waves), where, count, o, N=n, T=t)
    groups = -(-n // 128)
    assert (count == 5 + groups).all()
    for column in o.T:
        drawn = [set(column[g * 128 : (g + 1) * 128]) for g in range(groups)]
        assert all(len(each) == 1 for each in drawn)
        assert {*range(5, 5 + groups)} == set.union(*drawn)


@pytest.mark.parametrize("where", DEVICES[1:3], ids="-".join)
def test_a_plain_write_races_with_an_atomic(session, where):
    @tkw.wave(ROWS)
    def kernel(a: tkl.Memory[N, GLOBAL, tkl.i32], h: tkl.Memory[B, GLOBAL, tkl.i32]):
        bins, ones = tkw.read(a), tkl.Register[N, tkl.i32](1)
        tkw.atomic_add(ones, h, mapping=TO_BIN, mapping_dynamic_vals=(bins,))
        tkw.write(ones, h, mapping=TO_BIN, mapping_dynamic_vals=(bins,))

    a = np.arange(300, dtype=np.int32) % BINS
    with pytest.raises(SimulationError) as caught:
        launch(session, kernel, where, a, np.zeros(BINS, np.int32), N=300, B=BINS)
    assert "WV0901" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "dtype", "listed"),
    [
        ("add", "i8", "f16, bf16, f32, f64, i32, u32, i64, u64"),
        ("min", "f16", "f32, f64, i32, u32, i64, u64"),
        ("or", "f32", "i32, u32, i64, u64"),
        ("cas", "i8", "i32, u32, i64, u64"),
    ],
)
def test_other_element_types_are_refused(session, name, dtype, listed):
    kernel = updating(getattr(tkw, f"atomic_{name}"), getattr(tkl, dtype))
    with pytest.raises(UserError) as caught:
        launch(session, kernel, DEVICES[0], N=8, B=BINS)
    assert caught.value.code == "WV0234"
    text = str(caught.value)
    assert f"`atomic_{name}` has no form for {dtype}" in text
    assert "h: tkl.Memory[B, GLOBAL, dtype]" in text
    assert f"= help: its element types are {listed}" in text


def adding_rows(dtype):
    """The sum of all rows, each added by a workgroup of its own."""
    i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
    to_row = tkw.IndexMapping(2, inputs={M: i, N: j}, outputs={N: j})
    tiles = [tkw.WorkgroupConstraint(M, 1, 0), tkw.WorkgroupConstraint(N, 128, 1)]

    @tkw.wave([*tiles, tkw.HardwareConstraint()])
    def kernel(x: tkl.Memory[M, N, GLOBAL, dtype], total: tkl.Memory[N, GLOBAL, dtype]):
        tkw.atomic_add(tkw.read(x), total, mapping=to_row)

    return kernel


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize(
    ("n", "dynamic"),
    [(1, True), (2, False), (127, False), (127, True), (128, True), (129, False)],
)
def test_pairs_of_halves(session, where, dtype, n, dynamic):
    rng = np.random.default_rng(n)
    x, total = numbers(rng, dtype, 5 * n).reshape(5, n), numbers(rng, dtype, n)
    wanted = total.astype(np.float64) + x.astype(np.float64).sum(axis=0)
    sizes = {"M": 5} if dynamic else {"M": 5, "N": n}
    kernel, symbols = adding_rows(getattr(tkl, dtype)), [N] if dynamic else []
    launch(session, kernel, where, x, total, dynamic=symbols, **sizes)
    assert (total.astype(np.float64) == wanted).all()


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("lds", [False, True], ids=["global", "lds"])
def test_neighbours_of_halves(session, where, dtype, lds):
    """What nobody adds to keeps all its bits; infinities and NaN are added."""
    rng, n = np.random.default_rng(8), 100
    a = (2 * rng.integers(0, (BINS + 1) // 2, n)).astype(np.int32)
    x, h = numbers(rng, dtype, n), numbers(rng, dtype, BINS)
    odd = rng.integers(0, 1 << 16, BINS // 2).astype(np.uint16)
    odd[0] = 0x7F81 if dtype == "bf16" else 0x7C01  # a signalling NaN
    h.view(np.uint16)[1::2] = odd
    x[a == 0] = np.inf
    x[np.flatnonzero(a == 2)[:2]] = np.inf, -np.inf
    h[4] = np.nan
    before, o = h[6].astype(np.float64), np.zeros_like(x)
    kernel = updating(tkw.atomic_add, getattr(tkl, dtype), lds=lds)
    launch(session, kernel, where, a, x, h, o, N=n, B=BINS)
    assert (h.view(np.uint16)[1::2] == odd).all()
    wanted = [np.inf, np.nan, np.nan, before + x[a == 6].astype(np.float64).sum()]
    np.testing.assert_array_equal(h[::2].astype(np.float64), wanted)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_pairs_of_halves_are_one_instruction(session, dtype):
    kernel = adding_rows(getattr(tkl, dtype))
    for chip, found in (("gfx942", True), ("gfx950", True), ("gfx1100", False)):
        text = compiled(session, kernel, chip, subs={M: 5, N: 128})
        assert (f"global_atomic_pk_add_{dtype}" in text) == found
        assert ("cmpswap" in text) == (not found)
