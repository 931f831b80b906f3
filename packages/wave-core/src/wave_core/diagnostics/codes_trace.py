"""WV01: tracing a kernel."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

TRACE_CODES = read_codes("""
WV0101: an op is used outside a kernel
Cause: ops such as `read` and `mma` record themselves in the kernel that is
being traced. Called anywhere else there is nothing to record them in.
Bad:
    a_reg = tkw.read(a)          # at module level, or in the launcher
Good:
    @tkw.wave(constraints)
    def copy(a: A, b: B):
        tkw.write(tkw.read(a), b)
Fix: move the call into the kernel, or into a function the kernel calls.

WV0102: Python needs the number of a value that is known only on the GPU
Cause: a kernel runs once in Python to record its ops. A register has no
number then, so `if`, `while`, `and`, `range`, `int()` cannot look at it.
Bad:
    if x > 0:
        y = x
Good:
    y = tkw.select(x > zero, x, zero)     # element by element
    @tkw.conditional(flag)                # a branch of the whole wave
    def then(): ...
Fix: use `select`, `conditional` or `iterate`. `if` on plain Python values,
such as options of a kernel factory, is fine.

WV0103: a value is used outside the loop or kernel that computes it
Cause: values made in the body of a loop or a conditional live there. Only
what the body returns leaves it. Values of another kernel never come in.
Bad:
    @tkw.iterate(K, init_args=[c])
    def loop(acc):
        a_reg = tkw.read(a)
        return tkw.mma(a_reg, tkw.read(b), acc)
    tkw.write(a_reg, out)
Good:
    tkw.write(loop, out)
Fix: carry the value through `init_args` and return it, or compute it again
after the loop.

WV0104: a register cannot be subscripted
Cause: `[...]` picks one of several results of a loop. A register is a tile
whose elements lie in many lanes; it has no subscripts.
Bad:
    row = a_reg[0, :]
Good:
    first, second = loop             # results of a loop with two values
    x = tkw.extract(a_reg, [0])      # one element along the last dim
Fix: use `extract`, `reshape`, or a mapping on the `read`.

WV0105: an operand is not a value of the kernel
Cause: an op got a Python object that is neither a value of this kernel nor
a number: a torch tensor, a list, a string, the result of no return.
Bad:
    y = a_reg + torch.ones(16)
Good:
    ones = tkl.Register[M, N, tkl.f32](1.0)
    y = a_reg + ones
Fix: pass data in as a kernel argument; make constants with `Register` or
`scalar`.

WV0106: an op is called with arguments it does not have
Cause: an unknown keyword, a missing or a repeated argument.
Bad:
    tkw.read(a, element_per_thread=8)
Good:
    tkw.read(a, elements_per_thread=8)
Fix: the message lists the arguments that the op takes. `tag=` is taken by
every op.

WV0107: an annotation of the kernel cannot be looked up
Cause: under `from __future__ import annotations` annotations are text, and
a name in that text is not visible where the function is defined.
Bad:
    def make():
        shape = (M, N)               # only used inside the annotation
        def kernel(a: Memory[shape, f16]): ...
Good:
    def kernel(a: tkl.Memory[M, N, GLOBAL, tkl.f16]): ...
Fix: use names of the module or of the enclosing function, or drop the
`__future__` import in the kernel's file.

WV0108: the body's parameters do not fit the values it starts from
Cause: `iterate` passes one value per entry of `init_args` to the body, in
order, and each keeps its type through the loop.
Bad:
    @tkw.iterate(K, init_args=[acc, maximum])
    def loop(acc): ...
Good:
    @tkw.iterate(K, init_args=[acc, maximum])
    def loop(acc, maximum): ...
Fix: give the body one parameter per initial value; annotate it, if at all,
with the type of that value.

WV0109: the body returns something else than what is carried
Cause: what a body returns becomes the next value of its parameters (or the
result of the conditional), so number, order and types must agree.
Bad:
    @tkw.iterate(K, init_args=[acc])          # acc is f32
    def loop(acc):
        return tkw.cast(tkw.mma(a_reg, b_reg, acc), tkl.f16)
Good:
        return tkw.mma(a_reg, b_reg, acc)
Fix: return one value per initial value, of the same type; cast after the
loop.

WV0111: a kernel parameter cannot be passed
Cause: the annotation of a parameter says how it is passed: a memory, a
scalar element type, or a symbol bound at run time. Without one there is no
telling. A launch passes all arguments in order or by name, so there are no
defaults, and neither `*args` nor `**kwargs`.
Bad:
    def scale(a, factor: float): ...
Good:
    def scale(
        a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.f16],
        factor: tkl.f32,
    ): ...
Fix: annotate with `Memory[...]`, an element type, or `SymbolBind[...]`.

WV0112: a kernel returns a value
Cause: a kernel has no result; it writes into memories that the caller
passes in. Functions with `yield` and `async` functions return one too.
Bad:
    def add(a: A, b: B):
        return tkw.read(a) + tkw.read(b)
Good:
    def add(a: A, b: B, c: C):
        tkw.write(tkw.read(a) + tkw.read(b), c)
Fix: add a parameter for the output and `write` to it.

WV0113: a kernel is called and not compiled
Cause: `@wave` describes a kernel. Only `wave_compile` makes something that
can run.
Bad:
    gemm(a, b, c)
Good:
    run = wave_compile(options, gemm)
    run(a, b, c)
Fix: compile once with options that bind the symbols, then call the result
as often as needed.

WV0114: this is not a constraint
Cause: the list passed to `@wave` holds something else than constraints.
Bad:
    @tkw.wave([tkw.WorkgroupConstraint(M, BLOCK_M, 0), BLOCK_N])
Good:
    @tkw.wave([
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
    ])
Fix: pass constraints only; assumptions are `tkw.Assumption(M > 0)`.

WV0115: a tag is misused
Cause: a tag names ops for a schedule. It is a word or a set of words; the
name that a schedule asks for must be on some op.
Bad:
    tkw.read(a, tag=1)
Good:
    tkw.read(a, tag="read_a")
Fix: use strings, spelt alike in the kernel and in its schedule.

WV0116: the source of a kernel is not a Python function
Cause: `@wave` traces a Python function. It got a class, a builtin, a
coroutine or some other object.
Bad:
    kernel = tkw.wave(constraints)("gemm")
Good:
    @tkw.wave(constraints)
    def gemm(a: A, b: B, c: C): ...
Fix: decorate a plain `def`.

WV0117: a kernel cannot be pickled by its name
Cause: a kernel is pickled as the name of its module and its own name there,
and is imported where it is read. This one is made inside a function, or
another name holds it.
Bad:
    def make():
        @tkw.wave(constraints)
        def copy(a, b): ...
        return copy

    pool.map(run, [make()])
Good:
    @tkw.wave(constraints)
    def copy(a, b): ...

    pool.map(run, [copy])
Fix: define the kernel at the top of a module, or hand over what makes it. So it
is with schedules that count nodes.

WV0118: a symbol that has a value is set
Cause: `set_symbol` gives a value to a symbol of the kernel's own. Sizes of
arguments, symbols bound in the options and coordinates of the machine have
one: grids, tiles and masks follow from it.
Bad:
    tkw.set_symbol(M, 5)                         # a: Memory[M, N, ...]
Good:
    tkw.set_symbol(sym.ROW, 5)
Fix: use another symbol where the value of this one should change.

WV0119: the language has no such name
Cause: the name is misspelt, or is one of another language.
Bad:
    tkw.store(x, c)
Good:
    tkw.write(x, c)
Fix: take the name that the message proposes; `dir(tkw)` lists all.

WV0120: a kernel calls functions, or nests bodies, without end
Cause: Python runs a kernel once to see what it does, and Wave asks it for each
call of a function and each body within a body. A function that calls itself
for as long as a value of the GPU says does so without end.
Bad:
    @tkw.thread()
    def halve(x: tkw.f32):
        return halve(x / 2)
Good:
    @tkw.thread()
    def halve(x: tkw.f32):
        @tkw.iterate(init_args=[x], condition=lambda x: x > 1)
        def loop(x):
            return x / 2
        return loop
Fix: loop with `iterate`, or count calls in a number of Python that ends them.

WV0140: a while loop cannot end
Cause: the condition of a loop is a relation of symbols. No iteration changes
one of them: the body neither sets the axis nor returns another value for
what `GET_ITER_ARG` names. Symbols that the body sets hold to its end only.
Bad:
    @tkw.iterate(T, start=0, condition=T < 8)
    def each(): ...
Good:
    @tkw.iterate(T, start=0, condition=T < 8)
    def each():
        ...
        tkw.set_symbol(T, T + 1)
Fix: set the axis in the body, or return a new value for what decides.

WV0141: a while loop is decided by what is no integer scalar of it
Cause: where a loop starts, and what `GET_ITER_ARG(i)` names in a condition,
is one integer for the whole wave. The body knows carried values by its
parameters, and has no `GET_ITER_ARG`.
Bad:
    @tkw.iterate(condition=GET_ITER_ARG(0) < 8, init_args=[tile])
Good:
    zero = tkw.scalar(0, tkw.i32)
    @tkw.iterate(condition=GET_ITER_ARG(0) < 8, init_args=[zero, tile])
Fix: carry an integer scalar beside the tile.

WV0142: the axis of a while loop is set in a body within its own
Cause: a symbol that is set holds to the end of the body in which that stands,
so the loop itself would not go on.
Bad:
    @tkw.conditional(flag)
    def then():
        tkw.set_symbol(T, T + 2)
Good:
    @tkw.conditional(flag, else_return=one)
    def step():
        return tkw.scalar(2, tkw.i32)
    tkw.set_symbol(T, step + tkw.scalar(T, tkw.i32))
Fix: give the inner body a result, and set the axis in the loop's own body.

WV0143: a symbol is used outside the body that sets it
Cause: `set_symbol` holds to the end of the body in which it stands. Behind it
the symbol has no value.
Bad:
    @tkw.iterate(K)
    def each():
        tkw.set_symbol(ROW, found)
    x = tkw.read(a, mapping=at_row)
Good:
    tkw.set_symbol(ROW, each)                    # what the body returned
    x = tkw.read(a, mapping=at_row)
Fix: return the number from the body, and set the symbol where it is used.

WV0144: a loop does not say how often it runs
Cause: a counted loop runs over an axis, a while loop as long as its condition
holds, along an axis or not. `start` belongs to an axis; `step` to counting.
Bad:
    @tkw.iterate(init_args=[x])
Good:
    @tkw.iterate(K, init_args=[x])
    @tkw.iterate(condition=GET_ITER_ARG(0) > 0, init_args=[n])
Fix: give an axis or a condition.

WV0145: a barrier in a while loop that not all waves run equally often
Cause: a barrier waits for all waves of the workgroup. The condition of the
loop may differ between them, so one may wait for another that has left.
Bad:
    tkw.set_symbol(N, tkw.read(own_counts))      # another number in each wave
    @tkw.iterate(T, start=0, condition=T < N)
    def each():
        tkw.shared_memory_barrier()
Good:
    tkw.set_symbol(N, tkw.read(counts, mapping=of_the_workgroup))
Fix: decide by what is the same in all waves, or move the barrier out.

WV0146: the place of a workgroup counts twice
Cause: under `GridConstraint` a kernel sets the coordinates of its workgroups.
Tiles are then where these say, and so are the iterators of a mapping.
Bad:
    tkw.set_symbol(WORKGROUP_0, tile)
    IndexMapping(1, inputs={M: WORKGROUP_0 * BLOCK_M + i}, outputs={M: i})
Good:
    tkw.set_symbol(WORKGROUP_0, tile)
    tkw.read(a)
Fix: leave the coordinate out of the mapping, or place the tiles by a symbol
of your own.

WV0147: an iterator of a mapping is used outside of one
Cause: `IndexMapping.iterator(i)` and `dynamic_val(i)` have another value for each
element of a tile. They mean something in mappings and their bounds alone;
elsewhere an expression of symbols is one number for the whole tile.
Bad:
    i = tkw.IndexMapping.iterator(0)
    y = tkw.read(a) + i
Good:
    y = tkw.read(a) + tkw.self_index(M, tkw.i32)
Fix: compute with `self_index`, the index of each element as a register.

WV0170: a log names iterations of a loop that is not around it
Cause: `extra_iteration_dimensions` makes the iterations of a loop a dimension of
the log. The loop has to be a counted one, around the log, and each is named once.
Bad:
    tkw.debug_log(acc, extra_iteration_dimensions=[K])   # after the loop over K
Good:
    @tkw.iterate(K, init_args=[acc])
    def product(acc):
        tkw.debug_log(acc, extra_iteration_dimensions=[K])
Fix: log inside the loop, or leave the dimension out. Of a while loop, carry a
number and log it too.

WV0171: a log cannot be called so, or cannot be shown so
Cause: labels of logs are keys of one dictionary. Printers and handlers are
functions that get the logs after a launch.
Bad:
    for i in range(2):
        tkw.debug_log(tiles[i], label="tile")
Good:
    for i in range(2):
        tkw.debug_log(tiles[i], label=f"tile{i}")
Fix: give each log a label of its own, and functions for `printer` and `handler`.
""")
