"""Products of which a dimension has no elements, on the grid or within a tile."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

B, M, N, K = tkl.sym.B, tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = [(2, 5, 7, 0), (2, 5, 0, 7), (2, 0, 5, 7), (0, 5, 5, 7), (0, 0, 0, 0)]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def product(*, summed):
    """``c = a b^T``, or its sums along N, where only M is on the grid."""
    dims = (B, M) if summed else (B, M, N)

    @tkw.wave([tkw.WorkgroupConstraint(M, 32, 0), tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[B, M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[B, N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[*dims, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[B, M, N, tkl.f32](0.0)
        found = tkw.mma(tkw.read(a), tkw.read(b), zero)
        tkw.write(tkw.sum(found, dim=N) if summed else found, c)

    return kernel


@pytest.mark.parametrize("device", ["sim-logical", "sim"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("summed", [False, True])
def test_what_is_left_is_right(session, summed, sizes, device):
    count, m, n, k = sizes
    options = tkl.WaveCompileOptions(
        subs=dict(zip((B, M, N, K), sizes, strict=True)), target="gfx942", device=device
    )
    rng = np.random.default_rng(0)
    a = rng.integers(-2, 3, (count, m, k)).astype(np.float16)
    b = rng.integers(-2, 3, (count, n, k)).astype(np.float16)
    wanted = a.astype(np.float32) @ b.astype(np.float32).swapaxes(1, 2)
    if summed:
        wanted = wanted.sum(2)
    c = np.full(wanted.shape, np.nan, np.float32)
    wave_compile(options, product(summed=summed), session=session)(a, b, c)
    np.testing.assert_array_equal(c, wanted)
