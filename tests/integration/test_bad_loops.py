"""While loops and conditionals that cannot be: what the author reads."""

# ruff: noqa: E501 - messages are as long as the lines that they show

from __future__ import annotations

import numpy as np
import pytest
from test_bad_inputs import GROUP, HARDWARE, OTHER, SESSION, load

import wave_core.lang as tkl
from wave_core.compile import wave_compile
from wave_core.diagnostics import WaveError

ZERO = "zero = tkw.scalar(0, tkl.i32)\n"
CASES = {
    "the axis is never set": (
        """
@tkw.iterate(K, start=0, condition=K < 4)
def each():
    tkw.write(tkw.read(a), b)
""",
        """\
error[WV0140]: a while loop cannot end: no iteration changes its condition
   --> users_file.py:25:10 in kernel
25 |         @tkw.iterate(K, start=0, condition=K < 4)
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ holds for ever, if it holds once
26 |         def each():
   |         -------- this body changes nothing in it
   = help: `set_symbol(K, next)`, or return another value for what `GET_ITER_ARG` names""",
    ),
    "the carried number stays": (
        f"""{ZERO}
@tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[zero])
def each(count):
    return count
""",
        """\
error[WV0140]: a while loop cannot end: no iteration changes its condition
   --> users_file.py:26:10 in kernel
26 |         @tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[zero])
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ holds for ever, if it holds once
27 |         def each(count):
   |         -------- this body changes nothing in it
   = help: return another value for what `GET_ITER_ARG` names""",
    ),
    "a symbol of its own is no condition": (
        """
tkw.set_symbol(sym.S, 0)
@tkw.iterate(condition=sym.S < 4)
def each():
    tkw.set_symbol(sym.S, sym.S + 1)
""",
        """\
error[WV0140]: a while loop cannot end: no iteration changes its condition
   --> users_file.py:26:10 in kernel
26 |         @tkw.iterate(condition=sym.S < 4)
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ holds for ever, if it holds once
27 |         def each():
   |         -------- this body changes nothing in it
   = help: return another value for what `GET_ITER_ARG` names""",
    ),
    "symbols are never negative": (
        """
@tkw.iterate(K, start=4, condition=K >= 0)
def each():
    tkw.set_symbol(K, K - 1)
""",
        """\
error[WV0140]: a while loop cannot end: no iteration changes its condition
   --> users_file.py:25:10 in kernel
25 |         @tkw.iterate(K, start=4, condition=K >= 0)
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ holds for ever, if it holds once
26 |         def each():
   |         -------- this body changes nothing in it
   = note: the condition is a constant: symbols such as `sym.X` are never negative
   = help: `set_symbol(K, next)`, or return another value for what `GET_ITER_ARG` names""",
    ),
    "the axis goes the other way": (
        """
@tkw.iterate(K, start=4, condition=K < 8)
def each():
    tkw.set_symbol(K, K - 1)
""",
        """\
error[WV0140]: a while loop cannot end: no iteration ends its condition
   --> users_file.py:25:10 in kernel
25 |         @tkw.iterate(K, start=4, condition=K < 8)
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ holds for ever, if it holds once
26 |         def each():
   |         -------- after this body it holds again
   = help: `set_symbol(K, next)`, or return another value for what `GET_ITER_ARG` names""",
    ),
    "a tile decides": (
        """
x = tkw.read(i)
@tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[x])
def each(count):
    return count + 1
""",
        """\
error[WV0141]: `GET_ITER_ARG(0)` of a while loop is no integer scalar
   --> users_file.py:26:10 in kernel
25 |         x = tkw.read(i)
   |             ----------- this is reg<M, N, i32>
26 |         @tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[x])
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ one number decides for the whole wave
   = help: write `scalar(value, i32)`, or `cast` a scalar to i32
   = help: from a tile: `set_symbol(sym.X, tile)`, then `scalar(sym.X, i32)`""",
    ),
    "there is no such value": (
        f"""{ZERO}
@tkw.iterate(condition=tkl.GET_ITER_ARG(1) < 4, init_args=[zero])
def each(count):
    return count + 1
""",
        """\
error[WV0141]: `GET_ITER_ARG(1)` of a loop that carries 1 values
   --> users_file.py:26:10 in kernel
26 |         @tkw.iterate(condition=tkl.GET_ITER_ARG(1) < 4, init_args=[zero])
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ counted from 0, in the order of `init_args`
   = help: give the value in `init_args`, and return its next one""",
    ),
    "the body has parameters for it": (
        f"""{ZERO}
@tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[zero])
def each(count):
    return tkw.scalar(tkl.GET_ITER_ARG(0) + 1, tkl.i32)
""",
        """\
error[WV0141]: `GET_ITER_ARG` is used outside the condition of a loop
   --> users_file.py:28:20 in each
28 |             return tkw.scalar(tkl.GET_ITER_ARG(0) + 1, tkl.i32)
   |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ no condition
   = help: in the body, use the parameter that carries the value""",
    ),
    "the axis is set too deep": (
        """
@tkw.iterate(K, start=0, condition=K < 4)
def each():
    @tkw.conditional(K > 2)
    def then():
        tkw.set_symbol(K, K + 2)
""",
        """\
error[WV0142]: `set_symbol` of `K` in a body within the loop over it
   --> users_file.py:29:17 in then
25 |         @tkw.iterate(K, start=0, condition=K < 4)
   |          ---------------------------------------- this loop would go on as before
...
29 |                 tkw.set_symbol(K, K + 2)
   |                 ^^^^^^^^^^^^^^^^^^^^^^^^ holds to the end of this body only
   = help: return the next value from the inner body, and set it in the loop's own: `@conditional(..., else_return=...)`""",
    ),
    "a symbol ends with its body": (
        """
@tkw.conditional(M > 2)
def then():
    tkw.set_symbol(sym.S, 4)
tkw.write(tkw.broadcast(tkw.scalar(sym.S, tkl.f32), target_shape=[M, N]), b)
""",
        """\
error[WV0143]: symbol `S` is used outside the body that sets it
   --> users_file.py:28:33 in kernel
27 |             tkw.set_symbol(sym.S, 4)
   |             ------------------------ set for the rest of this body
28 |         tkw.write(tkw.broadcast(tkw.scalar(sym.S, tkl.f32), target_shape=[M, N]), b)
   |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^ has no value here
   = help: return the number from the body, and set the symbol here""",
    ),
    "neither form": (
        """
@tkw.iterate(init_args=[])
def each(): pass
""",
        """\
error[WV0144]: `iterate` needs an axis or a condition
   --> users_file.py:25:10 in kernel
25 |         @tkw.iterate(init_args=[])
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: write `@iterate(K)`""",
    ),
    "the next one is wider": (
        """
@tkw.iterate(K, start=0, condition=K < 4)
def each():
    tkw.set_symbol(K, tkw.scalar(K + 1, tkl.i64))
""",
        """\
error[WV0109]: the next `K` is i64, the first one i32
   --> users_file.py:27:13 in each
25 |         @tkw.iterate(K, start=0, condition=K < 4)
   |          ---------------------------------------- starts with i32
26 |         def each():
27 |             tkw.set_symbol(K, tkw.scalar(K + 1, tkl.i64))
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is i64
   = help: start with `scalar(0, i64)`, or `cast` the next to i32""",
    ),
    "branches disagree": (
        """
x = tkw.read(a)
@tkw.conditional(M > 2, else_return=x)
def then():
    return tkw.cast(x, tkl.f16)
""",
        """\
error[WV0109]: result 0 of `then` is reg<M, N, f16>, reg<M, N, f32> is given by `else_return`
   --> users_file.py:28:20 in then
26 |         @tkw.conditional(M > 2, else_return=x)
   |          ------------------------------------- value 0 given here is reg<M, N, f32>
27 |         def then():
   |         -------- returned from this body
28 |             return tkw.cast(x, tkl.f16)
   |                    ^^^^^^^^^^^^^^^^^^^^ this is reg<M, N, f16>
   = help: write `cast(value, f32)`""",
    ),
    "branches differ in number": (
        """
x = tkw.read(a)
@tkw.conditional(M > 2, else_return=[x, x])
def then():
    return x
""",
        """\
error[WV0109]: the body `then` returns 1 values, 2 are given by `else_return`
   --> users_file.py:27:9 in then
26 |         @tkw.conditional(M > 2, else_return=[x, x])
   |          ------------------------------------------ 2 values are given here
27 |         def then():
   |         ^^^^^^^^ returns 1
   = help: return the next value of each, in the same order""",
    ),
}


def rendered(folder, replaced):
    path, module = load(folder, replaced)
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    return str(caught.value).replace(str(path), "users_file.py")


@pytest.mark.parametrize("name", CASES)
def test_what_the_author_reads(name, tmp_path):
    body, wanted = CASES[name]
    indented = body.replace("\n", "\n        ")
    assert rendered(tmp_path, {"BODY": indented}) == wanted


def test_a_barrier_that_waves_may_not_reach_alike(tmp_path):
    """How often a wave goes around is read from a place of its own."""
    body = """
i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
own = tkw.IndexMapping(2, inputs={M: i, N: 0 * j}, outputs={M: i, N: j})
tkw.set_symbol(sym.S, tkw.max(tkw.read(COUNTS, mapping=own), dim=N))
@tkw.iterate(sym.T, start=0, condition=sym.T < sym.S)
def each():
    tkw.shared_memory_barrier()
    tkw.set_symbol(sym.T, sym.T + 1)
""".replace("COUNTS", "i_").replace("\n", "\n        ")
    rows = f"[{GROUP}, {OTHER}, tkw.WaveConstraint(M, 8), {HARDWARE}]"
    signature = "i_: tkl.Memory[M, N, GLOBAL, tkl.i32]"
    arguments = "f32(32, 32).astype('i4')"
    found = rendered(
        tmp_path,
        {"BODY": body, "CONSTRAINTS": rows, "SIGNATURE": signature}
        | {"ARGUMENTS": arguments},
    )
    assert (
        found
        == """\
error[WV0145]: `shared_memory_barrier` in a while loop that each wave may leave by itself
   --> users_file.py:30:13 in each
28 |         @tkw.iterate(sym.T, start=0, condition=sym.T < sym.S)
   |          ---------------------------------------------------- waves may differ in this condition
29 |         def each():
30 |             tkw.shared_memory_barrier()
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^ a wave waits here for all others
   = help: decide by what is the same in all waves, such as sizes
   = help: or move the barrier out of the loop"""
    )


def test_the_place_of_a_workgroup_counts_once(tmp_path):
    body = """
i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
at = tkw.IndexMapping(2, inputs={M: i + tkw.WORKGROUP_0 * 16, N: j}, outputs={M: i, N: j})
tkw.set_symbol(tkw.WORKGROUP_0, 1)
tkw.write(tkw.read(a, mapping=at), b)
""".replace("\n", "\n        ")
    rows = f"[tkw.GridConstraint(2), {GROUP}, {HARDWARE}]"
    found = rendered(tmp_path, {"BODY": body, "CONSTRAINTS": rows})
    assert (
        found
        == """\
error[WV0146]: the place of the workgroup counts twice in the coordinate along `M`
   --> users_file.py:26:14 in kernel
26 |         at = tkw.IndexMapping(2, inputs={M: i + tkw.WORKGROUP_0 * 16, N: j}, outputs={M: i, N: j})
   |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the iterator of `M` begins there already
27 |         tkw.set_symbol(tkw.WORKGROUP_0, 1)
28 |         tkw.write(tkw.read(a, mapping=at), b)
   |                   ----------------------- accessed after the kernel set the workgroup's coordinate
   = help: leave the workgroup's coordinate out of the mapping"""
    )


@pytest.mark.parametrize("device", ["sim", "sim-logical"])
def test_a_loop_that_stays_where_it_is(device, tmp_path):
    """No proof knows that 0 is its own double; an iteration shows it."""
    body = """
zero = tkw.scalar(0, tkl.i32)
@tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[zero])
def each(count):
    return count * 2
tkw.write(tkw.read(a) + tkw.cast(each, tkl.f32), b)
""".replace("\n", "\n        ")
    options = f"subs={{M: 32, N: 32, K: 32}}, device='{device}'"
    found = rendered(tmp_path, {"BODY": body, "OPTIONS": options})
    assert (
        found
        == """\
error[WV0140]: a while loop cannot end: an iteration changes nothing that decides
   --> users_file.py:26:10 in kernel
26 |         @tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[zero])
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ still holds
   = help: every iteration has to bring the condition closer to its end"""
    )


@pytest.mark.parametrize("device", ["sim", "sim-logical"])
@pytest.mark.parametrize(
    ("work", "result"),
    [
        ("", "count * 2, total + 1"),
        ("tkw.write(tkw.read(a), b)", "count * 2, total"),
        ("tkw.set_symbol(sym.NOW, count)", "tkw.scalar(sym.NOW // 2, tkl.i32), total"),
    ],
    ids=["sums", "writes", "symbols"],
)
def test_what_else_an_endless_loop_does_saves_it_not(device, work, result, tmp_path):
    body = f"""
zero = tkw.scalar(0, tkl.i32)
@tkw.iterate(condition=tkl.GET_ITER_ARG(0) < 4, init_args=[zero, zero])
def each(count, total):
    {work or "pass"}
    return {result}
tkw.write(tkw.read(a) + tkw.cast(each[0], tkl.f32), b)
""".replace("\n", "\n        ")
    options = f"subs={{M: 32, N: 32, K: 32}}, device='{device}'"
    found = rendered(tmp_path, {"BODY": body, "OPTIONS": options})
    title = "a while loop cannot end: an iteration changes nothing that decides"
    assert found.startswith(f"error[WV0140]: {title}\n   --> users_file.py:26:10")


@pytest.mark.parametrize("device", ["sim", "sim-logical"])
def test_a_loop_that_its_own_writes_end(device):
    """What decides is as it was for an iteration, and then it is not."""
    m, t = tkl.sym.M, tkl.sym.T
    counts = tkl.Memory[t, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32]

    @tkl.thread([tkl.WorkgroupConstraint(m, 64, 0), tkl.HardwareConstraint()])
    def kernel(at: counts, steps: tkl.Memory[m, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32]):
        me = tkl.thread_id(0)

        @tkl.iterate(init_args=[tkl.scalar(0, tkl.i32)], condition=lambda x: x < 2)
        def loop(x):
            tkl.store(tkl.load(at, me) + 1, at, me)
            return tkl.load(at, me) // 4

        tkl.store(loop, steps, me)

    at, steps = np.zeros(64, np.int32), np.zeros(64, np.int32)
    options = tkl.WaveCompileOptions(subs={m: 64, t: 64}, device=device)
    wave_compile(options, kernel, session=SESSION)(at, steps)
    assert set(at.tolist()) == {8}
    assert set(steps.tolist()) == {2}
