"""WV05: schedules that authors write; other codes are the scheduling package's."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

SCHEDULE_CODES = read_codes("""
WV0511: a schedule function does what a schedule cannot hold
Cause: a schedule is kept as a list of steps. Its functions work nowhere else,
they take nodes and parts of pipelines, and ops to insert are barriers,
waits, priorities and hints.
Bad:
    tkw.insert_before(mma, tkw.Read)
Good:
    tkw.insert_before(mma, tkw.SetWavePrio(1))
Fix: call them in a function under `@wave_schedule()`, with what
`get_node_by_tag` and the others give.

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
