"""``flags=`` of reads and writes: volatile and nontemporal, in code and in passes."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

sym = tkl.sym
M, N, K = sym.M, sym.N, sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
FLAGS = tkw.MemoryAccessFlags
NONE, VOLATILE, NONTEMPORAL = FLAGS.NONE, FLAGS.VOLATILE, FLAGS.NONTEMPORAL
PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")
ROWS = [tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def built(session, kernel, sizes, **options):
    given = tkl.WaveCompileOptions(subs=sizes, **options)
    return wave_compile(given, kernel, session=session)


def copying(flags, dtype=tkl.f32, *, lds=False):
    @tkw.wave(ROWS)
    def kernel(a: tkl.Memory[M, N, GLOBAL, dtype], b: tkl.Memory[M, N, GLOBAL, dtype]):
        value = tkw.read(a, flags=flags)
        if lds:
            tile = tkw.allocate((M, N), (64, N), dtype)
            tkw.write(value, tile, flags=flags)
            value = tkw.read(tile, flags=flags)
        tkw.write(value, b, flags=flags)

    return kernel


FLAG_BITS = re.compile(r"\b(?:[gsd]lc|sc[01]|nt|scope:\w+|th:\w+)\b")
BITS = {
    # What the machine's memory model asks of volatile and of streaming accesses.
    "gfx90a": (("glc", ""), ("glc slc", "glc slc")),
    "gfx942": (("sc0 sc1", "sc0 sc1"), ("nt", "nt")),
    "gfx950": (("sc0 sc1", "sc0 sc1"), ("nt", "nt")),
    "gfx1100": (("glc dlc", "dlc"), ("slc dlc", "glc slc dlc")),
    "gfx1201": (("scope:SCOPE_SYS",) * 2, ("th:TH_LOAD_NT", "th:TH_STORE_NT")),
}
"""By chip: the bits of a load and a store that are volatile, and nontemporal."""


@pytest.mark.covering(1)
@pytest.mark.parametrize("buffers", [False, True])
@pytest.mark.parametrize("target", BITS)
def test_bits_of_instructions(session, target, buffers):
    for flags, (load, store) in zip(
        (VOLATILE, NONTEMPORAL, NONE), (*BITS[target], ("", "")), strict=True
    ):
        options = {"target": target, "device": "emulator", "use_buffer_ops": buffers}
        kernel = built(session, copying(flags), {M: 64, N: 4}, **options)
        a = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float32)
        b = np.full_like(a, np.nan)
        kernel(a, b)
        np.testing.assert_array_equal(a, b)
        found = {"load": set(), "store": set()}
        for line in kernel.asm.splitlines():
            moved = re.match(r"\s+(?:global|buffer)_(load|store)_\w+ (.*)", line)
            if moved:
                found[moved[1]].add(" ".join(FLAG_BITS.findall(moved[2])))
        assert found == {"load": {load}, "store": {store}}


DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "i8": np.int8,
    "u16": np.uint16,
    "i64": np.int64,
    "bool": np.bool_,
}


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "flags", [VOLATILE, NONTEMPORAL, VOLATILE | NONTEMPORAL], ids=str
)
@pytest.mark.parametrize("name", DTYPES)
def test_values(session, name, flags):
    """Each type through registers and LDS, where tiles hang over the edge."""
    kernel = copying(flags, getattr(tkl, name), lds=True)
    for device, target in (
        ("sim-logical", "gfx942"),
        ("sim", "gfx942"),
        ("emulator", "gfx942"),
    ):
        for n in (3, 8):
            a = np.random.default_rng(n).integers(0, 2, (70, n)).astype(DTYPES[name])
            b = np.zeros_like(a)
            built(session, kernel, {M: 70, N: n}, device=device, target=target)(a, b)
            np.testing.assert_array_equal(a, b)


def repeated(flags):
    """In each iteration the same element is read twice, and once for nothing."""

    @tkw.wave([*ROWS, tkw.TilingConstraint(K, 1)])
    def kernel(
        a: tkl.Memory[M, GLOBAL, tkl.f32],
        k: tkl.Memory[K, GLOBAL, tkl.f32],
        b: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, tkl.f32](0.0)])
        def total(acc):
            tkw.read(a, flags=flags)
            return acc + tkw.read(a, flags=flags) * tkw.read(a, flags=flags)

        tkw.write(total, b)

    return kernel


@pytest.mark.parametrize("preset", PRESETS)
def test_volatile_reads_are_done_as_often_as_written(session, preset):
    a = np.arange(64, dtype=np.float32)
    counts = []
    for flags in (NONE, VOLATILE):
        options = {"target": "gfx942", "device": "sim", "preset": preset}
        kernel = built(session, repeated(flags), {M: 64, K: 5}, **options)
        b = np.full_like(a, np.nan)
        kernel(a, np.zeros(5, np.float32), b)
        np.testing.assert_array_equal(b, 5 * a * a)
        counts.append(kernel.last_run.result.counters.instructions)
    assert [each["global_read.b32"] for each in counts] == [1, 3 * 5]


@pytest.mark.covering(1)
@pytest.mark.parametrize("flags", [VOLATILE, NONTEMPORAL], ids=str)
@pytest.mark.parametrize("preset", PRESETS)
def test_products_of_flagged_reads(session, preset, flags):
    """A pipelined loop, in which one operand is staged and one is flagged."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 32, 0),
            tkw.WorkgroupConstraint(N, 32, 1),
            tkw.TilingConstraint(K, 16),
            tkw.WaveConstraint(M, 16),
            tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def total(acc):
            return tkw.mma(tkw.read(a), tkw.read(b, flags=flags), acc)

        tkw.write(total, c, flags=flags)

    m, n, k = 33, 40, 72
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (n, k)))
    for device in ("sim", "emulator"):
        options = {"target": "gfx942", "device": device, "preset": preset}
        c = np.full((m, n), np.nan, np.float32)
        built(session, kernel, {M: m, N: n, K: k}, **options)(a, b, c)
        np.testing.assert_array_equal(c, a.astype(float) @ b.T.astype(float))
