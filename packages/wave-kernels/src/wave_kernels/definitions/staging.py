"""Where kernels read their operands from: left open to whoever compiles."""

from __future__ import annotations

import wave_core.lang as tkl
import wave_core.lang as tkw

ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

STAGING = tkw.Tunable(
    ADDRESS_SPACE, (tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE)
)
