"""Products of one row as machine code: what waves hold fits their registers."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
from wave_core.compile import Session, wave_compile
from wave_kernels.definitions.gemv import LONGEST, gated_gemv_kernel, gemv_kernel


@pytest.mark.parametrize("dtype", [tkl.bf16, tkl.f32])
@pytest.mark.parametrize("make", [gemv_kernel, gated_gemv_kernel])
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_80", "sm_90a"])
def test_nothing_spills_up_to_the_longest_row(target, make, dtype):
    session = Session(announce=lambda _: None)
    longest = LONGEST * 8 // dtype.bits
    for depth in (11_008, longest // 2, longest - 1, longest):
        sizes = {tkl.sym.M: 1, tkl.sym.N: 100, tkl.sym.K: depth}
        options = tkl.WaveCompileOptions(subs=sizes, target=target)
        kernel = wave_compile(options, make(dtype), session=session)
        assert kernel.warnings == ()
