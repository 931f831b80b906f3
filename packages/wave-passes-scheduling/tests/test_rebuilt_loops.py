"""Loops without an epilogue, with several iterations in a turn, nested, conditional."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy
from pipelined_kernels import loops_of, run_gemm, staged_gemm, statistics

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session
from wave_core.diagnostics import UserError

M, K, L, AT = tkl.sym.M, tkl.sym.K, tkl.sym.L, tkl.sym.AT
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
STRATEGIES = ("prefetch", "four-stage", "modulo")
UNIT = ("schedule-loops{profile=unit}",)


def gemm(strategy, trips, *, dynamic=False, kernel=None, cut=0, **options):
    k = max(16 * trips - cut, 0)
    return run_gemm(
        kernel or staged_gemm(),
        (40, 33, k),
        preset=strategy,
        passes=UNIT,
        dynamic=dynamic,
        **options,
    )


@pytest.mark.covering(2)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 2, 4, 7])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_loops_without_an_epilogue(strategy, trips, dynamic):
    _, error = gemm(
        strategy, trips, dynamic=dynamic, cut=3 * (trips % 2), eliminate_epilogue=True
    )
    assert error < 1e-4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_but_the_loop_multiplies_without_an_epilogue(strategy):
    compiled, _ = gemm(strategy, 9, eliminate_epilogue=True)
    graph = compiled.compiled.lowered
    (loop,) = loops_of(compiled)
    inside = [op for op in loop.body.ops if op.op_name == "mma"]
    assert len(inside) == sum(op.op_name == "mma" for op in graph.walk())
    assert loop.count.constant_value == 9
    assert statistics(compiled)["epilogues_eliminated"] == 1


def test_one_loop_serves_all_trip_counts_without_an_epilogue():
    compiled, _ = gemm("prefetch", 9, dynamic=True, eliminate_epilogue=True)
    assert len(loops_of(compiled)) == 1


def test_a_barrier_in_an_early_stage_keeps_the_epilogue():
    kernel = staged_gemm(fenced=True)
    compiled, error = gemm("prefetch", 5, kernel=kernel, eliminate_epilogue=True)
    assert error < 1e-4
    assert "epilogues_eliminated" not in statistics(compiled)
    (warning,) = compiled.compiled.warnings
    assert warning.code == "WV0507"
    assert "`shared_memory_barrier` cannot run" in warning.message


@pytest.mark.covering(2)
@pytest.mark.parametrize(("dynamic", "factor"), [(False, 2), (True, 3)])
@pytest.mark.parametrize("trips", [0, 1, 4, 7])
@pytest.mark.parametrize("strategy", ["default", *STRATEGIES])
def test_unrolled_loops(strategy, trips, dynamic, factor):
    _, error = gemm(strategy, trips, dynamic=dynamic, unroll_factor=factor)
    assert error < 1e-4


@pytest.mark.parametrize(
    ("trips", "factor", "counts"),
    [(8, 2, [4]), (8, 4, [2]), (9, 2, [4, 1]), (3, 4, [3]), (8, 1, [8])],
)
def test_a_remainder_where_the_count_does_not_divide(trips, factor, counts):
    compiled, _ = gemm("default", trips, unroll_factor=factor)
    assert [loop.count.constant_value for loop in loops_of(compiled)] == counts


def test_an_assumption_that_proves_the_count_divides_removes_the_remainder():
    kernel = staged_gemm(tkw.Assumption(sympy.Eq(tkl.sym.K % 64, 0)))
    compiled, error = gemm("default", 8, dynamic=True, kernel=kernel, unroll_factor=4)
    assert error < 1e-4
    assert len(loops_of(compiled)) == 1


def test_a_false_assumption_about_an_unrolled_loop_is_refused_at_launch():
    kernel = staged_gemm(tkw.Assumption(sympy.Eq(tkl.sym.K % 64, 0)))
    with pytest.raises(UserError) as caught:
        gemm("default", 5, dynamic=True, kernel=kernel, unroll_factor=4)
    assert [row.code for row in caught.value.diagnostics] == ["WV0718"]


def symbols_in_turn():
    """Sums of rows, and of a symbol before and after each iteration sets it."""
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.TilingConstraint(K, 8),
        tkw.HardwareConstraint(),
    ]

    def now(factor):
        value = tkw.scalar(factor * AT, tkl.i32)
        return tkw.broadcast(value, target_shape=[M])

    @tkw.wave(rows)
    def sums(a: tkl.Memory[M, K, GLOBAL, tkl.i32], o: tkl.Memory[M, GLOBAL, tkl.i32]):
        tkw.set_symbol(AT, tkw.scalar(100, tkl.i32))
        inits = [tkl.Register[M, tkl.i32](0), tkw.scalar(1, tkl.i32)]

        @tkw.iterate(K, init_args=inits)
        def loop(total, count):
            total = total + now(1)
            tkw.set_symbol(AT, count)
            return tkw.sum(tkw.read(a), total, dim=K) + now(1000), count + 1

        tkw.write(loop[0] + now(1), o)

    return sums


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_each_unrolled_iteration_begins_with_the_symbols_from_before(trips):
    given = tkw.WaveCompileOptions(
        subs={M: 3, K: 8 * trips}, device="sim", unroll_factor=2, passes=UNIT
    )
    kernel = tkw.wave_compile(given, symbols_in_turn(), session=Session())
    a, o = np.ones((3, 8 * trips), np.int32), np.zeros(3, np.int32)
    kernel(a, o)
    own = sum(range(1, trips + 1))
    assert (o == 8 * trips + 100 * (trips + 1) + 1000 * own).all()


def test_copies_take_turns_at_no_cost_in_an_unrolled_loop():
    compiled, error = gemm("prefetch", 9, multi_buffer_count=2, unroll_factor=2)
    assert error < 1e-4
    text = str(compiled.compiled.lowered)
    body = text.partition("iterate")[2].partition("yield")[0]
    assert "$IV:K" in body
    assert not re.search(r"\$IV:K[^,]*% 2", body)


@pytest.mark.parametrize("value", [0, -1])
def test_a_factor_that_is_no_number_of_iterations(value):
    with pytest.raises(UserError, match=r"option `unroll` .* cannot be"):
        gemm("default", 4, unroll_factor=value)


# ---- buffers


def shapes(compiled):
    return [
        int(str(op.distributed_shape[0]))
        for op in compiled.compiled.lowered.walk()
        if op.op_name == "allocate"
    ]


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        ("four-stage", {}),
        ("prefetch", {"multi_buffer_count": 2}),
        ("prefetch-attention", {}),
    ],
)
def test_a_loop_that_stays_as_it_is_keeps_its_buffers(strategy, options):
    trips = 0 if strategy == "prefetch" else 2
    compiled, error = gemm(strategy, trips, **options)
    assert error < 1e-4
    assert "pipelined_loops" not in statistics(compiled)
    assert shapes(compiled) == [32, 32]


# ---- other loops


def conditional(limit):
    """Sums of tiles, of which only those before ``limit`` are read."""
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.TilingConstraint(K, 8),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def sums(a: tkl.Memory[M, K, GLOBAL, tkl.f32], o: tkl.Memory[M, GLOBAL, tkl.f32]):
        nil = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[nil])
        def loop(total):
            now = tkw.sum(tkw.read(a), dim=K)

            @tkw.conditional(limit > M)
            def body():
                tkw.write(now, o)

            return total + now

        tkw.write(loop, o)

    return sums


@pytest.mark.parametrize("limit", [4, 99])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_loop_with_a_conditional(strategy, limit):
    given = tkw.WaveCompileOptions(
        subs={M: 11, K: 40}, device="sim", preset=strategy, passes=UNIT
    )
    kernel = tkw.wave_compile(given, conditional(limit), session=Session())
    a = np.random.default_rng(0).standard_normal((11, 40)).astype(np.float32)
    o = np.full(11, np.nan, np.float32)
    kernel(a, o)
    assert np.allclose(o, a.sum(axis=1), rtol=1e-4, atol=1e-4)


def nested():
    """Sums over two dimensions: of squares, and how often numbers are positive."""
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.TilingConstraint(L, 1),
        tkw.TilingConstraint(K, 8),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def sums(
        a: tkl.Memory[M, L, K, GLOBAL, tkl.f32],
        o: tkl.Memory[M, GLOBAL, tkl.f32],
        p: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        nil = tkl.Register[M, tkl.f32](0.0)
        one = tkl.Register[M, tkl.f32](1.0)

        @tkw.iterate(L, init_args=[nil, one])
        def outer(total, other):
            @tkw.iterate(K, init_args=[total, other])
            def inner(total, other):
                x = tkw.read(a)
                square = tkw.sum(tkw.sum(x * x, dim=K), dim=L)
                return total + square, square + other / 2

            return inner[0], inner[1]

        tkw.write(outer[0], o)
        tkw.write(outer[1], p)

    return sums


def expected(a):
    total, other = np.zeros(len(a)), np.ones(len(a))
    for row in range(a.shape[1]):
        for tile in np.split(a[:, row].astype(np.float64), a.shape[2] // 8, axis=1):
            square = (tile * tile).sum(axis=1)
            total, other = total + square, square + other / 2
    return total, other


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"eliminate_epilogue": True},
        {"eliminate_epilogue": True, "unroll_factor": 2},
    ],
    ids=["plain", "endless", "endless-unrolled"],
)
@pytest.mark.parametrize("trips", [1, 2, 5])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_inner_loop_with_several_carried_values(strategy, trips, options):
    sizes = {M: 11, L: 3, K: 8 * trips}
    given = tkw.WaveCompileOptions(
        subs=sizes,
        device="sim",
        preset=strategy,
        passes=UNIT,
        **options,
    )
    kernel = tkw.wave_compile(given, nested(), session=Session())
    a = np.random.default_rng(trips).standard_normal((11, 3, 8 * trips))
    o, p = np.full((2, 11), np.nan, np.float32)
    kernel(a.astype(np.float32), o, p)
    want = expected(a.astype(np.float32))
    assert np.allclose((o, p), want, rtol=1e-4, atol=1e-4)
