"""The diagnostic codes of the plugin; its prefix is its own."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

CODES = read_codes("""
EXAMPLE001: a tile cuts a pair in two
Cause: a dimension is declared as interleaved, and one of its tiles is odd.
Bad:
    [Interleaved(N), WorkgroupConstraint(N, 33, 0)]
Good:
    [Interleaved(N), WorkgroupConstraint(N, 32, 0)]
Fix: use an even tile.
""")
