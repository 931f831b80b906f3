"""WV05: schedules that authors write; other codes are the scheduling package's."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

SCHEDULE_CODES = read_codes("""
WV0511: a schedule function does what a schedule cannot hold
Cause: the function runs once, before any kernel is known, and is kept as a list
of steps. Nodes cannot be counted or walked through there, the functions of
schedules work nowhere else, and ops to insert are barriers, waits,
priorities and hints.
Bad:
    for node in tkw.get_node_by_tag("mma"): ...
Good:
    first, second = tkw.partition_by_dim(mma, K, 2)
Fix: pass nodes on as they are; split them by `partition_by_dim`,
`partition_by_address_space`, `filter_nodes` or `nodes[2:4]`.

WV0512: a manual schedule is given without being asked for, or the other way round
Cause: `wave_compile` got a schedule and the options name another way to
schedule, or the options say MANUAL and there is no schedule.
Bad:
    wave_compile(WaveCompileOptions(subs=subs), gemm, gemm_schedule)
Good:
    options = WaveCompileOptions(subs=subs, schedule=SchedulingType.MANUAL)
    wave_compile(options, gemm, gemm_schedule)
Fix: give both, or neither.

WV0513: the stages of a pipeline do not fit each other or their loop
Cause: stages have different numbers of places, an op stands at two places, or
an op that is listed is not in the loop.
Bad:
    p.set_stage([(load_a,), (store_a,)])
    p.set_stage([(mma,)])
Good:
    p.set_stage([(load_a,), (store_a,)])
    p.set_stage([(), (mma,)])
Fix: give every stage as many tuples, and list each op of the loop once.
""")
