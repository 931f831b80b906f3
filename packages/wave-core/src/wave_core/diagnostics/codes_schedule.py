"""WV05: scheduling and pipelining loops."""

from __future__ import annotations

from wave_core.diagnostics.code import Code

SCHEDULE_CODES = (
    Code(
        "WV0501",
        "a loop cannot be pipelined",
        """
        Cause: pipelining overlaps iterations. A loop whose body waits for itself
        from end to end, or that has too few iterations, has nothing to overlap.

        Bad:
            subs={K: 32, BLOCK_K: 32}           # one iteration, three stages asked

        Good:
            subs={K: 4096, BLOCK_K: 32}

        Fix: use a schedule with fewer stages, or none.
        """,
    ),
    Code(
        "WV0502",
        "a schedule contradicts a dependence",
        """
        Cause: a schedule places an op before something that it needs, counted over
        stages and cycles.

        Bad:
            mma in stage 0, the read of its operand in stage 1

        Good:
            the read in stage 0, the mma in stage 1

        Fix: move the op that the message names to a later cycle or stage.
        """,
    ),
    Code(
        "WV0503",
        "a schedule names ops that are not in the loop",
        """
        Cause: a manual schedule finds ops by tag and kind, and found none, or found
        another number than it has slots for.

        Bad:
            tkw.read(a, tag="load_a")           # the schedule asks for "read_a"

        Good:
            tkw.read(a, tag="read_a")

        Fix: tag the ops as the schedule asks; the notes list the tags there are.
        """,
    ),
    Code(
        "WV0504",
        "no schedule fits the resources",
        """
        Cause: within the largest interval tried, no placement respects both the
        latencies and the units of the target.

        Bad:
            a loop body of thousands of ops, from large tiles

        Good:
            BLOCK_M = BLOCK_N = 128

        Fix: shrink the tiles, raise the limit of the scheduling pass, or leave the
        loop unscheduled.
        """,
    ),
)
