"""WV03: constraints, and spreading the work over waves, lanes and loops."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

CONSTRAINT_CODES = read_codes("""
WV0301: a symbol has no value
Cause: something must be a number at compile time, such as the number of
threads, and depends on a symbol that the options do not bind.
Bad:
    WaveCompileOptions(subs={M: 512, N: 512})          # BLOCK_M is missing
Good:
    WaveCompileOptions(subs={M: 512, N: 512, BLOCK_M: 64})
Fix: bind the symbol in `subs`. Only problem sizes can be left open until
the launch, as dynamic symbols.

WV0302: a dimension has no size at compile time
Cause: a dimension without a constraint is held whole by every wave. That
takes a number, and this one is known only at the launch.
Bad:
    constraints = [WorkgroupConstraint(M, BLOCK_M, 0)]
    WaveCompileOptions(dynamic_symbols=[M, N])         # N is in no constraint
Good:
    constraints += [WorkgroupConstraint(N, BLOCK_N, 1)]
Fix: distribute the dimension over workgroups or a loop, or bind its size.

WV0303: a wave tile does not divide its workgroup tile
Cause: the waves of a workgroup share its tile in equal parts.
Bad:
    WorkgroupConstraint(M, 96, 0)
    WaveConstraint(M, 64)                    # one wave and a half
Good:
    WorkgroupConstraint(M, 96, 0)
    WaveConstraint(M, 48)
Fix: choose a wave tile that divides, such as `BLOCK_M / 2`.

WV0304: a wave tile exceeds its workgroup tile
Cause: a wave works on a part of what its workgroup works on.
Bad:
    WorkgroupConstraint(M, 32, 0)
    WaveConstraint(M, 64)
Good:
    WorkgroupConstraint(M, 64, 0)
    WaveConstraint(M, 32)
Fix: enlarge the workgroup tile or shrink the wave tile.

WV0305: a dimension is split among waves but not among workgroups
Cause: a `WaveConstraint` divides the tile that a `WorkgroupConstraint`
makes.
Bad:
    constraints = [WaveConstraint(N, BLOCK_N / 2)]
Good:
    constraints = [
        WorkgroupConstraint(N, BLOCK_N, 1),
        WaveConstraint(N, BLOCK_N / 2),
    ]
Fix: add the workgroup constraint. To keep the dimension in one workgroup,
let its tile be the whole dimension.

WV0306: workgroup axes are not assigned one to one
Cause: each axis of the grid that is used has exactly one primary constraint,
which says how many workgroups it has. An axis that is left out has one.
Bad:
    WorkgroupConstraint(M, BLOCK_M, 0)
    WorkgroupConstraint(N, BLOCK_N, 0)
Good:
    WorkgroupConstraint(M, BLOCK_M, 0)
    WorkgroupConstraint(N, BLOCK_N, 1)
Fix: give each dimension an axis of its own. Where two share one on purpose,
mark all but one of them `primary=False`.

WV0307: a kernel needs exactly one hardware constraint
Cause: `HardwareConstraint` says how many lanes a wave has and which matrix
instruction to use. Without it nothing can be distributed; two contradict.
Bad:
    constraints = [WorkgroupConstraint(M, BLOCK_M, 0)]
Good:
    constraints = [
        WorkgroupConstraint(M, BLOCK_M, 0),
        HardwareConstraint(threads_per_wave=64),
    ]
Fix: keep one.

WV0308: a tile is not a whole number
Cause: tiles are counted in elements. The expression is not an integer
expression of symbols, or a division in it leaves a remainder.
Bad:
    WaveConstraint(M, BLOCK_M / 3)             # with BLOCK_M = 64
Good:
    WaveConstraint(M, BLOCK_M / 2)
Fix: bind symbols that divide evenly.

WV0309: two uses want a value in different layouts
Cause: each use says which lane should hold which element: a matrix
instruction by its hardware, a read or write by its vector shape. Here two
demands meet and the compiler may not move the data, because not all waves
come along, or because elements share bytes.
Bad:
    @tkw.conditional(flag)
    def then():
        tkw.write(tkw.mma(acc1, b, acc2), c)      # acc1 laid out as a result
Good:
    tkw.write(tkw.mma(acc1, b, acc2), c)          # outside the branch
Fix: move one of them out of the branch, use a matrix instruction whose
result is laid out like its operand, or drop one of the vector shapes.
Elements that share bytes follow each other along K of a product; else cast
them to wider ones, write these to allocated memory and read them there.

WV0310: a vector shape does not fit
Cause: `vector_shapes` says how much of a dimension a wave holds at a time.
It is a number at compile time and divides the wave tile.
Bad:
    HardwareConstraint(threads_per_wave=64, vector_shapes={M: 48})   # tile 64
Good:
    HardwareConstraint(threads_per_wave=64, vector_shapes={M: 16})
Fix: choose a divisor; 0 means that the dimension is not a vector dimension.

WV0311: a loop runs over a dimension without a tiling constraint
Cause: `iterate(K)` takes a step of one tile of K each time; a
`TilingConstraint` says how long that is.
Bad:
    @tkw.iterate(K, init_args=[acc])          # no TilingConstraint(K, ...)
Good:
    constraints += [tkw.TilingConstraint(K, BLOCK_K)]
Fix: add the constraint, or name the dimension that has one.

WV0314: a constraint names a dimension that no value has
Cause: a constraint distributes a dimension of the kernel's memories. This
symbol occurs in none, often for a slip of the pen.
Bad:
    WorkgroupConstraint(BLOCK_M, M, 0)
Good:
    WorkgroupConstraint(M, BLOCK_M, 0)
Fix: the dimension comes first, then its tile.

WV0316: a tile is empty or too large
Cause: a tile holds at least one element, and fewer than 2**31.
Bad:
    subs={BLOCK_M: 0}
Good:
    subs={BLOCK_M: 64}
Fix: bind the symbols of the tile to positive numbers.

WV0317: a workgroup has more threads than the target allows
Cause: threads = lanes of a wave x waves of all wave constraints, and the
hardware has a limit.
Bad:
    WorkgroupConstraint(M, 512, 0); WaveConstraint(M, 16)     # 32 waves of 64
Good:
    WorkgroupConstraint(M, 128, 0); WaveConstraint(M, 16)     # 8 waves of 64
Fix: enlarge the wave tiles or shrink the workgroup tiles.

WV0318: the wave size is none of the target's
Cause: how many lanes a wave may have is a fact of the hardware; some has
several sizes to choose from.
Bad:
    HardwareConstraint(threads_per_wave=32)        # target gfx942 has 64
Good:
    HardwareConstraint(threads_per_wave=64)
Fix: use a size that the message lists; matrix instructions differ with it.

WV0319: there are too many device dimensions
Cause: a kernel is spread over devices along three axes at most.
Bad:
    DeviceConstraint(B, 1, 3)
Good:
    DeviceConstraint(B, 1, 0)
Fix: fold dimensions together, or spread fewer of them.

WV0320: the contracted dimension is split among waves
Cause: `mma` sums over this dimension, and each wave would hold only its
part of the sum.
Bad:
    WaveConstraint(K, BLOCK_K / 2)
    acc = tkw.mma(a_reg, b_reg, acc)             # contracts K
Good:
    TilingConstraint(K, BLOCK_K)
Fix: remove the wave constraint of that dimension.

WV0321: a condition has several elements in a lane
Cause: a lane takes a branch or does not. The condition is a tile, of which
a lane holds several elements.
Bad:
    @tkw.conditional(tkw.read(mask) != zero)       # [M]
Good:
    any_set = tkw.max(tkw.read(mask), dim=M)
    @tkw.conditional(any_set != zero)
Fix: reduce the condition, or use `select` for a choice by element.

WV0322: a whole tile enters a loop over one of its dimensions
Cause: inside `iterate(K)` the dimension K means one tile of the loop.
Outside it means all of K, so the value changes its extent on the way in.
Bad:
    b_reg = tkw.read(b)                     # [N, K]
    @tkw.iterate(K, init_args=[acc])
    def loop(acc):
        return tkw.mma(tkw.read(a), b_reg, acc)
Good:
    @tkw.iterate(K, init_args=[acc])
    def loop(acc):
        return tkw.mma(tkw.read(a), tkw.read(b), acc)
Fix: read or compute the value inside the loop; what does not depend on the
loop is hoisted by the compiler.

WV0323: a dimension has two constraints of one kind
Cause: a dimension has one workgroup tile, one wave tile and one loop tile; a
kernel has one `DieOrder`.
Bad:
    WorkgroupConstraint(M, 64, 0)
    WorkgroupConstraint(M, 128, 1)
Good:
    WorkgroupConstraint(M, 64, 0)
Fix: keep one of the two.

WV0324: a reordering does not permute the grid
Cause: `ReorderingConstraint` says on which tile a workgroup works. If two
workgroups get the same tile, another tile is never worked on. `DieOrder`
permutes every grid of less than 2**31 workgroups.
Bad:
    ReorderingConstraint(WORKGROUP_0 // 2, 0)
Good:
    ReorderingConstraint(COUNT - 1 - WORKGROUP_0, 0)
Fix: use an expression that takes every coordinate of the grid once.

WV0325: the waves of a workgroup do not match its wave tiles
Cause: `waves_per_block`, or another wave constraint on the same axis, gives
the workgroup more or fewer waves than its tile is cut for. Some elements
would belong to no wave, or to two.
Bad:
    HardwareConstraint(threads_per_wave=64, waves_per_block=(1,))
    WorkgroupConstraint(M, 64, 0); WaveConstraint(M, 32)    # two waves
Good:
    HardwareConstraint(threads_per_wave=64)
    WorkgroupConstraint(M, 64, 0); WaveConstraint(M, 32)
Fix: leave `waves_per_block` out, or make the wave tile fit it.

WV0326: nobody handles a constraint
Cause: the class of the constraint is not one that the compiler understands,
and no installed plugin says what it stands for. It would be ignored.
Bad:
    @wave([Interleaved(N), HardwareConstraint()])   # its plugin is missing
Good:
    python -m pip install wave-example-pass
Fix: install or enable the plugin that brings the constraint. A plugin
registers the class with `wave_register_constraints`, and its `stands_for`
gives built-in constraints.

WV0327: a constraint has a value that means nothing
Cause: an axis, a count, a flag or a function of a constraint is of another
type or out of the range that the message names.
Bad:
    WorkgroupConstraint(M, BLOCK_M, -1)
    HardwareConstraint(waves_per_block=0)
Good:
    WorkgroupConstraint(M, BLOCK_M, 0)
    HardwareConstraint(waves_per_block=(2, 2))
Fix: give the constraint what the message asks for, or leave it out.

WV0328: a wave's tile is cut into too many pieces
Cause: every piece of a tile becomes instructions of its own. So many take
minutes to compile, and no GPU has registers or instruction memory for them.
Bad:
    WorkgroupConstraint(M, 4194304, 0)
Good:
    WorkgroupConstraint(M, 256, 0)
Fix: use smaller tiles; go through a large dimension in a loop, with
`TilingConstraint` and `iterate`, or spread it over waves.

WV0329: a tile is no whole number of elements of a scaled dimension
Cause: a dimension such as `K/32` follows the constraints of `K`, with tiles
that are as much smaller. A tile of `K` has to hold whole elements of it.
Bad:
    scales: tkl.Memory[M, K / 32, ADDRESS_SPACE, tkl.i8]
    TilingConstraint(K, 48)
Good:
    TilingConstraint(K, 64)
Fix: make the tile a multiple of what the dimension is divided by.

WV0330: a constraint asks for a part of a machine that no supported chip has
Cause: the reference language has constraints for gfx1250: clusters, whose
workgroups share what a tensor copy loads, and waves that do nothing but load.
No chip that kernels run on here has tensor copies.
Bad:
    tkw.HardwareConstraint(threads_per_wave=64, n_service_waves=2)
Good:
    tkw.HardwareConstraint(threads_per_wave=64)
    tkw.WaveCompileOptions(preset="fetch-ahead")
Fix: leave it out. A preset such as `fetch-ahead` loads while it computes.

WV0340: a scan goes along a dimension that no workgroup has whole
Cause: each element is combined with all that come before it. Workgroups run
in any order and do not wait for each other, so none can go on where another
ended; nor can waves whose order `wave_id` hides.
Bad:
    WorkgroupConstraint(N, 1024, 0)      # N = 100000
    tkw.cumsum(x, dim=N)
Good:
    WorkgroupConstraint(N, 1024, 0)      # N = 1000; four waves:
    WaveConstraint(N, 256)
    tkw.cumsum(x, dim=N)
Fix: let one workgroup have the whole dimension, or loop over it and carry
what comes before as `acc`. A second kernel can add the sums of blocks.

WV0341: a scan stands where not all lanes come along
Cause: a scan moves elements between lanes, and between waves through LDS.
Lanes that do not run the body of a conditional have nothing to give.
Bad:
    @tkw.conditional(flag)
    def then():
        tkw.write(tkw.cumsum(x), b)
Good:
    sums = tkw.cumsum(x)
    @tkw.conditional(flag)
    def then():
        tkw.write(sums, b)
Fix: scan before the conditional and use the result in it.

WV0342: a sort of elements that no network sorts
Cause: a sort compares registers and lanes of one wave, whose indices differ
in one bit. It does not reach other waves, and lanes or registers have to
stand for powers of two.
Bad:
    WorkgroupConstraint(N, 512, 0); WaveConstraint(N, 128)
    tkw.sort(x, dim=N)
Good:
    WorkgroupConstraint(N, 512, 0)
    tkw.sort(x, dim=N)
Fix: give one wave all of the dimension. For a few of the greatest elements
`topk` works across waves.

WV0343: a slice of elements that no wave holds
Cause: `extract_slice` takes elements of a tile. Along the dimensions that it
cuts, one wave must hold all elements, and the slice must end among them.
Bad:
    constraints += [tkw.WaveConstraint(N, BLOCK_N / 2)]
    half = tkw.extract_slice(x, [0], [HALF], [2])       # along N
Good:
    constraints += [tkw.WaveConstraint(M, BLOCK_M / 2)]
    half = tkw.extract_slice(x, [0], [HALF], [2])
Fix: share another dimension among the waves, or read the elements from memory by
a mapping.

WV0344: more workgroups wait for one another than a chip holds
Cause: a while loop looks at a lock or a counter that other workgroups write, and
there are more workgroups than the chip can run at once. One that waits keeps its
place; where it waits for one that gets none, the launch hangs.
Bad:
    constraints = [tkw.WorkgroupConstraint(M, 64, 0), ...]     # M is 4,000,000
    @tkw.iterate(condition=GET_ITER_ARG(0) < 1, init_args=[zero])
    def wait(seen): ...
Good:
    constraints += [tkw.GridConstraint(304)]
Fix: launch as many as there are compute units, and let each do several tiles. It
is only a warning: who waits for those alone that drew an earlier number from an
atomic counter waits for workgroups that run.
""")
