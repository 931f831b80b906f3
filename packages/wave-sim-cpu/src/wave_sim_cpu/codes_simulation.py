"""WV09: what only the simulators see."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

SIMULATION_CODES = read_codes("""
WV0906: an integer is divided by zero
Cause: the result is not defined, and GPUs do not trap.
Bad:
    mean = total // count                 # count may be 0
Good:
    mean = total // tkw.maximum(count, one)
Fix: keep the divisor away from zero, also in elements that a `select` drops.

WV0907: a value that must be the same in a whole wave differs between lanes
Cause: symbols, loop bounds, branches and wave-wide addresses are kept once
per wave.
Bad:
    tkw.set_symbol(S, tkw.read(table))           # one value for each lane
Good:
    tkw.set_symbol(S, tkw.read(table, elements_per_thread=1, mapping=first))
Fix: read one element, or reduce.

WV0909: the simulation exceeds its cost limit
Cause: lanes times ops executed passed the limit; the sizes are large for a
simulator.
Bad:
    subs={M: 8192, N: 8192, K: 8192}
Good:
    subs={M: 128, N: 128, K: 128}
Fix: simulate small sizes, or raise the limit as the message says.

WV0911: a wait has no matching signal
Cause: a split barrier was waited for that not all waves had signalled.
Bad:
    tkw.wait_barrier(1)                  # nobody signals barrier 1
Good:
    tkw.signal_barrier(1)
    tkw.wait_barrier(1)
Fix: let every wave signal before any waits; keep the ids equal.

WV0913: a breakpoint was reached
Cause: the simulation stopped where it was told to.
Bad:
    a breakpoint left in a test
Good:
    breakpoints only while debugging
Fix: go on, or remove the breakpoint.

WV0915: a lane takes a value from a lane that is not there
Cause: within a condition or a loop that lanes leave one by one, a shuffle
reads from a lane that does not take part. GPUs give 0, or what was there.
Bad:
    @tkw.conditional(tkw.thread_id(0) < 3)
    def first():
        tkw.store(tkw.shuffle(x, 1, 64), b, tkw.thread_id(0))
Good:
    other = tkw.shuffle(x, 1, 64)
    @tkw.conditional(tkw.thread_id(0) < 3)
    def first():
        tkw.store(other, b, tkw.thread_id(0))
Fix: shuffle where all lanes of the group come along, or `select` another
value where the partner is not there.
""")
