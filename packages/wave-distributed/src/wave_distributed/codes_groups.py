"""WV0730 and WV0731: what goes wrong between the processes of a group."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

GROUP_CODES = read_codes("""
WV0730: the ranks of a group disagree about a call
Cause: every process of a group calls the same function with parts of one
problem, and the shapes or types that one of them gave are no parts of the same
problem as those of another. It is looked at when a process calls a function with
such arguments for the first time.
Bad:
    all_gather_matmul(x[: 5 + rank], weight)     # other rows on each rank
Good:
    all_gather_matmul(x.chunk(world)[rank], weight)
Fix: give every rank a part of the same size and type; pad what does not divide.

WV0731: a rank of a group does not answer
Cause: a process of the group ended, or did not come to the same call within the
time that the group allows. Nothing that it should have sent is there, so that
the result is not either.
Bad:
    if rank == 0:
        matmul_reduce_scatter(x, weight)         # the others never call it
Good:
    matmul_reduce_scatter(x, weight)             # on every rank
Fix: look for what the other process says. `init_process_group(timeout=...)` sets
the time; torchrun starts all processes again where one has ended.
""")
