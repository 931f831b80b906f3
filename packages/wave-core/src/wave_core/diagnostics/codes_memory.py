"""WV04: memories, mappings and layouts."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

MEMORY_CODES = read_codes("""
WV0401: a mapping does not connect the register with the memory
Cause: an index mapping gives one expression for each dimension of the
memory, and one iterator for each dimension of the register.
Bad:
    IndexMapping(num_iterators=2, inputs={M: i}, outputs={M: i, K: j})
    # for a memory over [M, K]
Good:
    IndexMapping(2, inputs={M: i, K: j}, outputs={M: i, K: j})
Fix: name exactly the memory's dimensions on the memory's side.

WV0402: a mapping gets another number of index registers than it uses
Cause: each `dynamic_val(i)` in a mapping takes its value from one register
of `mapping_dynamic_vals`.
Bad:
    tkw.read(a, mapping=gather)                     # uses dynamic_val(0)
Good:
    tkw.read(a, mapping=gather, mapping_dynamic_vals=(row,))
Fix: pass one register per dynamic value, in order.

WV0403: an index mapping is malformed
Cause: each iterator stands alone in one expression, which says along which
dimension it runs, and no iterator runs along two.
Bad:
    IndexMapping(1, inputs={M: 2 * i}, outputs={M: i + 1})
Good:
    IndexMapping(1, inputs={M: 2 * i}, outputs={M: i})
Fix: let the register's side be plain iterators.

WV0404: `source` and `target` of an access do not say where an iterator runs
Cause: the short form of a mapping lists expressions for the memory and
iterators for the register; `IteratorBindings` says along which dimension
each iterator runs. Both lists come together.
Bad:
    tkw.read(a, source=(i, 2 * j))
Good:
    constraints += [tkw.IteratorBindings({i: M, j: N})]
    tkw.read(a, source=(i, 2 * j), target=(i, j))
Fix: give both lists, and bind every iterator in them.

WV0405: a buffer cannot be made in this address space
Cause: a kernel makes buffers in shared memory. Global memory comes in as
arguments; registers are values.
Bad:
    tkw.allocate((M,), (64,), tkl.f32, GLOBAL_ADDRESS_SPACE)
Good:
    tkw.allocate((M,), (64,), tkl.f32, SHARED_ADDRESS_SPACE)
Fix: allocate shared memory, or add a kernel argument for scratch space.

WV0406: the kernel needs more shared memory than the target has
Cause: the LDS buffers that are live together exceed what a workgroup can
have.
Bad:
    subs={BLOCK_M: 256, BLOCK_N: 256, BLOCK_K: 128}    # f16: 128 KiB
Good:
    subs={BLOCK_M: 256, BLOCK_N: 256, BLOCK_K: 32}     # f16: 32 KiB
Fix: shrink the tiles, choose a schedule with fewer buffers, or stage fewer
arguments in shared memory. The notes list the buffers with their bytes.

WV0407: a shared memory buffer has no size at compile time
Cause: LDS is reserved before the kernel starts; its size is a number.
Bad:
    tkw.allocate((M,), (M,), tkl.f32)           # M is dynamic
Good:
    tkw.allocate((M,), (BLOCK_M,), tkl.f32)
Fix: use tiles, or bind the symbol.

WV0408: a request to stage in shared memory is not followed
Cause: `SHARED_ADDRESS_SPACE` on a kernel argument asks for staging in LDS.
No installed pass does that, so the kernel reads global memory: right, and
slower.
Bad:
    pip install wave-core
Good:
    pip install wave-core wave-passes-memory
Fix: install the memory passes, or declare the argument global.

WV0410: a memory is declared in registers
Cause: registers have no addresses, so no memory can lie there.
Bad:
    tkl.Memory[M, AddressSpace.REGISTER, tkl.f32]
Good:
    tkl.Register[M, tkl.f32]
Fix: use `Register` for values and `Memory` for places.

WV0412: shared memory needs a barrier where not all waves may come along
Cause: inside a conditional or a loop that some waves of a workgroup may
skip, an access of shared memory has to wait for another one. A barrier that
not all waves reach never opens. The same holds for lanes of one wave, where
the target's waves have more lanes than run in step.
Bad:
    @tkw.conditional(flag)
    def body():
        tkw.write(value, shared)
        other = tkw.read(shared)
Good:
    tkw.write(value, shared)
    @tkw.conditional(flag)
    def body():
        other = tkw.read(shared)
Fix: move one of the accesses out, so that the barrier stands outside.

WV0413: a direct copy connects memories that do not fit
Cause: `gather_to_lds` moves elements from a kernel argument to a buffer in
LDS as they are: no cast, no register between.
Bad:
    buffer = tkw.allocate((M,), (BLOCK_M,), tkl.f32)
    tkw.gather_to_lds(a, buffer)                    # a is f16
Good:
    buffer = tkw.allocate((M,), (BLOCK_M,), tkl.f16)
    tkw.gather_to_lds(a, buffer)
Fix: give the buffer the element type and the dims of the argument, or a
`src_mapping` from one to the other.

WV0417: an index register cannot be taken at other places
Cause: `dynamic_val_mappings={N1: j // 2}` takes an index register at places
that follow from those of the access. The compiler computes it once more
there. It can do that for what is read, counted or constant, and computed
from that element by element, while nobody writes the memory in between.
Bad:
    at = tkw.max(tkw.read(table), dim=K)
    tkw.read(a, mapping=rows, mapping_dynamic_vals=(at,))   # {N1: j // 2}
Good:
    at = tkw.read(table)
    tkw.read(a, mapping=rows, mapping_dynamic_vals=(at,))
Fix: read the index from a memory that the kernel does not write, or use it at
its own places: `{N1: j}` for an access over N1.

WV0418: the bounds of an access name no dimension of it
Cause: `bounds=` is a dictionary from dimensions of the memory, or of the
register, to the first coordinate that does not exist.
Bad:
    tkw.read(a, mapping=shifted, bounds=(M, K))
Good:
    tkw.read(a, mapping=shifted, bounds={M: M, K: K})
Fix: give an end for each dimension along which elements may be missing.

WV0419: a kernel does another thing to a memory than its annotation states
Cause: `KernelBufferUsage` in the annotation of a memory states whether the
kernel writes it. An input is never written, an output is.
Bad:
    a: tkl.Memory[M, GLOBAL, tkl.f32, tkl.KernelBufferUsage.INPUT]
    ...
    tkw.write(value, a)
Good:
    a: tkl.Memory[M, GLOBAL, tkl.f32, tkl.KernelBufferUsage.OUTPUT]
    ...
    tkw.write(value, a)
Fix: state what the kernel does, or leave the usage out.

WV0420: a view does not lie in its buffer
Cause: `allocate(parent=buffer, offset=bytes)` makes a buffer in the bytes of
another one. It begins at a multiple of 16 bytes, which is known at compile
time, and ends where the other one ends, or before.
Bad:
    pool = tkw.allocate((N,), (1024,), tkl.i8)
    tile = tkw.allocate((M,), (512,), tkl.f32, parent=pool, offset=8)
Good:
    pool = tkw.allocate((N,), (4096,), tkl.i8)
    tile = tkw.allocate((M,), (512,), tkl.f32, parent=pool, offset=16)
Fix: count in bytes, and give the buffer room for each of its views.

WV0425: a memory of elements that share bytes
Cause: the smallest part of a memory that has an address is a byte. Two
elements of f4e2m1fn or i4 share one, four of the 6-bit floats share three.
Bad:
    a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f4e2m1fn]
Good:
    a: tkl.Memory[M, K / 2, ADDRESS_SPACE, tkl.i8]
    x = tkw.bitcast(tkw.read(a), tkl.f4e2m1fn)     # [M, K]
Fix: declare the bytes, and read them as elements in registers.
""")
