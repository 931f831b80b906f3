"""The pass on emitted MLIR: what it drops, and that the kernel stays right."""

from __future__ import annotations

import pytest
import torch

import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.compile.emission import emit

N = tkw.sym.N


def product_with(factor, dtype):
    @tkw.wave([tkw.WorkgroupConstraint(N, 128, 0), tkw.HardwareConstraint()])
    def product(
        a: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, dtype],
        b: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, dtype],
    ):
        tkw.write(tkw.read(a) * tkw.Register[N, dtype](factor), b)

    return product


def products_in(kernel, disabled=()):
    session = Session(config=Config(cache=False, disabled_plugins=disabled))
    options = WaveCompileOptions(subs={N: 200}, target="gfx942")
    (text,) = emit(options, kernel, "mlir", session).files.values()
    return text.decode().count("arith.mulf")


@pytest.mark.parametrize("dtype", [tkw.f32, tkw.f16])
def test_products_with_one_are_dropped(dtype):
    assert products_in(product_with(1.0, dtype)) == 0
    assert products_in(product_with(1.0, dtype), ("example",)) == 1
    assert products_in(product_with(3.0, dtype)) == 1


@pytest.mark.parametrize("factor", [1.0, -0.5])
def test_the_kernel_stays_right(factor):
    special = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0])
    a = torch.cat((special, torch.randn(195)))
    b = torch.full_like(a, 7)
    options = WaveCompileOptions(subs={N: 200}, target="gfx942", device="emulator")
    wave_compile(options, product_with(factor, tkw.f32))(a, b)
    torch.testing.assert_close(b, a * factor, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(b.signbit()[1:], (a * factor).signbit()[1:])
