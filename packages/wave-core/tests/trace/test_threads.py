"""Kernels of single threads as traced, and what is refused in them."""

from __future__ import annotations

import re

import pytest

import wave_core.lang as tkw
from wave_core.constraints import thread_counts, threads_symbol
from wave_core.diagnostics import UserError
from wave_core.ir import parse_graph, print_graph, problems
from wave_core.ops.memory import Allocate, Read

M, N = tkw.sym.M, tkw.sym.N
SPACE = tkw.GLOBAL_ADDRESS_SPACE
A = tkw.Memory[N, SPACE, tkw.f32]
MATRIX = tkw.Memory[M, N, SPACE, tkw.f32]
CONSTRAINTS = [
    tkw.WorkgroupConstraint(N, 256, 0),
    tkw.HardwareConstraint(waves_per_block=(4, 2)),
]


def traced(function, **bindings):
    kernel = tkw.thread(CONSTRAINTS)(function)
    counts = thread_counts(kernel.constraints, 64)
    return kernel.trace({**counts, **bindings})


def rendered(function, **bindings):
    """The whole message, without places and numbers of lines."""
    with pytest.raises(UserError) as caught:
        traced(function, **bindings)
    text = re.sub(r"--> .*:\d+:(\d+) in \w+", "--> HERE", str(caught.value))
    lines = re.sub(r"(?m)^ *\d* \|", "|", text).splitlines()
    return [line if line.startswith("|") else line.strip() for line in lines]


def stepping(a: A):
    t = tkw.thread_id()
    shared = tkw.allocate((16, 17), dtype=tkw.f32)
    tkw.store(1, shared, (t // 16, t % 16))

    @tkw.iterate(init_args=[tkw.load(a, t)], condition=lambda x: x > 0)
    def loop(x):
        return x - tkw.load(shared, (0, tkw.program_id(1)))

    tkw.store(loop, a, t, mask=t < N)


def test_text_comes_back():
    graph = traced(stepping)
    text = print_graph(graph)
    assert print_graph(parse_graph(text)) == text
    assert not problems(parse_graph(text))


def test_what_a_thread_has_lies_along_the_threads():
    graph = traced(stepping)
    dims = (threads_symbol(0), threads_symbol(1))
    shapes = {op.register_type.shape for op in graph.walk() if isinstance(op, Read)}
    assert shapes == {dims}
    counts = thread_counts(graph.constraints, 64)
    assert [counts[dim] for dim in dims] == [256, 2]


def test_barriers_between_accesses_of_a_buffer_are_the_authors():
    (buffer,) = [op for op in traced(stepping).walk() if isinstance(op, Allocate)]
    assert not buffer.guarded
    assert [extent.constant_value for extent in buffer.distributed_shape] == [16, 17]


def early_barrier(a: A):
    @tkw.conditional(tkw.thread_id() < 32)
    def first():
        tkw.shared_memory_barrier()


def test_barrier_that_some_threads_miss():
    assert rendered(early_barrier) == [
        (
            "error[WV0152]: `shared_memory_barrier` where 64 of 512 threads of a "
            "workgroup come"
        ),
        "--> HERE",
        "|     @tkw.conditional(tkw.thread_id() < 32)",
        "|      ------------------------------------- not all threads enter this",
        "|     def first():",
        "|         tkw.shared_memory_barrier()",
        "|         ^^^^^^^^^^^^^^^^^^^^^^^^^^^ a thread waits here for all others",
        "= help: move the barrier out of the branch: all threads have to reach it",
        "= help: split the branch in two, and put the barrier between them",
    ]


def guarded_barrier(a: A):
    i = tkw.program_id() * 256 + tkw.thread_id()

    @tkw.conditional(i < N)
    def inside():
        @tkw.conditional(tkw.apply_expr(i, lambda n: n % 1 >= 0))
        def always():
            tkw.workgroup_barrier()


@pytest.mark.parametrize(("size", "found"), [(256, 0), (300, 1), (512, 0), (None, 0)])
def test_the_last_workgroup_decides_too(size, found):
    """Sizes that are bound are computed with; others are left to the simulators."""
    bindings = {} if size is None else {"N": size}
    if not found:
        traced(guarded_barrier, **bindings)
        return
    assert rendered(guarded_barrier, **bindings)[0] == (
        "error[WV0152]: `workgroup_barrier` where 88 of 512 threads of a workgroup come"
    )


def barrier_by_data(a: A):
    @tkw.conditional((tkw.load(a, 0) > 0) & (tkw.thread_id() < 32))
    def some():
        tkw.shared_memory_barrier()


def test_what_follows_from_data_is_left_to_the_simulators():
    traced(barrier_by_data)


def too_few(m: MATRIX):
    tkw.load(m, tkw.thread_id())


def whole_tile(a: A):
    tkw.read(a)


def no_bool(a: A):
    @tkw.iterate(init_args=[tkw.load(a, 0)], condition=lambda x: x)
    def loop(x):
        return x - 1


def endless(a: A):
    @tkw.iterate(init_args=[tkw.load(a, 0)], condition=lambda x: x > 0)
    def loop(x):
        return x


def two_kinds(a: A):
    @tkw.iterate(N, init_args=[tkw.load(a, 0)], condition=lambda x: x > 0)
    def loop(x):
        return x


def no_place(a: A):
    tkw.atomic_add(1, a)


def no_axis(a: A):
    tkw.thread_id("x")


def floats_as_place(a: A):
    tkw.load(a, tkw.load(a, 0))


def no_memory(a: A):
    tkw.load(tkw.load(a, 0), 0)


def integers_to_floats(a: A):
    tkw.store(tkw.thread_id(), a, 0)


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        (
            too_few,
            "WV0151",
            "`load` gives 1 coordinates, the memory has 2 dims",
        ),
        (
            no_place,
            "WV0151",
            "`atomic_add` gives 0 coordinates, the memory has 1 dims",
        ),
        (whole_tile, "WV0153", "`read` makes a tile along `N` in code of threads"),
        (
            no_bool,
            "WV0109",
            "the condition of a loop is reg<$THREADS0, $THREADS1, f32>",
        ),
        (
            endless,
            "WV0140",
            "a while loop cannot end: no iteration changes its condition",
        ),
        (
            two_kinds,
            "WV0144",
            "`iterate` has an axis and a function as `condition`",
        ),
        (no_axis, "WV0222", "`axis` is 'x'"),
        (floats_as_place, "WV0205", None),
        (no_memory, "WV0105", None),
        (integers_to_floats, "WV0204", None),
    ],
)
def test_refused(function, code, message):
    with pytest.raises(UserError) as caught:
        traced(function)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert message is None or found.message == message
    assert found.primary.location.file == __file__


def test_coordinates_that_do_not_fit():
    assert rendered(too_few) == [
        "error[WV0151]: `load` gives 1 coordinates, the memory has 2 dims",
        "--> HERE",
        "| def too_few(m: MATRIX):",
        "|             --------- this memory",
        "|     tkw.load(m, tkw.thread_id())",
        "|     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ accesses mem<M, N, global, f32>",
        "= help: write one for each of [M, N]",
    ]


def test_a_tile_in_code_of_threads():
    found = rendered(whole_tile)
    assert found[0] == "error[WV0153]: `read` makes a tile along `N` in code of threads"
    assert "|     ^^^^^^^^^^^ a thread has one element" in found
    assert any("says what one thread does" in line for line in found)


def test_threads_in_a_kernel_on_tiles():
    def tiles(a: A):
        tkw.store(tkw.load(a, 0), a, 0)

    with pytest.raises(UserError) as caught:
        tkw.wave(CONSTRAINTS)(tiles).trace()
    (found,) = caught.value.diagnostics
    assert found.code == "WV0150"
    assert (
        found.message == "`load` is for single threads, and this kernel works on tiles"
    )
    assert [label.message for label in found.secondary] == ["the kernel"]


@pytest.mark.parametrize("name", ["load", "store", "thread_id", "num_programs"])
def test_outside_a_kernel(name):
    arguments = {"load": (1, 2), "store": (1, 2, 3)}.get(name, ())
    with pytest.raises(UserError) as caught:
        getattr(tkw, name)(*arguments)
    assert caught.value.code == "WV0101"


@tkw.thread()
def scaled(x: tkw.f32, factor: tkw.f32, table: A):
    return x * factor + tkw.load(table, 0)


@tkw.thread()
def numbered(x):
    return x + tkw.cast(tkw.thread_id(), tkw.f32)


@tkw.thread()
def meeting(x):
    tkw.shared_memory_barrier()
    return x


@tkw.thread()
def shared(x):
    return tkw.load(tkw.allocate(4, dtype=tkw.f32), 0)


@tkw.thread()
def counting(x, a: A):
    tkw.store(tkw.num_threads(), a, 0)


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (
            lambda x, _: scaled(x),
            "WV0154",
            "call of `scaled`: missing a required argument: 'factor'",
        ),
        (
            lambda x, a: scaled(tkw.cast(x, tkw.f16), 2, a),
            "WV0154",
            "call of `scaled`: `x` is declared reg<f32>, and gets reg<M, N, f16>",
        ),
        (
            lambda x, _: scaled(x, 2.0, x),
            "WV0154",
            (
                "call of `scaled`: `table` is declared mem<N, global, f32>, and gets "
                "reg<M, N, f32>"
            ),
        ),
        (
            lambda x, _: numbered(x),
            "WV0155",
            "`thread_id` is for threads, and this function is called on a tile",
        ),
        (
            lambda x, _: meeting(x),
            "WV0155",
            (
                "`shared_memory_barrier` is for threads, and this function is called "
                "on a tile"
            ),
        ),
        (
            lambda x, _: shared(x),
            "WV0155",
            "`allocate` is for threads, and this function is called on a tile",
        ),
        (
            counting,
            "WV0155",
            "`num_threads` is for threads, and this function is called on a tile",
        ),
    ],
)
def test_calls_that_do_not_fit(call, code, message):
    def tiles(m: MATRIX, a: A):
        call(tkw.read(m), a)

    with pytest.raises(UserError) as caught:
        tkw.wave(CONSTRAINTS)(tiles).trace()
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert found.secondary


def test_called_and_not_compiled():
    with pytest.raises(UserError) as caught:
        scaled(1, 2, 3)
    assert caught.value.code == "WV0113"


def test_after_a_call_the_kernel_is_on_tiles_again():
    def tiles(m: MATRIX, a: A):
        tkw.write(scaled(tkw.read(m), 2, a), m)
        tkw.load(a, 0)

    with pytest.raises(UserError) as caught:
        tkw.wave(CONSTRAINTS)(tiles).trace()
    assert caught.value.code == "WV0150"


def moved(a: A):
    i = tkw.IndexMapping.iterator(0)
    at = tkw.IndexMapping(1, inputs={N: i + tkw.THREAD_0}, outputs={N: i})
    tkw.read(a, mapping=at)


def first_only(a: A):
    @tkw.conditional(tkw.THREAD_0 < 1)
    def first():
        tkw.write(tkw.read(a), a)


def set_to_thread(a: A):
    tkw.set_symbol(tkw.sym.S, tkw.scalar(tkw.THREAD_1, tkw.i32))


@pytest.mark.parametrize(
    ("function", "decorate", "code"),
    [
        (moved, tkw.wave, "WV0150"),
        (first_only, tkw.wave, "WV0150"),
        (moved, tkw.thread, "WV0156"),
        (set_to_thread, tkw.thread, "WV0156"),
    ],
)
def test_the_number_of_a_thread_where_one_is_for_all(function, decorate, code):
    with pytest.raises(UserError) as caught:
        decorate(CONSTRAINTS)(function).trace()
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.primary.location.file == __file__


def calls_itself(a: A):
    @tkw.thread()
    def halve(x: tkw.f32):
        return halve(x / 2)

    halve(tkw.load(a, 0))


def asked_about_two(a: A):
    @tkw.iterate(init_args=[tkw.load(a, 0)], condition=lambda x, y: x > y)
    def loop(x):
        return x / 2


def placed_by_a_memory(a: A):
    tkw.store(1, a, a)


def test_a_function_that_calls_itself():
    """Which part of the last line Python gives up at is its own affair."""
    *found, first, second = [line for line in rendered(calls_itself) if "^" not in line]
    assert first == (
        "= help: a function that calls itself ends by a number of Python, "
        "not by a value"
    )
    assert second == "= help: loop over values: `iterate(init_args=[x], condition=...)`"
    assert found == [
        "error[WV0120]: `calls_itself` goes deeper than Python can follow",
        "--> HERE",
        "| def calls_itself(a: A):",
        "| ---------------- the kernel",
        "...",
        "|         return halve(x / 2)",
    ]


def test_a_condition_of_too_many_values():
    title, _, *shown = rendered(asked_about_two)
    assert title == (
        "error[WV0108]: the condition of a loop is asked about 1 values: "
        "missing a required argument: 'y'"
    )
    call = "tkw.iterate(init_args=[tkw.load(a, 0)], condition=lambda x, y: x > y)"
    assert shown == [
        f"|     @{call}",
        f"|      {' ' * call.index('lambda')}^^^^^^",
        f"|      {'-' * len(call)} 1 initial values",
        "= help: one parameter for each initial value, in the same order",
    ]


def test_a_memory_as_a_coordinate():
    title, *shown = rendered(placed_by_a_memory)
    assert title == (
        "error[WV0201]: `write` needs a register as `index register 0` and got a memory"
    )
    assert shown == [
        "--> HERE",
        "| def placed_by_a_memory(a: A):",
        "|                        ---- a memory comes from here",
        "|     tkw.store(1, a, a)",
        "|     ^^^^^^^^^^^^^^^^^^ `index register 0` is a memory",
        "= help: read it into a register first",
    ]
