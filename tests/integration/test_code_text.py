"""The code of a kernel as text, without a device that runs it."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError

M = tkl.sym.M
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


@tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
def double(a: tkl.Memory[M, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]):
    tkw.write(tkw.read(a) * 2, b)


@pytest.mark.parametrize(
    ("to_mlir", "wanted"), [(True, "gpu.block_id"), (False, "global_store")]
)
def test_code_is_mlir_or_assembly(to_mlir, wanted):
    options = tkl.WaveCompileOptions(
        subs={M: 64}, target="gfx942", compile_to_mlir=to_mlir
    )
    assert wanted in tkl.wave_compile(options, double).asm


def test_no_code_for_a_target_without_a_backend():
    kernel = tkl.wave_compile(tkl.WaveCompileOptions(subs={M: 64}), double)
    with pytest.raises(UserError) as caught:
        _ = kernel.asm
    assert caught.value.code == "WV0719"
