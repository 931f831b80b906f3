"""Buffers in the bytes of others: ``allocate(parent=, offset=, tail_padding=)``."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

sym = tkl.sym
M, N, K, BLOCK_M, BLOCK_K = (
    getattr(sym, name) for name in ("M", "N", "K", "BLOCK_M", "BLOCK_K")
)
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")
i, j = (tkw.IndexMapping.iterator(n) for n in range(2))


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def built(session, kernel, where, preset="default", **sizes):
    device, target = where
    options = tkl.WaveCompileOptions(
        subs={getattr(sym, name): size for name, size in sizes.items()},
        device=device,
        target=target,
        preset=preset,
    )
    return wave_compile(options, kernel, session=session)


TURNED = tkw.IndexMapping(1, inputs={M: 127 - i}, outputs={M: i})


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 128, 0),
        tkw.WaveConstraint(M, 64),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]
)
def in_turns(
    a: tkl.Memory[M, GLOBAL, tkl.f32],
    b: tkl.Memory[M, GLOBAL, tkl.f16],
    c: tkl.Memory[M, GLOBAL, tkl.f32],
    d: tkl.Memory[M, GLOBAL, tkl.f16],
):
    """Two waves turn rows round in the same bytes, as one type and then as another."""
    pool = tkw.allocate((M,), (BLOCK_M * 4 + 32,), tkl.i8)
    wide = tkw.allocate((M,), (BLOCK_M,), tkl.f32, parent=pool, offset=16)
    small = tkw.allocate((M,), (BLOCK_M,), tkl.f16, parent=pool)
    beside = tkw.allocate((M,), (BLOCK_M,), tkl.f16, tail_padding=24)
    tkw.write(tkw.read(a), wide)
    tkw.write(tkw.read(wide, mapping=TURNED), c)
    tkw.write(tkw.read(b), small)
    tkw.write(tkw.read(small, mapping=TURNED), beside)
    tkw.write(tkw.read(beside, mapping=TURNED) + tkw.read(small), d)


@pytest.mark.parametrize("where", DEVICES)
def test_views_take_turns(session, where):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(128).astype("f4"), rng.standard_normal(128).astype("f2")
    c, d = np.full_like(a, np.nan), np.full_like(b, np.nan)
    kernel = built(session, in_turns, where, M=128, BLOCK_M=128)
    kernel(a, b, c, d)
    np.testing.assert_array_equal(c, a[::-1])
    np.testing.assert_array_equal(d, b + b)
    assert kernel.last_run.reports == ()


def test_views_take_the_room_of_their_parent(session):
    kernel = built(session, in_turns, DEVICES[2], M=128, BLOCK_M=128)
    # 16 bytes before the f32, which end the pool; the f16 beside with their padding.
    found = [
        line for line in kernel.asm.splitlines() if "group_segment_fixed_size" in line
    ]
    assert {int(line.split()[-1]) for line in found} == {16 + 512 + 256 + 48}


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16),
    ]
)
def product(
    a: tkl.Memory[M, K, GLOBAL, tkl.f16],
    b: tkl.Memory[N, K, GLOBAL, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    """Operands and, after the loop, the result in the same bytes."""
    pool = tkw.allocate((K,), (4096,), tkl.i8)
    lhs = tkw.allocate((M, K), (32, BLOCK_K), tkl.f16, parent=pool)
    rhs = tkw.allocate((N, K), (32, BLOCK_K), tkl.f16, parent=pool, offset=BLOCK_K * 64)
    out = tkw.allocate((N, M), (32, 32), tkl.f32, parent=pool, offset=0)

    @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
    def total(acc):
        tkw.write(tkw.read(a), lhs)
        tkw.write(tkw.read(b), rhs)
        return tkw.mma(tkw.read(lhs), tkw.read(rhs), acc)

    tkw.write(tkw.permute(total, [N, M]), out)
    tkw.write(tkw.permute(tkw.read(out), [M, N]), c)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_product_in_one_pool(session, preset, where):
    for m, n, k in ((33, 40, 72), (1, 31, 5)):
        rng = np.random.default_rng(m)
        a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (n, k)))
        c = np.full((m, n), np.nan, np.float32)
        kernel = built(session, product, where, preset, M=m, N=n, K=k, BLOCK_K=16)
        kernel(a, b, c)
        np.testing.assert_array_equal(c, a.astype(float) @ b.T.astype(float))
        assert kernel.last_run.reports == ()
