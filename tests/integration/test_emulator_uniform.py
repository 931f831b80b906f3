"""Values that are the same in all lanes: gfx12 computes them by scalar floats."""

from __future__ import annotations

import pytest
import torch

import wave_core.lang as tkl
from wave_core.compile import Config, Session, wave_compile

N = tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = [
    tkl.WorkgroupConstraint(N, 64, 0),
    tkl.WaveConstraint(N, 64),
    tkl.HardwareConstraint(),
]


@tkl.wave(CONSTRAINTS)
def halves(
    a: tkl.Memory[N, GLOBAL, tkl.f16],
    b: tkl.Memory[N, GLOBAL, tkl.f16],
    c: tkl.Memory[N, GLOBAL, tkl.f16],
):
    tkl.write(tkl.powf(tkl.read(a), tkl.read(b)), c)


@tkl.wave(CONSTRAINTS)
def singles(
    a: tkl.Memory[N, GLOBAL, tkl.f32],
    b: tkl.Memory[N, GLOBAL, tkl.f32],
    c: tkl.Memory[N, GLOBAL, tkl.f32],
):
    tkl.write(tkl.powf(tkl.read(a), tkl.read(b)), c)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("kernel", "dtype", "error"),
    [(halves, torch.float16, 2e-3), (singles, torch.float32, 1e-5)],
    ids=["f16", "f32"],
)
def test_powers_of_a_few_values(kernel, dtype, error, count):
    """One element is read by scalar loads; nothing beyond the buffers is."""
    session = Session(config=Config(cache=False), announce=lambda _: None)
    options = tkl.WaveCompileOptions(
        subs={N: count}, target="gfx1201", device="emulator", poison_outputs=True
    )
    bases = torch.tensor([1.7, 0.3, 2.5], dtype=dtype)[:count]
    powers = torch.tensor([-0.6, 1.9, 0.25], dtype=dtype)[:count]
    found = torch.empty_like(bases)
    wave_compile(options, kernel, session=session)(bases, powers, found)
    wanted = bases.double() ** powers.double()
    torch.testing.assert_close(found.double(), wanted, rtol=error, atol=0)
