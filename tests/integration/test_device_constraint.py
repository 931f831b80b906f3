"""Kernels spread over devices: machine code computes every part, as simulators do."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

M, N = tkw.sym.M, tkw.sym.N
PART_M, PART_N = tkw.sym.PART_M, tkw.sym.PART_N
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE


@tkw.wave(
    [
        tkw.HardwareConstraint(threads_per_wave=64),
        tkw.DeviceConstraint(M, PART_M, 0),
        tkw.DeviceConstraint(N, PART_N, 1),
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
    ]
)
def shifted(a: tkw.Memory[M, N, GLOBAL, tkw.f32], b: tkw.Memory[M, N, GLOBAL, tkw.f32]):
    tkw.write(tkw.read(a) + 1.0, b)


@pytest.mark.covering(2)
@pytest.mark.parametrize("device", ["sim-logical", "sim", "emulator"])
@pytest.mark.parametrize(
    ("sizes", "parts"),
    [((64, 128), (32, 128)), ((64, 128), (16, 64)), ((70, 100), (32, 64))],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_every_part_is_computed(device, sizes, parts, dynamic):
    shape = {} if dynamic else dict(zip((M, N), sizes, strict=True))
    options = tkw.WaveCompileOptions(
        subs={**shape, PART_M: parts[0], PART_N: parts[1]},
        dynamic_symbols=[M, N] if dynamic else [],
        target="gfx942",
        device=device,
        poison_outputs=True,
    )
    kernel = wave_compile(options, shifted, session=Session(config=Config(cache=False)))
    a = np.random.default_rng(0).standard_normal(sizes).astype(np.float32)
    b = np.full(sizes, np.nan, np.float32)
    kernel(a, b)
    np.testing.assert_array_equal(b, a + np.float32(1))
