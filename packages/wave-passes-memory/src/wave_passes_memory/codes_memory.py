"""WV04: what only this package finds wrong with memory."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

MEMORY_CODES = read_codes("""
WV0414: a tile is not copied directly to LDS
Cause: `use_global_to_shared=True` asks for copies that go through no
register, and this one has to: the message says why. The kernel is right, and
the tile goes through registers.
Bad:
    # 33 elements of 16 bits: rows do not start at multiples of 32 bits
    tkw.WaveCompileOptions(subs={K: 33}, use_global_to_shared=True)
Good:
    tkw.WaveCompileOptions(subs={K: 64}, use_global_to_shared=True)
Fix: what the message names: a tile whose rows are a multiple of the width of
a copy, extents that tiles divide, a target that has direct copies.

WV0415: direct copies cannot write a buffer in the layout that it was given
Cause: the lanes of a wave write LDS side by side, each what lies side by
side in memory. A buffer with padding inside what one wave writes, or with
its dims in another order than the memory, has no such place, and
`use_global_to_shared=True` asks for direct copies.
Bad:
    buffer = tkw.allocate((M, K), (64, 32), tkl.f16, padding=4)
    # with WaveCompileOptions(use_global_to_shared=True)
Good:
    buffer = tkw.allocate((M, K), (64, 32), tkl.f16)
Fix: leave `padding` out and keep the order of the memory: the compiler
swizzles the buffer against bank conflicts; or leave `use_global_to_shared`
out.

WV0416: one buffer is asked to have two layouts
Cause: padding and swizzles both keep lanes out of each other's banks, each by
a layout of its own. `padding=` fixes the layout of a buffer, and
`enable_swizzle=True` asks for another.
Bad:
    buffer = tkw.allocate((M, K), (64, 32), tkl.f16, padding=4)
    # with WaveCompileOptions(enable_swizzle=True)
Good:
    buffer = tkw.allocate((M, K), (64, 32), tkl.f16)
Fix: leave one of the two out.
""")
