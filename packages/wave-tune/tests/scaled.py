"""A kernel whose author declares what may be tried, and one with nothing open."""

from __future__ import annotations

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_tune import wave_autotune

M, N, BLOCK = tkl.sym.M, tkl.sym.N, tkl.sym.BLOCK


@wave_autotune({BLOCK: (1, 4)})
@tkw.wave([tkw.WorkgroupConstraint(M, BLOCK, 0), tkw.HardwareConstraint()])
def scaled(
    a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    b: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    row = tkw.read(a)
    tkw.write(row * tkw.broadcast(tkw.max(row, dim=N), target_shape=[M, N]), b)


@tkw.wave([tkw.WorkgroupConstraint(M, 1, 0), tkw.HardwareConstraint()])
def settled(
    a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    tkw.write(tkw.read(a), a)
