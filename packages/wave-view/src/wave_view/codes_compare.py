"""The code of machine code that cannot be compared: WV0853."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

COMPARE_CODES = read_codes("""
WV0853: a code object cannot be compared
Cause: the file is not there or cannot be read, is no code object of an AMD GPU,
has several kernels of which none is named, or is for another machine than what
it is compared with.
Bad:
    wave compare-asm gemm triton.s --target gfx942
Good:
    wave compare-asm gemm triton.hsaco --target gfx942 --kernel matmul
Fix: give the linked code object, an ELF file, which Triton and others call
`.hsaco`; name the kernel with `--kernel`, and the machine of the file with
`--target`.
""")
