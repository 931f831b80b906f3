"""Updates of memory in one step, and moves between lanes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulated_kernels import compiled

import wave_core.lang as tkl
import wave_core.lang as tkw

N, B = tkl.sym.N, tkl.sym.B
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
BINS = 7
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
FUNCTIONS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
POINTS = [
    (name, dtype)
    for name in FUNCTIONS
    for dtype in NUMPY
    if not ("f" in dtype and name in {"and", "or", "xor"})
    and (name == "add" or dtype not in {"f16", "bf16"})
]


def updating(update, dtype, *, shared, scope="device"):
    """A kernel that updates bins by elements, and writes what it got back."""

    def combine(value, memory, bins):
        more = {"mapping": TO_BIN, "mapping_dynamic_vals": (bins,), "scope": scope}
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
        if not shared:
            tkw.write(combine(value, h, bins), o)
            return
        local = tkw.allocate((B,), (B,), dtype)
        tkw.write(tkw.read(h), local)
        tkw.write(combine(value, local, bins), o)
        tkw.write(tkw.read(local), h)

    return kernel


def given(dtype, count):
    """Bins, and values whose sums are exact in any order."""
    rng = np.random.default_rng(count)
    kind = NUMPY[dtype]
    bins = rng.integers(0, BINS, count).astype(np.int32)
    if "f" in dtype:
        most = 3 if "16" in dtype else 999
        values = rng.integers(-most, most, count).astype(kind)
        start = rng.integers(-most, most, BINS).astype(kind)
        return bins, values, start
    limits = np.iinfo(kind)
    ends = limits.min, limits.max
    values = rng.integers(*ends, count, dtype=kind, endpoint=True)
    return bins, values, rng.integers(*ends, BINS, dtype=kind, endpoint=True)


@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize(("name", "dtype"), POINTS, ids=lambda each: each)
def test_updates(name, dtype, shared):
    """Of 100 elements, so that 28 lanes of the tile have none."""
    update = getattr(tkw, f"atomic_{name}")
    kernel = updating(update, getattr(tkl, dtype), shared=shared)
    made = compiled(kernel, {N: 100, B: BINS})
    bins, values, before = given(dtype, 100)
    after, old = before.copy(), np.zeros_like(values)
    assert made.run(bins, values, after, old) == []
    wide = np.float64 if "16" in dtype else values.dtype
    for b in range(BINS):
        mine = values[bins == b].astype(wide)
        with np.errstate(over="ignore"):
            wanted = FUNCTIONS[name].reduce(
                mine, initial=before[b].astype(wide), dtype=wide
            )
        assert after[b].astype(wide) == wanted
        assert before[b] in old[bins == b]


@pytest.mark.parametrize("scope", ["workgroup", "device", "system"])
@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
def test_sums_that_a_chip_tries_again(shared, scope):
    """Of bf16 before sm_90: no plain load is among the updates, in any order."""
    kernel = updating(tkw.atomic_add, tkl.bf16, shared=shared, scope=scope)
    made = compiled(kernel, {N: 100, B: BINS}, "sm_80")
    assert made.count("atom.") == 2
    bins, values, before = given("bf16", 100)
    for order in (None, 1, 2, 3):
        after, old = before.copy(), np.zeros_like(values)
        assert made.run(bins, values, after, old, order=order) == []
        for b in range(BINS):
            mine = values[bins == b].astype(np.float64)
            assert after[b] == before[b].astype(np.float64) + mine.sum()
            assert before[b] in old[bins == b]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_nan_of_the_register_changes_no_extreme(dtype):
    kernel = updating(tkw.atomic_max, getattr(tkl, dtype), shared=False)
    made = compiled(kernel, {N: 100, B: BINS})
    bins, values, before = given(dtype, 100)
    values[::3] = np.nan
    after, old = before.copy(), np.zeros_like(values)
    made.run(bins, values, after, old)
    for b in range(BINS):
        mine = values[bins == b]
        assert after[b] == np.nanmax([*mine, before[b]])


@pytest.mark.parametrize("dtype", ["i32", "u64"])
def test_exchanges(dtype):
    """What goes in comes out once, or stays."""
    kernel = updating(tkw.atomic_xchg, getattr(tkl, dtype), shared=True)
    made = compiled(kernel, {N: 128, B: BINS})
    bins, values, before = given(dtype, 128)
    after, old = before.copy(), np.zeros_like(values)
    assert made.run(bins, values, after, old) == []
    for b in range(BINS):
        mine = bins == b
        left, right = [*old[mine], after[b]], [before[b], *values[mine]]
        assert sorted(left) == sorted(right)


def test_an_exchange_that_compares():
    kernel = updating(tkw.atomic_cas, tkl.i32, shared=False)
    made = compiled(kernel, {N: 128, B: BINS})
    bins, values, before = given("i32", 128)
    before[::2] = 3
    after, old = before.copy(), np.zeros_like(values)
    assert made.run(bins, values, after, old) == []
    for b in range(BINS):
        held = before[b] == 3
        assert after[b] in values[bins == b] if held else after[b] == before[b]


@pytest.mark.parametrize(
    ("scope", "words"), [("device", "atom"), ("system", "atom.relaxed.sys.global.add")]
)
def test_the_scope_is_in_the_instruction(scope, words):
    kernel = updating(tkw.atomic_add, tkl.f32, shared=False, scope=scope)
    made = compiled(kernel, {N: 128, B: BINS})
    assert made.count(words) == 2
    bins, values, before = given("f32", 128)
    after, old = before.copy(), np.zeros_like(values)
    assert made.run(bins, values, after, old) == []
    assert after.sum() == before.sum() + values.sum()


def shuffled(dtype, mode, offset, width):
    rows = [
        tkw.WorkgroupConstraint(N, 96, 0),
        tkw.WaveConstraint(N, 96),
        tkw.HardwareConstraint(vector_shapes={N: 96}),
    ]
    kind = getattr(tkl, dtype)

    @tkw.wave(rows)
    def kernel(a: tkl.Memory[N, GLOBAL, kind], c: tkl.Memory[N, GLOBAL, kind]):
        value = tkw.read(a, elements_per_thread=3)
        moved = tkw.shuffle(value, offset, width, mode)
        tkw.write(moved, c, elements_per_thread=3)

    return kernel


SHUFFLED = {
    **{name: NUMPY[name] for name in ("f16", "f32", "f64", "i64")},
    "i8": np.int8,
}
SHUFFLES = [
    *((tkw.ShuffleMode.XOR, offset, 32) for offset in (1, 2, 16)),
    *((mode, 3, 8) for mode in (tkw.ShuffleMode.UP, tkw.ShuffleMode.DOWN)),
    (tkw.ShuffleMode.IDX, 5, 8),
    (tkw.ShuffleMode.XOR, 16, 8),
]


@pytest.mark.parametrize("dtype", SHUFFLED)
@pytest.mark.parametrize(("mode", "offset", "width"), SHUFFLES)
def test_shuffles(dtype, mode, offset, width):
    """Three elements of a lane, which fill no whole number of words."""
    made = compiled(shuffled(dtype, mode, offset, width), {N: 96})
    a = np.arange(96).astype(SHUFFLED[dtype])
    c, again = np.zeros_like(a), np.zeros_like(a)
    assert made.run(a, c) == []
    made.kernel(a, again)
    np.testing.assert_array_equal(c, again)
    assert (c != 0).any()
