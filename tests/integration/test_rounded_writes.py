"""Floats that are written to a memory of other floats: rounded to nearest even."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError

M = tkl.sym.M
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = [
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
]
SPECIAL = [
    *(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.5, 65504.0, -65504.0),
    *(65519.0, 65520.0, -65520.0, 1e30, -3e38, 2**-14, 2**-24, 2**-25, 3 * 2**-26),
    # Halfway between neighbours of f16, of bf16, and beside it.
    *(1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-23, 1 + 2**-11 - 2**-23),
    *(1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-23, -(1 + 2**-8)),
]
PAIRS = [("f32", "f16"), ("f32", "bf16"), ("f16", "f32"), ("f16", "bf16")]
TORCH = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def copy(source, target):
    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[M, GLOBAL, source],
        b: tkl.Memory[M, GLOBAL, target],
    ):
        tkw.write(tkw.read(a), b)

    return kernel


@pytest.mark.parametrize(("device", "target"), DEVICES)
@pytest.mark.parametrize(("source", "result"), PAIRS)
def test_a_write_rounds_as_torch_does(session, source, result, device, target):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 200, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        values = np.concatenate([np.float32(SPECIAL), bits])
    a = torch.from_numpy(values).to(TORCH[source])
    b = torch.full((len(a),), 7.0, dtype=TORCH[result])
    kernel = copy(getattr(tkl, source), getattr(tkl, result))
    options = tkl.WaveCompileOptions(subs={M: len(a)}, device=device, target=target)
    wave_compile(options, kernel, session=session)(a, b)
    wanted = a.to(TORCH[result])
    assert torch.equal(b.isnan(), wanted.isnan())
    numbers = ~wanted.isnan()
    assert torch.equal(
        b[numbers].view(TORCH[result]).double(), wanted[numbers].double()
    )
    assert torch.equal(b[numbers].signbit(), wanted[numbers].signbit())


@pytest.mark.parametrize(("source", "result"), [("i32", "f32"), ("f32", "i32")])
def test_integers_and_floats_do_not_mix(source, result):
    with pytest.raises(UserError, match="`write` of") as caught:
        copy(getattr(tkl, source), getattr(tkl, result)).trace()
    assert caught.value.code == "WV0204"
