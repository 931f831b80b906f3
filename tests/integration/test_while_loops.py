"""Loops with a condition, on whole tiles, on lanes and as machine code."""

from __future__ import annotations

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
import workspace
from wave_core.compile import Config, Session, wave_compile
from wave_core.lang import GET_ITER_ARG

sym = tkl.sym
B, I, J, M, N, S, X = sym.B, sym.I, sym.J, sym.M, sym.N, sym.S, sym.X
TOTAL = sym.TOTAL
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SHARED = tkl.SHARED_ADDRESS_SPACE
ROWS = [
    tkw.WorkgroupConstraint(M, 64, 0),
    tkw.HardwareConstraint(threads_per_wave=64),
]
Vector = tkl.Memory[M, GLOBAL, tkl.f32]
PLACES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
    ("asm", "gfx942"),
)
"""Devices and targets; `asm` is the emulator, on code of that backend."""

pytestmark = [
    pytest.mark.covering(1),
    pytest.mark.parametrize(
        ("device", "target"),
        PLACES,
        ids=["tiles", "lanes", "gfx942", "gfx950", "assembly"],
    ),
]


@pytest.fixture
def run(device, target):
    config, points = Config(cache=False), workspace.plugins()
    session = Session(config=config, entry_points=points, announce=lambda _: None)
    place = {"device": device, "target": target}
    if device == "asm":
        place |= {"device": "emulator", "backend": "asm"}

    def compile_and_call(kernel, subs, *arguments, **options):
        chosen = tkw.WaveCompileOptions(subs=subs, **place, **options)
        compiled = wave_compile(chosen, kernel, session=session)
        compiled(*arguments)
        assert compiled.last_run.reports == ()
        return compiled

    return compile_and_call


def poisoned(*shape, dtype=torch.float32):
    fill = torch.nan if dtype.is_floating_point else -77
    return torch.full(shape, fill, dtype=dtype)


@pytest.mark.parametrize("total", [0, 1, 7])
def test_a_bound_symbol_decides(run, total):
    @tkw.wave(ROWS)
    def repeated(x: Vector, y: Vector, TOTAL: tkl.SymbolBind[tkl.i32]):
        step = tkw.read(x)
        zero = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(X, start=0, condition=sym.TOTAL > X, init_args=[zero])
        def each(acc):
            tkw.set_symbol(X, X + 2)
            return acc + step

        tkw.write(each, y)

    x, y = torch.randn(100), poisoned(100)
    run(repeated, {M: 100}, x, y, total)
    torch.testing.assert_close(y, x * ((total + 1) // 2))


@pytest.mark.parametrize("total", [-3, 0, 1, 6])
def test_a_carried_number_decides(run, total):
    """Collatz: how many steps to 1; no axis, and a number that falls below zero."""

    @tkw.wave(ROWS)
    def countdown(y: tkl.Memory[M, GLOBAL, tkl.i32], first: tkl.i32):
        zero = tkl.Register[M, tkl.i32](0)

        @tkw.iterate(condition=GET_ITER_ARG(1) >= 0, init_args=[zero, first])
        def each(steps, left):
            return steps + 1, left - 2

        tkw.write(each[0], y)

    y = poisoned(70, dtype=torch.int32)
    run(countdown, {M: 70}, y, total)
    assert torch.equal(y, torch.full_like(y, max(0, total // 2 + 1)))


def test_where_it_stands_is_a_number(run):
    """`scalar`, `apply_expr`, `conditional` and a start from memory in the body."""
    i = tkw.IndexMapping.iterator(0)
    first = tkw.IndexMapping(num_iterators=1, inputs={N: 0 * i}, outputs={M: i})

    @tkw.wave(ROWS)
    def odd_ones(
        begin: tkl.Memory[N, GLOBAL, tkl.i32], y: tkl.Memory[M, GLOBAL, tkl.i32]
    ):
        tkw.set_symbol(S, tkw.read(begin, mapping=first, elements_per_thread=1))
        zero = tkl.Register[M, tkl.i32](0)
        start = tkw.scalar(S, tkl.i32)

        @tkw.iterate(X, start=start, condition=X < 3 * S + 1, init_args=[zero])
        def each(total):
            @tkw.conditional(sym.X % 2 > 0, else_return=total)
            def odd(before):
                here = tkw.broadcast(tkw.self_index(X, tkl.i32), target_shape=[M])
                return before + tkw.apply_expr(here, lambda h: h * h + X)

            tkw.set_symbol(X, tkw.scalar(X, tkl.i32) + 1)
            return odd

        tkw.write(each, y)

    begin, y = torch.tensor([3], dtype=torch.int32), poisoned(128, dtype=torch.int32)
    run(odd_ones, {M: 128, N: 1}, begin, y)
    wanted = sum(x * x + x for x in range(3, 10) if x % 2)
    assert torch.equal(y, torch.full_like(y, wanted))


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_axis_may_be_a_dimension(run, rows):
    """Every other row of a matrix; the tile is the row where the loop stands."""

    @tkw.wave([*ROWS, tkw.TilingConstraint(B)])
    def every_other(
        x: tkl.Memory[B, M, GLOBAL, tkl.f32],
        y: tkl.Memory[B, M, GLOBAL, tkl.f32],
        z: Vector,
    ):
        zero = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(B, start=0, condition=rows > B, init_args=[zero])
        def each(total):
            row = tkw.read(x)
            tkw.write(row + 1.0, y)
            tkw.set_symbol(B, B + 2)
            return tkw.sum(row, total, dim=B)

        tkw.write(each, z)

    x, y, z = torch.randn(rows, 70), torch.zeros(rows, 70), poisoned(70)
    run(every_other, {B: rows, M: 70}, x, y, z)
    wanted = torch.zeros(rows, 70)
    wanted[::2] = x[::2] + 1
    assert torch.equal(y, wanted)
    torch.testing.assert_close(z, x[::2].sum(0))


def test_nested_loops(run):
    """A while loop in one, a counted loop in that, and one over the same axis."""

    @tkw.wave([*ROWS, tkw.TilingConstraint(N, 2)])
    def nested(y: tkl.Memory[M, GLOBAL, tkl.i32]):
        zero = tkl.Register[M, tkl.i32](0)

        @tkw.iterate(I, start=1, condition=I < 5, init_args=[zero])
        def outer(total):
            @tkw.iterate(J, start=I, condition=J < 2 * I, init_args=[total])
            def inner(total):
                @tkw.iterate(N, init_args=[total])
                def counted(total):
                    @tkw.iterate(I, start=0, condition=I < 2, init_args=[total])
                    def same(total):
                        tkw.set_symbol(I, I + 1)
                        return total + 1

                    return same

                tkw.set_symbol(J, J + 1)
                one = tkw.scalar(100 * I + J, tkl.i32)
                return counted + tkw.broadcast(one, target_shape=[M])

            tkw.set_symbol(I, I + 1)
            return inner

        tkw.write(outer, y)

    y = poisoned(64, dtype=torch.int32)
    run(nested, {M: 64, N: 5}, y)
    pairs = [(i, j) for i in range(1, 5) for j in range(i + 1, 2 * i + 1)]
    wanted = sum(6 + 100 * i + j for i, j in pairs)
    assert torch.equal(y, torch.full_like(y, wanted))


def test_trip_counts_differ_between_workgroups(run):
    """The rows of a ragged array, one a workgroup; one of them is empty."""
    i = tkw.IndexMapping.iterator(0)
    begin = tkw.IndexMapping(
        num_iterators=1, inputs={S: tkw.WORKGROUP_0}, outputs={M: i}
    )
    end = tkw.IndexMapping(
        num_iterators=1, inputs={S: tkw.WORKGROUP_0 + 1}, outputs={M: i}
    )
    piece = tkw.IndexMapping(num_iterators=1, inputs={N: 8 * X + i}, outputs={J: i})
    constraints = [
        tkw.WorkgroupConstraint(B, 1, 0),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def ragged(
        starts: tkl.Memory[S, GLOBAL, tkl.i32],
        x: tkl.Memory[N, GLOBAL, tkl.f32],
        y: tkl.Memory[B, GLOBAL, tkl.f32],
    ):
        tkw.set_symbol(sym.FROM, tkw.read(starts, mapping=begin))
        tkw.set_symbol(sym.TO, tkw.read(starts, mapping=end))
        zero = tkl.Register[B, tkl.f32](0.0)

        @tkw.iterate(X, start=sym.FROM, condition=sym.TO > X, init_args=[zero])
        def each(total):
            part = tkw.sum(tkw.read(x, mapping=piece), dim=J)
            tkw.set_symbol(X, X + 1)
            return total + tkw.broadcast(part, target_shape=[B])

        tkw.write(each, y)

    starts = torch.tensor([0, 2, 2, 3, 7], dtype=torch.int32)
    x, y = torch.randn(56), poisoned(4)
    run(ragged, {B: 4, S: 5, N: 56, J: 8, M: 1}, starts, x, y)
    sums = x.reshape(7, 8).sum(1)
    bounds = list(zip(starts.tolist(), starts.tolist()[1:], strict=False))
    wanted = torch.stack([sums[a:b].sum() for a, b in bounds])
    torch.testing.assert_close(y, wanted)


@pytest.mark.parametrize("preset", ["default", "naive"])
def test_waves_exchange_in_every_iteration(run, preset):
    """What one iteration leaves in shared memory is read before the next writes."""
    i = tkw.IndexMapping.iterator(0)
    reversed_ = tkw.IndexMapping(1, inputs={M: 255 - i}, outputs={M: i})

    @tkw.wave([tkw.WorkgroupConstraint(M, 256, 0), tkw.WaveConstraint(M, 64), ROWS[1]])
    def turned(x: Vector, y: Vector, TOTAL: tkl.SymbolBind[tkl.i32]):
        shared = tkw.allocate([M], [256], tkl.f32)

        @tkw.iterate(X, start=0, condition=sym.TOTAL > X, init_args=[tkw.read(x)])
        def each(values):
            tkw.write(values + 1.0, shared)
            tkw.set_symbol(X, X + 1)
            return tkw.read(shared, mapping=reversed_)

        tkw.write(each, y)

    for total in (0, 1, 4):
        x, y = torch.randn(256), poisoned(256)
        run(turned, {M: 256}, x, y, total, preset=preset)
        wanted = x.flip(0) if total % 2 else x
        torch.testing.assert_close(y, wanted + total)


def test_a_symbol_set_in_a_body_is_as_before_behind_it(run):
    """In a conditional, in a counted loop and in a while loop."""

    @tkw.wave([*ROWS, tkw.TilingConstraint(N, 1)])
    def nested(y: tkl.Memory[M, GLOBAL, tkl.i32]):
        tkw.set_symbol(S, 5)

        @tkw.conditional(tkw.WORKGROUP_0 >= 0)
        def always():
            tkw.set_symbol(S, S + 70)

        @tkw.iterate(N)
        def counted():
            tkw.set_symbol(S, S + 700)

        @tkw.iterate(X, start=0, condition=X < S)
        def while_():
            tkw.set_symbol(S, S + 7000)
            tkw.set_symbol(X, X + 1)

        value = tkw.scalar(S, tkl.i32)
        tkw.write(tkw.broadcast(value, target_shape=[M]), y)

    y = poisoned(64, dtype=torch.int32)
    run(nested, {M: 64, N: 3}, y)
    assert torch.equal(y, torch.full_like(y, 5))


@pytest.mark.parametrize("flag", [0, 3])
def test_results_of_conditionals(run, flag):
    """Tiles and scalars, a parameter of the kernel, one in the other, in a loop."""

    @tkw.wave(ROWS)
    def chosen(x: Vector, y: Vector, scale: tkl.f32, FLAG: tkl.SymbolBind[tkl.i32]):
        first = tkw.read(x)

        @tkw.iterate(X, start=0, condition=X < 3, init_args=[first])
        def each(value):
            @tkw.conditional(sym.FLAG > X, else_return=[value, scale])
            def then(value, factor):
                @tkw.conditional(sym.FLAG > X + 1, else_return=value)
                def twice(value):
                    return value + value

                return twice + 1.0, factor * 2.0

            tkw.set_symbol(X, X + 1)
            return then[0] * tkw.broadcast(then[1], target_shape=[M])

        tkw.write(each, y)

    x, y = torch.randn(100), poisoned(100)
    run(chosen, {M: 100}, x, y, 0.5, flag)
    value = x.clone()
    for step in range(3):
        holds = flag > step
        if holds:
            value = value * (2 if flag > step + 1 else 1) + 1
        value = value * (1.0 if holds else 0.5)
    torch.testing.assert_close(y, value)


@pytest.mark.parametrize("total", [0, 1, 5])
def test_a_word_that_is_written_again_is_another_number(run, total):
    """Carried beside a number of 64 bits from the turn before, by a branch too."""

    @tkw.wave(ROWS)
    def risen(
        x: tkl.Memory[M, GLOBAL, tkl.i32],
        y: tkl.Memory[M, GLOBAL, tkl.i32],
        TOTAL: tkl.SymbolBind[tkl.i32],
    ):
        first, zero = tkw.read(x), tkl.Register[M, tkl.i32](0)
        start = [first, tkw.cast(first, tkl.i64), zero]

        @tkw.iterate(X, start=0, condition=sym.TOTAL > X, init_args=start)
        def each(word, before, count):
            @tkw.conditional(sym.X % 2 > 0, else_return=word)
            def moved(word):
                return word * 5 + 1

            wide, own = tkw.cast(moved, tkl.i64), tkw.cast(word, tkl.i64)
            rises = tkw.cast(wide > own, tkl.i32) + tkw.cast(wide >= before, tkl.i32)
            tkw.set_symbol(X, X + 1)
            return moved ^ 3, own + own, count * 3 + rises

        tkw.write(each[2] + tkw.cast(each[1] < tkw.cast(each[0], tkl.i64), tkl.i32), y)

    ends = [-(2**31), 1 - 2**31, -1, 0, 1, 99, 100, 2**31 - 2, 2**31 - 1]
    x = torch.tensor(ends * 8, dtype=torch.int32)[:70]
    y = poisoned(70, dtype=torch.int32)
    run(risen, {M: 70}, x, y, total)
    word, before, count = x, x.long(), torch.zeros_like(x)
    for turn in range(total):
        moved = word * 5 + 1 if turn % 2 else word
        count = count * 3 + (moved > word).int() + (moved >= before).int()
        word, before = moved ^ 3, 2 * word.long()
    assert torch.equal(y, count + (before < word).int())
