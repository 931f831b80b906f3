"""Options about machine code on devices that run none: refused with a code."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session, wave_compile
from wave_core.diagnostics import UserError

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 16, N: 64}


@tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
def copy(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    tkw.write(tkw.read(a), b)


@pytest.mark.parametrize("device", ["sim", "sim-logical", "auto"])
@pytest.mark.parametrize(
    "option", ["override_mlir", "dump_intermediates", "dump_binaries"]
)
def test_devices_without_machine_code_refuse(tmp_path, device, option):
    given = {option: str(tmp_path)}
    options = tkw.WaveCompileOptions(
        subs=SIZES, target="gfx942", device=device, **given
    )
    with pytest.raises(UserError) as caught:
        wave_compile(options, copy, session=Session())
    name = "sim" if device == "auto" else device
    assert str(caught.value).splitlines()[0] == (
        f"error[WV0823]: option `{option}` is given, and device `{name}` runs no "
        "machine code"
    )
    assert "device='emulator' runs machine code on the CPU" in str(caught.value)
    assert not list(tmp_path.iterdir())
