"""Tiles of a loop's dim are values behind the loop too: both simulators agree."""

from __future__ import annotations

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.TilingConstraint(K, 32),
        tkw.HardwareConstraint(),
    ]
)
def last_products(
    a: tkl.Memory[M, K, GLOBAL, tkl.f16],
    b: tkl.Memory[N, K, GLOBAL, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    most: tkl.Memory[M, GLOBAL, tkl.f16],
):
    """The product of the last tiles, and the greatest of the last tile of ``a``."""
    start = [tkl.Register[M, K, tkl.f16](1.0), tkl.Register[N, K, tkl.f16](1.0)]

    @tkw.iterate(K, init_args=start)
    def tiles(x: tkl.Register[M, K, tkl.f16], y: tkl.Register[N, K, tkl.f16]):
        return tkw.read(a), tkw.read(b)

    x, y = tiles
    tkw.write(tkw.mma(x, y, tkl.Register[M, N, tkl.f32](0.0)), c)
    tkw.write(tkw.max(x, dim=K), most)


@pytest.mark.parametrize("device", ["sim", "sim-logical"])
@pytest.mark.parametrize("size", [32, 64, 96])
def test_they_have_the_elements_of_a_turn(device, size):
    options = tkw.WaveCompileOptions(subs={M: 18, N: 15, K: size}, device=device)
    session = Session(config=Config(cache=False), announce=lambda _: None)
    kernel = wave_compile(options, last_products, session=session)
    a, b = (torch.randint(-9, 9, (rows, size)).half() for rows in (18, 15))
    c, most = torch.empty(18, 15), torch.empty(18).half()
    kernel(a, b, c, most)
    x, y = a[:, size - 32 :], b[:, size - 32 :]
    assert torch.equal(c, x.float() @ y.float().T)
    assert torch.equal(most, x.amax(1))
