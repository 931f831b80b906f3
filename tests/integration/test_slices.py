"""``extract_slice``: elements at equal distances along dims of a tile."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

sym = tkl.sym
M, N, K, S, T, AT = (getattr(sym, name) for name in ("M", "N", "K", "S", "T", "AT"))
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")
ROWS = [
    tkw.WorkgroupConstraint(M, 8, 0),
    tkw.WaveConstraint(M, 4),
    tkw.HardwareConstraint(threads_per_wave=64),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def built(session, kernel, where, *, dynamic=(), preset="default", **sizes):
    device, target = where
    options = tkl.WaveCompileOptions(
        subs={getattr(sym, name): size for name, size in sizes.items()},
        dynamic_symbols=dynamic,
        device=device,
        target=target,
        preset=preset,
    )
    return wave_compile(options, kernel, session=session)


def slicing(dtype, offset, stride):
    @tkw.wave(ROWS)
    def kernel(a: tkl.Memory[M, N, GLOBAL, dtype], b: tkl.Memory[M, S, GLOBAL, dtype]):
        tkw.write(tkw.extract_slice(tkw.read(a), [offset], [S], [stride]), b)

    return kernel


SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 65504.0], np.float32)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", ["f32", "f16", "i64", "bool", "u8"])
@pytest.mark.parametrize(
    ("m", "n", "s", "offset", "stride"),
    [(1, 1, 1, 0, 1), (9, 130, 65, 1, 2), (8, 64, 64, 0, 1), (5, 97, 13, 3, 7)],
)
def test_slices_of_rows(session, m, n, s, offset, stride, dtype, where):
    kind = getattr(tkl, dtype)
    rng = np.random.default_rng(n)
    if kind.is_float:
        a = rng.choice(np.append(SPECIAL, rng.standard_normal(9)), (m, n))
    else:
        a = rng.integers(0, 2 if kind.is_bool else 200, (m, n))
    a = a.astype(kind.numpy())
    b = np.zeros((m, s), a.dtype)
    built(session, slicing(kind, offset, stride), where, M=m, N=n, S=s)(a, b)
    assert b.tobytes() == a[:, offset : offset + stride * s : stride].tobytes()


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 4, 0),
        tkw.TilingConstraint(K, 4),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]
)
def halves(
    a: tkl.Memory[M, K, N, GLOBAL, tkl.f32],
    AT: tkl.SymbolBind[tkl.i32],
    b: tkl.Memory[M, T, S, GLOBAL, tkl.f32],
):
    """In a loop two dims of a sum cut at once, one of them from an argument on."""

    @tkw.iterate(K, init_args=[tkl.Register[M, T, S, tkl.f32](0.0)])
    def total(acc):
        rows = tkw.sum(tkw.read(a), dim=K)
        square = tkw.broadcast(rows, [M, T, N])
        turned = tkw.extract_slice(square, [1, sym.AT], [sym.U, S], [1, 3])
        part = tkw.sum(turned, dim=sym.U)
        return acc + tkw.broadcast(part, [M, T, S])

    tkw.write(total, b)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
def test_slices_in_loops(session, preset, where):
    sizes = {"M": 5, "K": 10, "N": 20, "T": 4, "U": 3, "S": 5}
    kernel = built(session, halves, where, preset=preset, **sizes)
    a = np.random.default_rng(0).integers(-9, 9, (5, 10, 20)).astype(np.float32)
    for at in (0, 7):
        b = np.full((5, 4, 5), np.nan, np.float32)
        kernel(a, at, b)
        wanted = 3 * a.sum(1)[:, at : at + 13 : 3]
        np.testing.assert_array_equal(b, np.broadcast_to(wanted[:, None], b.shape))
        assert kernel.last_run.reports == ()


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
def test_slices_into_products(session, preset, where):
    """Even columns of one operand times all of the other."""
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.HardwareConstraint(mma_type=tkw.MMAType.F32_16x16x16_F16),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        w: tkl.Memory[N, S, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        even = tkw.extract_slice(tkw.read(a), [0], [S], [2])
        acc = tkl.Register[M, N, tkl.f32](0.0)
        tkw.write(tkw.mma(even, tkw.read(w), acc), c)

    rng = np.random.default_rng(0)
    m, n, k, s = 17, 20, 37, 19
    a, w = (rng.integers(-4, 5, x).astype(np.float16) for x in ((m, k), (n, s)))
    c = np.full((m, n), np.nan, np.float32)
    built(session, kernel, where, preset=preset, M=m, N=n, K=k, S=s)(a, w, c)
    np.testing.assert_array_equal(c, a[:, ::2].astype(float) @ w.T.astype(float))
