"""WV0608: what the assembler makes of a kernel."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

CODES = read_codes("""
WV0608: machine code keeps values in memory that do not fit its registers
Cause: a thread needs more registers than it can have, so the assembler writes
some to local memory and reads them back. A thread has at most 255, and fewer
where a workgroup has more than 256 threads.
Bad:
    WaveConstraint(M, 128); WaveConstraint(N, 256)    # 1024 values of a lane
Good:
    WaveConstraint(M, 64); WaveConstraint(N, 64)
Fix: this is a warning: the code is right, and slower than it could be. Split
the tile among more waves, or use smaller tiles or fewer stages.
""")
