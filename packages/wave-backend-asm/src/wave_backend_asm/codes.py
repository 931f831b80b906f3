"""WV061x: what the assembly path refuses."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

CODES = read_codes("""
WV0610: the assembly path has no instructions for an op
Cause: backend `asm` selects instructions itself, by rules, and has none for
this op, for its element type, or for the size of a memory. It covers less than
the MLIR path does.
Bad:
    wave compile my_kernel --target gfx942 --via asm
Good:
    wave compile my_kernel --target gfx942
Fix: leave out `backend="asm"`. A plugin may register a rule for the op with
`wave_register_lowerings`, for `asm`, with what `wave_backend_asm.lowering` has.

WV0611: registers do not hold the values of a kernel
Cause: backend `asm` keeps every value in registers, and spills none to memory. At some
point of the program more are live than a wave has; the notes say how many,
whose they are, and at which line.
Bad:
    tkw.WaveConstraint(M, 256)              # 256 x 256 sums in a wave
Good:
    tkw.WaveConstraint(M, 64)
Fix: choose a smaller tile of a wave, or a schedule that fetches less ahead;
or leave out `backend="asm"`, and the MLIR path spills.
""")
