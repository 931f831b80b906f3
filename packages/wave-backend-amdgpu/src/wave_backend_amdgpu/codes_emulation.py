"""WV09xx: what the emulator finds in machine code that nothing else of Wave can."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

EMULATION_CODES = read_codes("""
WV0917: machine code uses registers that its kernel does not ask for
Cause: the kernel descriptor says how many registers a wave gets. The emulator
executes machine code and saw an instruction use one behind these: a chip reads
something else there, and may keep nothing.
Bad:
    v_mov_b32 v40, v1
    .amdhsa_next_free_vgpr 24
Good:
    v_mov_b32 v40, v1
    .amdhsa_next_free_vgpr 41
Fix: in assembly of your own, raise `.amdhsa_next_free_vgpr`,
`.amdhsa_next_free_sgpr` or `.amdhsa_accum_offset`. If you wrote no machine code,
report it with the kernel.
""")
