"""0 is above -0: simulators and machine code agree on extremes, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

M, N = tkl.sym.M, tkl.sym.N
DTYPES = {
    "f64": (tkl.f64, torch.float64),
    "f32": (tkl.f32, torch.float32),
    "f16": (tkl.f16, torch.float16),
    "bf16": (tkl.bf16, torch.bfloat16),
}
WAYS = {
    "sim-logical": {"device": "sim-logical"},
    "sim": {"device": "sim"},
    "amdgpu": {"device": "emulator", "target": "gfx942"},
    "asm": {"device": "emulator", "target": "gfx942", "backend": "asm"},
    "nvgpu": {"device": "emulator", "target": "sm_90a"},
}
NUMBERS = (0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf"))


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def kernel_of(dtype):
    """Extremes of two registers, and along the rows of the first."""
    kind = tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, dtype]
    column = tkl.Memory[M, tkl.GLOBAL_ADDRESS_SPACE, dtype]

    @tkw.wave([tkw.WorkgroupConstraint(M, 1, 0), tkw.HardwareConstraint()])
    def extremes(
        a: kind, b: kind, most: kind, least: kind, top: column, bottom: column
    ):
        x, y = tkw.read(a), tkw.read(b)
        tkw.write(tkw.maximum(x, y), most)
        tkw.write(tkw.minimum(x, y), least)
        tkw.write(tkw.max(x, dim=N), top)
        tkw.write(tkw.min(x, dim=N), bottom)

    return extremes


def wanted(a, b, *, larger):
    """As IEEE 754-2019 has it: keys put the zeros in order."""
    key = a + np.copysign(1e-9, a) * (a == 0), b + np.copysign(1e-9, b) * (b == 0)
    found = np.where(key[0] >= key[1] if larger else key[0] <= key[1], a, b)
    return np.where(np.isnan(a) | np.isnan(b), np.nan, found)


def same(found, want):
    found = found.double().numpy()
    assert np.array_equal(found, want, equal_nan=True)
    numbers = ~np.isnan(want)
    assert (np.signbit(found) == np.signbit(want))[numbers].all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DTYPES)
def test_zeros_have_an_order(session, name, way):
    dtype, kind = DTYPES[name]
    pairs = np.array([(x, y) for x in NUMBERS for y in NUMBERS])
    rows = np.full((len(pairs), 70), np.nan)
    rows[:, ::2], rows[:, 1::2] = pairs[:, :1], pairs[:, 1:]
    a, b = torch.tensor(rows).to(kind), torch.tensor(np.roll(rows, 1, 1)).to(kind)
    shape = rows.shape
    outs = [torch.empty(shape, dtype=kind) for _ in range(2)]
    ends = [torch.empty(shape[:1], dtype=kind) for _ in range(2)]
    options = tkw.WaveCompileOptions(
        subs={M: shape[0], N: shape[1]}, preset="default", **WAYS[way]
    )
    wave_compile(options, kernel_of(dtype), session=session)(a, b, *outs, *ends)
    for larger, out, end in zip((True, False), outs, ends, strict=True):
        other = np.roll(rows, 1, 1)
        same(out, wanted(rows, other, larger=larger))
        same(end, wanted(pairs[:, 0], pairs[:, 1], larger=larger))
