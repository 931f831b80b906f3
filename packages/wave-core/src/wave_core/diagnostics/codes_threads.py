"""WV015: code for single threads."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

THREAD_CODES = read_codes("""
WV0150: a function for single threads is used in a kernel on tiles
Cause: in a kernel of `wave` a value is a tile, and nobody has asked yet which
thread holds which element. In one of `thread` each thread has its own.
Bad:
    @tkw.wave(constraints)
    def copy(a: A, b: B):
        tkw.store(tkw.load(a, tkw.thread_id()), b, tkw.thread_id())
Good:
    @tkw.thread(constraints)
    def copy(a: A, b: B):
        tkw.store(tkw.load(a, tkw.thread_id()), b, tkw.thread_id())
Fix: decorate the kernel with `thread`, or read and write tiles.

WV0151: a thread names an element by coordinates that do not fit the memory
Cause: `load`, `store` and the atomics of a thread take one coordinate for each
dim of the memory.
Bad:
    tkw.load(matrix, i)
Good:
    tkw.load(matrix, (i, j))
Fix: give as many coordinates as the memory has dims.

WV0152: not all threads of a workgroup reach a barrier
Cause: a barrier waits for every thread of the workgroup. The condition around
it, computed for all threads, holds for some of them only.
Bad:
    @tkw.conditional(tkw.thread_id() < 32)
    def first():
        tkw.store(x, shared, tkw.thread_id())
        tkw.shared_memory_barrier()
Good:
    @tkw.conditional(tkw.thread_id() < 32)
    def first():
        tkw.store(x, shared, tkw.thread_id())
    tkw.shared_memory_barrier()
Fix: move the barrier out. Conditions that follow from data are looked at by
the simulators, which report WV0902.

WV0153: a thread holds a tile
Cause: in a kernel of `thread` a value is one element of each thread. An op
that makes or takes a tile along another dim has nothing to do there.
Bad:
    @tkw.thread(constraints)
    def copy(a: A, b: B):
        tkw.write(tkw.read(a), b)
Good:
    @tkw.thread(constraints)
    def copy(a: A, b: B):
        tkw.store(tkw.load(a, i), b, i)
Fix: load and store elements, or decorate the kernel with `wave`.

WV0154: a function of threads is called with what it does not take
Cause: called in another kernel, a function of `thread` gets registers, numbers
and memories; where a parameter is annotated, of that element type.
Bad:
    @tkw.thread()
    def scaled(x: tkl.f32): return 2 * x
    scaled(tkw.read(integers))
Good:
    scaled(tkw.cast(tkw.read(integers), tkl.f32))
Fix: pass what the parameters say, or take the annotation away.

WV0155: an element of a tile does what only threads can
Cause: on tiles, a function of `thread` computes for each element. Elements
have no number in a workgroup, share no LDS and never meet.
Bad:
    @tkw.thread()
    def shifted(x): return x + tkw.thread_id()
    shifted(tkw.read(a))             # in a kernel of `wave`
Good:
    @tkw.thread()
    def shifted(x, i): return x + i
    shifted(tkw.read(a), tkw.self_index(M, tkl.i32))
Fix: pass in what the element needs to know.

WV0156: the number of a thread where one number is for all of them
Cause: symbols, bounds of loops, mappings and constraints have one value for all
threads of a wave. `THREAD_0` differs; in kernels on tiles `THREAD_0 // 64` does
not.
Bad:
    tkw.set_symbol(S, tkw.scalar(tkw.THREAD_0 // 2, tkl.i32))
    tkw.iterate(K, start=tkw.THREAD_0)
Good:
    half = tkw.thread_id(0) // 2
Fix: compute with `thread_id`, which is a value of each thread.
""")
