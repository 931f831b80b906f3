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
""")
