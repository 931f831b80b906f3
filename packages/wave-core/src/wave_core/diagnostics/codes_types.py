"""WV02: element types, dimensions and the shapes of values."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

TYPE_CODES = read_codes("""
WV0201: an op needs a register and got something else
Cause: arithmetic works on registers. A kernel argument is a memory; a
`write` has no value at all.
Bad:
    c_reg = a + b_reg              # a is a memory
Good:
    c_reg = tkw.read(a) + b_reg
Fix: read the memory first.

WV0202: an op needs a memory and got something else
Cause: `read`, `write` and atomics access a kernel argument or a buffer made
by `allocate`. A register is a value, not a place.
Bad:
    tkw.write(x, y_reg)
Good:
    tkw.write(x, y)                # y: tkl.Memory[...]
Fix: pass the memory; of `write`, the register comes first.

WV0203: mma operands disagree on the contracted dimension
Cause: `mma(lhs, rhs, acc)` adds lhs times rhs to acc. With acc over [M, N]
lhs needs M, rhs needs N, and both share exactly one dimension more, which
is summed over. The dimension is found by its symbol, not by its size. A
dimension that only one of the three has is a batch of acc, or it is one that
a workgroup holds a single element of, on the grid axis of a dimension of acc.
Bad:
    a_reg = tkw.read(a)            # [M, K]
    b_reg = tkw.read(b)            # [N, J]
    acc = tkw.mma(a_reg, b_reg, acc)
Good:
    b_reg = tkw.read(b)            # [N, K]
    acc = tkw.mma(a_reg, b_reg, acc)
Fix: declare both memories over the same symbol, or rename by a mapping. The
rhs is [N, K]; use `permute` where it lies as [K, N].

WV0204: element types differ
Cause: element types are never converted silently. Both operands of an
operator or a comparison have one element type. A register is written to a
memory of its own, or, from one type of float to another, rounded to nearest
even; integers never become floats that way.
Bad:
    y = x_f16 + y_f32
    tkw.write(count_i32, c_f32)
Good:
    y = tkw.cast(x_f16, tkl.f32) + y_f32
    tkw.write(tkw.cast(count_i32, tkl.f32), c_f32)
Fix: `cast` one of them, usually the narrower one.

WV0205: an op does not take this element type
Cause: some ops are defined for one family of element types only: `&` for
integers and bool, `exp2` for floats, `select` with a bool condition; a
matrix instruction has a list.
Bad:
    y = tkw.exp2(count)                    # i32
    z = tkw.select(mask_i32, a, b)
Good:
    y = tkw.exp2(tkw.cast(count, tkl.f32))
    z = tkw.select(mask_i32 != zero, a, b)
Fix: `cast`, or compare to get a bool.

WV0206: operands have the same dimensions in two orders
Cause: dimensions are aligned by name, and the result has the order of the
first operand that has them all. Where none has them all and two order those
that they share differently, the result would have no definite order.
Bad:
    z = x + y                          # [M, N, K] and [N, M, J]
Good:
    z = x + tkw.permute(y, target_shape=[M, N, J])
Fix: `permute` one operand. Dimensions that one of them lacks are fine.

WV0207: a dimension is named twice
Cause: the dimensions of a value are told apart by their symbols, so a shape
names each symbol once.
Bad:
    tkl.Memory[N, N, GLOBAL_ADDRESS_SPACE, tkl.f32]
Good:
    tkl.Memory[N, M, GLOBAL_ADDRESS_SPACE, tkl.f32]     # M bound to N's size
Fix: use two symbols and bind them to one number.

WV0208: a register has other dimensions than are needed
Cause: a `write` needs a register over the memory's dimensions, a `permute`
a target with the same set of dimensions, and so on.
Bad:
    tkw.write(row_max, c)              # [M] into a memory over [M, N]
Good:
    tkw.write(tkw.broadcast(row_max, target_shape=[M, N]), c)
Fix: `broadcast` adds dimensions, a reduction removes one, `permute` orders
them, a mapping renames them.

WV0209: a constant does not fit its element type
Cause: the number cannot be held: a fraction for an integer type, a number
out of range, an infinity for a type without one.
Bad:
    tkl.Register[M, tkl.i8](300)
Good:
    tkl.Register[M, tkl.i32](300)
Fix: use a wider type, or a number that it holds.

WV0210: `apply_expr` has nothing to apply to
Cause: `apply_expr` evaluates an expression on the elements of one or more
registers; its shape is theirs.
Bad:
    y = tkw.apply_expr([], lambda: M + 1)
Good:
    y = tkw.apply_expr(i, lambda i: i + M)
Fix: pass a register; for an expression of symbols alone use `scalar`.

WV0211: a broadcast would drop dimensions
Cause: `broadcast` repeats a value along new dimensions and keeps the ones
it has.
Bad:
    tkw.broadcast(x, target_shape=[M])            # x: [M, N]
Good:
    tkw.broadcast(x, target_shape=[M, N, K])
    tkw.sum(x, dim=N)                             # to lose N
Fix: name all dimensions of the value in `target_shape`.

WV0212: a reshape asks for a slice that does not exist
Cause: `reshape` either joins several values, or takes slice `logical_slice`
of `num_slices` from one.
Bad:
    tkw.reshape([x], shape, logical_slice=2, num_slices=2)
Good:
    tkw.reshape([x], shape, logical_slice=1, num_slices=2)
Fix: count slices from 0; several inputs go with one slice only.

WV0213: `extract` takes one offset along the last dimension
Cause: `extract` takes one element that each lane holds, counted along the
last dimension of a register.
Bad:
    tkw.extract(x, [0, 3])
    tkw.extract(x, -1)
Good:
    tkw.extract(x, [3])
Fix: give one offset, from 0 to the tile's size less one. To pick by
position in memory, use a mapping on the `read`.

WV0214: a reduction over a dimension that the register lacks
Cause: `sum`, `max`, `cumsum` and the like run over one dimension of their
operand.
Bad:
    m = tkw.max(x, dim=K)            # x: [M, N]
Good:
    m = tkw.max(x, dim=N)            # m: [M]
Fix: name a dimension of the operand; for several, reduce one after another.

WV0215: the accumulator of a reduction has another type than its result
Cause: the second argument of a reduction is what it starts from. It has the
operand's element type and its dimensions but the reduced one.
Bad:
    m = tkw.max(x, m0, dim=N)        # m0: [M, N]
Good:
    m0 = tkl.Register[M, tkl.f32](-1e38)
    m = tkw.max(x, m0, dim=N)
Fix: make the start over the remaining dimensions, in the same element type.

WV0216: a shuffle that no lane exchange can do
Cause: `shuffle` moves values within groups of `width` lanes; width is a
power of two up to the wave size, and the offset is below it.
Bad:
    tkw.shuffle(x, 3, width=24)
Good:
    tkw.shuffle(x, 16, width=32)
Fix: choose offset and width within the wave.

WV0217: the shape of an allocation does not fit
Cause: `allocate` takes the dims of a buffer and, for each of them, the
extent that is stored per workgroup.
Bad:
    tkw.allocate((M, K), (BLOCK_M,), tkl.f16)
Good:
    tkw.allocate((M, K), (BLOCK_M, BLOCK_K), tkl.f16)
Fix: one extent for each dim; padding belongs to the last one.

WV0218: a condition is not true or false
Cause: `conditional` branches on a bool register that is the same in a whole
wave, or on a relation of symbols.
Bad:
    @tkw.conditional(count)                    # i32
Good:
    @tkw.conditional(tkw.scalar(0, tkl.i32) < count)
    @tkw.conditional(M > 0)
Fix: compare.

WV0219: a wave priority is out of range
Cause: the hardware knows a few priorities only.
Bad:
    tkw.set_wave_prio(7)
Good:
    tkw.set_wave_prio(1)
Fix: use a number in the range that the message names.

WV0220: a type is malformed
Cause: `Register[...]` is made of dims and an element type, `Memory[...]` of
dims, an address space and an element type, in this order.
Bad:
    tkl.Memory[M, K, tkl.f16]
Good:
    tkl.Memory[M, K, GLOBAL_ADDRESS_SPACE, tkl.f16]
Fix: put in what is missing, in order.

WV0221: a permute does not name the dimensions it has
Cause: the target of `permute` is the value's own dimensions in another
order: none more, none fewer.
Bad:
    tkw.permute(x, target_shape=[N, K])          # x: [M, N]
Good:
    tkw.permute(x, target_shape=[N, M])
Fix: list the same symbols. To rename a dimension, read with a mapping.

WV0222: an argument of an op is of another type or out of range
Cause: what an op counts by is a plain integer in a range, what it switches
is True or False, and an element type is one of Wave's.
Bad:
    tkw.read(a, elements_per_thread=-1)
    tkw.cast(x, torch.float16)
Good:
    tkw.read(a, elements_per_thread=4)
    tkw.cast(x, tkl.f16)
Fix: give what the message asks for.

WV0223: the scales of a product do not fit its tiles
Cause: `scaled_mma` multiplies blocks along K by a power of two each. The
scales of [M, K] have dims [M, K/32], for blocks of 32 elements, which is what
matrix instructions take; those of both operands go along one dimension.
Bad:
    a_scale: tkl.Memory[M, K / 16, ADDRESS_SPACE, tkl.i8]
Good:
    a_scale: tkl.Memory[M, K / 32, ADDRESS_SPACE, tkl.i8]
    s = tkw.bitcast(tkw.read(a_scale), tkl.f8e8m0fnu)
Fix: declare the memory of the scales over the rows of its operand and over
`K/32`. A scale for a whole row is `broadcast` to these dims.

WV0224: a bitcast does not come out even
Cause: `bitcast` keeps all bits and reads them as elements of another type.
Truth values have no bits of their own, and where the widths differ the last
dimension is scaled, which a scalar lacks.
Bad:
    bits = tkw.bitcast(x > y, tkl.i8)
Good:
    flags = tkw.cast(x > y, tkl.i8)
    packed = tkw.read(a)                   # [M, K/2] of i8
    x = tkw.bitcast(packed, tkl.f4e2m1fn)  # [M, K]
Fix: `cast` converts numbers. To cut or join elements, read a tile whose last
dimension holds whole ones.

WV0230: the function of a scan does more than combine two elements
Cause: a scan computes its function for many pairs at once, in any grouping,
wherever the elements lie. So the function computes with its parameters,
element by element, with numbers and with values that have no dims.
Bad:
    tkw.scan(lambda a, b: a + b * weights, x, dim=N)    # weights: [N]
Good:
    tkw.scan(lambda a, b: a + b, x * weights, dim=N)
Fix: compute before the scan what belongs to one element, or scan it along
in a tuple: `scan(f, (x, weights), dim=N)`.

WV0231: top-k of more elements than there are
Cause: `topk` gives as many elements as the symbol of its new dimension says.
That has to be known when the kernel is compiled, and the dimension it picks
along has to have them.
Bad:
    tkw.topk(x, K, dim=N)      # subs={N: 4, K: 8}
Good:
    tkw.topk(x, K, dim=N)      # subs={N: 8, K: 4}
Fix: bind a smaller number to the symbol.

WV0234: an atomic has no form for this element type
Cause: an update in one step is an instruction of the memory, and memories have
them for elements of 32 and 64 bits: sums, extremes and exchanges of numbers,
bits and comparisons of integers. There are sums of floats of 16 bits besides.
Bad:
    tkw.atomic_add(tkw.cast(x, tkl.i8), counts)       # counts is i8
    tkw.atomic_or(x, flags)                           # flags is f32
Good:
    tkw.atomic_add(tkw.cast(x, tkl.i32), counts)      # counts is i32
    tkw.atomic_or(x, flags)                           # flags is u32
Fix: give the memory an element type that the message lists, and cast.

WV0238: a slice does not fit the register
Cause: `extract_slice` takes one offset, one size and one stride for each of
the last dimensions. A size is a symbol, which names the new dimension.
Bad:
    tkw.extract_slice(x, offsets=[0, 1], sizes=[HALF], strides=[2])
Good:
    tkw.extract_slice(x, offsets=[1], sizes=[HALF], strides=[2])
Fix: give lists of one length, offsets from 0 and strides from 1.
""")
