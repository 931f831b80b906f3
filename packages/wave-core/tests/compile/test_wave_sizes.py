"""A product whose instruction is of waves that the kernel does not have."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K


def gemm(**hardware):
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.TilingConstraint(K, 16),
            tkw.HardwareConstraint(**hardware),
        ]
    )
    def product(
        a: tkl.Memory[M, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[M, N, tkl.f32]):
            return tkw.mma(tkw.read(a), tkw.read(b), acc, "F32_64x16x16_F16")

        tkw.write(repeat, c)

    return product


def test_an_instruction_of_other_waves_is_refused_at_the_product(make_session):
    options = tkw.WaveCompileOptions(
        subs={M: 64, N: 64, K: 64}, target="generic128", device="sim"
    )
    with pytest.raises(UserError, match="waves of 128 lanes") as raised:
        tkw.wave_compile(options, gemm(threads_per_wave=32), session=make_session())
    assert raised.value.code == "WV0702"
