"""WV06: lowering to a backend; those of one backend are declared by its package."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

LOWERING_CODES = read_codes("""
WV0601: a backend has no lowering of an op
Cause: no rule of the backend matches the op with these types on this
target, or nothing says how the op is cut into pieces for the lanes.
Bad:
    tkw.scatter_add(x, i, M, buffer, mapping)     # on a backend without it
Good:
    tkw.atomic_add(x, memory)
Fix: use an op that the backend's table lists, another target, or install a
plugin that lowers it.

WV0604: the code generator of the backend refused the kernel
Cause: a tool below Wave, such as the assembler or the LLVM code generator,
reported an error. Too many registers is the usual one.
Bad:
    WaveConstraint(M, 256); WaveConstraint(N, 256)    # 1024 registers a lane
Good:
    WaveConstraint(M, 64); WaveConstraint(N, 64)
Fix: the notes hold the tool's message. Smaller wave tiles need fewer
registers.

WV0605: a kernel needs more than the chip has: LDS, registers, or workgroups
Cause: the buffers of a workgroup, the values that live across a loop or a
barrier, or the workgroups of the grid do not fit the target.
Bad:
    WaveConstraint(M, 256); WaveConstraint(N, 256)    # 1024 registers a lane
Good:
    WaveConstraint(M, 64); WaveConstraint(N, 64)
Fix: use smaller tiles, more waves, or fewer buffers; the message names the
largest buffers and values.

WV0606: the compiler of the backend crashed or reached a limit
Cause: the compiler below Wave ended without an answer: it crashed, took
longer than its time limit, or needed more memory than its limit. It runs in
a process of its own, so nothing else is lost.
Bad:
    WaveCompileOptions(plugin_options={"compiler_time_limit_s": 1})
Good:
    WaveCompileOptions(plugin_options={"compiler_time_limit_s": 600})
Fix: after a limit, raise it or use smaller tiles. After a crash, try another
tile, schedule or preset, and report it with the input that the notes name.

WV0608: machine code keeps values in memory that do not fit its registers
Cause: a lane needs more registers than it can have, so the compiler writes some
to memory and reads them back. Waves of a workgroup that run at once on one SIMD
share its registers.
Bad:
    WaveConstraint(M, 128); WaveConstraint(N, 256)    # 512 values of a lane
Good:
    WaveConstraint(M, 64); WaveConstraint(N, 64)
Fix: this is a warning: the code is right, and slower than it could be. Split
the tile among more waves, or use smaller tiles or fewer stages.
""")
