"""WV09: what simulators and emulators see; those of one are declared by its package."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

SIMULATION_CODES = read_codes("""
WV0901: two waves race
Cause: different waves access the same bytes, at least one writes, and no
barrier stands between. On a GPU the result depends on timing. The check is
exact on the path that ran; it needs no lucky timing.
Bad:
    tkw.write(x, shared)
    y = tkw.read(shared, mapping=transposed)        # barriers turned off
Good:
    tkw.write(x, shared)
    tkw.shared_memory_barrier()
    y = tkw.read(shared, mapping=transposed)
Fix: put a barrier between. If you placed none by hand, the pass that placed
them is at fault: report it with the kernel.

WV0902: not all waves reach a barrier
Cause: a barrier waits for every wave of the workgroup. Inside a branch that
some waves skip it waits for ever.
Bad:
    @tkw.conditional(wave_id < 1)
    def then():
        tkw.shared_memory_barrier()
Good:
    tkw.shared_memory_barrier()
    @tkw.conditional(wave_id < 1)
    def then(): ...
Fix: move the barrier out of the branch.

WV0903: an access is out of bounds
Cause: an address lies outside its memory. On a GPU a read gives garbage and
a write destroys other data.
Bad:
    IndexMapping(1, inputs={M: i + 1}, outputs={M: i})    # the last element
Good:
    IndexMapping(1, inputs={M: i}, outputs={M: i})
Fix: correct the mapping or the index register. Tiles that stick out at the
edge are masked by the compiler; a mapping that leaves the memory is not.

WV0904: a wide access is not aligned
Cause: an access of several elements starts at an address that is not a
multiple of its width.
Bad:
    tkw.read(a, mapping=shifted_by_one, elements_per_thread=8)
Good:
    tkw.read(a, mapping=shifted_by_one, elements_per_thread=1)
Fix: use fewer elements per thread, or pad the rows.

WV0905: memory that nobody wrote is used
Cause: a value was read from bytes that no thread had written, and reached an
output, a branch or an address.
Bad:
    shared = tkw.allocate(shape, extents, tkl.f32)
    tkw.write(tkw.read(shared), c)
Good:
    tkw.write(x, shared)
    tkw.write(tkw.read(shared), c)
Fix: write first, all elements that are read, padding included.

WV0908: the simulation takes too many steps
Cause: the step limit guards against loops that never end. A loop with a
condition that stays true is one.
Bad:
    @tkw.iterate(K, start=s, condition=S < n)    # the body never sets S
Good:
    tkw.set_symbol(S, next)                      # inside the body
Fix: mend the loop, use smaller sizes, or raise the limit.

WV0910: one write gives an element two values
Cause: several lanes write the same element with different values in one op;
which one stays is not defined.
Bad:
    IndexMapping(1, inputs={M: i}, outputs={M: i // 2})    # on a write
Good:
    tkw.atomic_add(x, c, mapping=halved)
Fix: make the mapping one to one, or use an atomic.

WV0912: the simulator cannot execute an op
Cause: the lane simulator runs graphs at the end of the pipeline; an op of an
earlier phase, or of a plugin without a rule for it, is left.
Bad:
    run_lanes(graph)                     # before `expand`
Good:
    run the pipeline to its end first
Fix: complete the pipeline, or register a rule of the op for `sim`.

WV0914: machine code uses a result before it is there
Cause: the emulator executes machine code and saw an instruction use a
register or LDS while the operation that fills it is in flight, or fewer
wait states than the chip needs. The wait that is missing is the code
generator's to place, or that of assembly written by hand.
Bad:
    ds_read_b128 v[0:3], v8
    v_add_f32 v4, v0, v1
Good:
    ds_read_b128 v[0:3], v8
    s_waitcnt lgkmcnt(0)
    v_add_f32 v4, v0, v1
Fix: if you wrote no machine code, report it with the kernel.

WV0916: workgroups wait for one another for ever
Cause: each workgroup that is left goes around a while loop that reads a lock,
and what it reads cannot change any more: who should write it has ended, waits
itself, or is the one that waits.
Bad:
    @tkw.iterate(condition=GET_ITER_ARG(0) < 1, init_args=[zero])
    def wait(seen):
        return tkw.cast(tkw.read(lock, flags=VOLATILE), tkl.i32)
    tkw.write(one, lock, flags=VOLATILE)          # after the loop: too late
Good:
    tkw.write(one, mine, flags=VOLATILE)          # then wait for others
    @tkw.iterate(condition=GET_ITER_ARG(0) < 1, init_args=[zero])
    def wait(seen): ...
Fix: let every lock that is waited for be written, before its writer waits; set
locks to zero before each launch.
""")
