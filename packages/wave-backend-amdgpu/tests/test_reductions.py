"""Reductions in machine code: what they cost a lane, and what they give."""

from __future__ import annotations

import re

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_emulator_amdgcn import emulate, load

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROWS = [
    tkw.WorkgroupConstraint(M, 1, 0),
    tkw.HardwareConstraint(vector_shapes={M: 1, N: N}),
    tkw.FastMath(maxima_drop_nan=True),
]
REDUCTIONS = {"sum": torch.sum, "max": torch.amax, "min": torch.amin}


def kernel_of(kind):
    reduced = getattr(tkw, kind)

    @tkw.wave(ROWS)
    def reduction(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]
    ):
        tkw.write(reduced(tkw.read(a), dim=N), b)

    return reduction


def instructions(text, pattern):
    return len(re.findall(rf"^\s+{pattern}", text, re.MULTILINE))


@pytest.mark.parametrize("kind", ["max", "min"])
def test_one_instruction_takes_two_registers_into_an_extreme(emitted, kind):
    text = emitted(kernel_of(kind), "asm", subs={M: 4, N: 64 * 32})
    three, two = (instructions(text, f"v_{kind}{form}f32") for form in ("3_", "_"))
    assert 2 * three + two == 31 + 6, "32 registers of a lane, then six exchanges"
    assert two <= 1 + 6


def test_sums_add_pairs_of_registers(emitted):
    text = emitted(kernel_of("sum"), "asm", subs={M: 4, N: 64 * 32})
    pairs, single = (instructions(text, f"v_{name}_f32") for name in ("pk_add", "add"))
    assert 2 * pairs + single == 31 + 6
    assert single <= 1 + 6


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_partners_of_a_butterfly_come_together(emitted, kind):
    text = emitted(kernel_of(kind), "asm", "gfx950", {M: 4, N: 64})
    assert instructions(text, "v_permlane(16|32)_swap_b32") == 2
    assert instructions(text, "v_cndmask_b32") == 1, "of the write alone"


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("size", [1, 61, 128, 65 * 16, 64 * 11])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions_of_rows(emitted, kind, size, target):
    rng = torch.Generator().manual_seed(size)
    a, b = torch.randn(4, size, generator=rng), torch.zeros(4)
    sizes = {M: 4, N: size}
    code = emitted.files(kernel_of(kind), "hsaco", target, sizes)["code.hsaco"]
    emulate(load(code), [t.view(torch.uint8).numpy() for t in (a, b)], grid=(4, 1, 1))
    wanted = REDUCTIONS[kind](a.double(), 1)
    torch.testing.assert_close(b.double(), wanted, rtol=1e-6, atol=1e-6 * size)
