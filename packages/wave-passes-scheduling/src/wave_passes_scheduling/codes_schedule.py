"""WV05: loops that cannot be scheduled, schedules that do not fit."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

SCHEDULE_CODES = read_codes("""
WV0501: a loop cannot be pipelined
Cause: pipelining overlaps iterations. A loop whose body waits for itself
from end to end, or that has too few iterations, has nothing to overlap.
Bad:
    subs={K: 32, BLOCK_K: 32}           # one iteration, three stages asked
Good:
    subs={K: 4096, BLOCK_K: 32}
Fix: use a schedule with fewer stages, or none.

WV0502: a schedule contradicts a dependence
Cause: a schedule places an op before something that it needs, counted over
stages and cycles.
Bad:
    mma in stage 0, the read of its operand in stage 1
Good:
    the read in stage 0, the mma in stage 1
Fix: move the op that the message names to a later cycle or stage.

WV0503: a schedule names ops that are not in the loop
Cause: a manual schedule finds ops by tag and kind, and found none, or found
another number than it has slots for.
Bad:
    tkw.read(a, tag="load_a")           # the schedule asks for "read_a"
Good:
    tkw.read(a, tag="read_a")
Fix: tag the ops as the schedule asks; the notes list the tags there are.

WV0504: no schedule fits the resources
Cause: within the largest interval tried, no placement respects both the
latencies and the units of the target.
Bad:
    a loop body of thousands of ops, from large tiles
Good:
    BLOCK_M = BLOCK_N = 128
Fix: shrink the tiles, raise the limit of the scheduling pass, or leave the
loop unscheduled.

WV0505: a schedule file cannot be read or written
Cause: the file is not there, or a line of it is neither header nor row.
Bad:
    override_schedule="schedule.txt"    # `Initiation Interval:` is missing
Good:
    dump_schedule="schedule.txt"        # then edit cycles, and override
Fix: the message names the line; start from a file that was dumped.

WV0506: a loop cannot be brought into another order
Cause: an order of ops was asked for that some dependence forbids, or for
which the waves of a workgroup do not come in two halves. The loop stays as it
is, which is right, but not what was asked for.
Bad:
    order=pingpong on one LDS buffer with one pair of clusters
Good:
    two pairs of clusters, or multi_buffer_count=2
Fix: the message names the dependence, and what stands at its two ends.

WV0507: a pipelined loop keeps its epilogue
Cause: without an epilogue, early stages also run for iterations that the loop
does not have. Reads and writes are masked there; a barrier, a change of a
symbol or an integer division cannot be.
Bad:
    eliminate_epilogue=True             # a barrier of the author's in stage 0
Good:
    eliminate_epilogue=True             # barriers are left to the compiler
Fix: take the op that the message names out of the early stages, or leave
`eliminate_epilogue` out.

WV0508: a schedule needs more registers than there are
Cause: the values of all iterations in flight, the accumulators and the addresses
have to fit into the registers of a lane; what does not fit goes to memory and
back. The loop got a schedule with fewer stages, which the notes lead to.
Bad:
    preset="four-stage"                 # tiles of 256 x 256 x 64, eight waves
Good:
    preset="prefetch"
Fix: ask for the schedule that fits, for smaller tiles, or for fewer waves of a
workgroup on a SIMD.

WV0514: a step of a schedule has no place to work on
Cause: a cluster holds ops of several bodies or of another one than is
reordered, an op is to be put beside nodes of several bodies, or what is to be
unrolled is no loop.
Bad:
    tkw.insert_before(mma, tkw.SetWavePrio(1))   # after pipelining: also in
                                                 # prologue and epilogue
Good:
    kernel_mma = tkw.filter_nodes(mma, subgraph=p.KERNEL)
    tkw.insert_before(kernel_mma, tkw.SetWavePrio(1))
Fix: keep the nodes of one body by `filter_nodes(nodes, subgraph=p.KERNEL)`.
""")
