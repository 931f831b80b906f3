"""Wide stores: results turned towards memory, writes merged, conditions settled."""

from __future__ import annotations

import numpy as np
import pytest
from staged import (
    GLOBAL,
    K,
    M,
    N,
    compiled_gemm,
    ops,
    run_case,
    run_gemm,
    session,
    simulate,
)

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.ir import ACCESS

TILE = (64, 64, 32)
PASSES = ("swap-matrix-operands", "settle-access-masks", "merge-contiguous-writes")


def stored(kernel):
    """The rows of the writes to global memory."""
    writes = [op for op in ops(kernel.graph, "write") if not op.memory.type.physical]
    return [kernel.graph.facts.get(ACCESS, op) for op in writes]


def counts(kernel, name):
    """What a pass has counted."""
    (run,) = [run for run in kernel.timings.passes if run.name == name]
    return next(iter(run.statistics.values()))


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "generic"])
@pytest.mark.parametrize("sizes", [(64, 64, 32), (130, 100, 40), (1, 4, 31)])
def test_results_are_stored_128_bits_at_a_time(target, sizes):
    kernel = compiled_gemm(sizes, TILE, target=target)
    error, result = run_gemm(kernel, sizes)
    assert (error, result.reports) == (0, ())
    assert counts(kernel, "swap-matrix-operands") == 1
    assert {row.registers for row in stored(kernel)} == {4}
    instructions = result.counters.instructions
    assert {n for n in instructions if "global_write" in n} == {"global_write.b128"}


def test_stores_are_a_quarter_and_touch_no_more_cache_lines():
    found = []
    for disabled in ((), PASSES):
        kernel = compiled_gemm((128, 128, 64), TILE, disable_passes=disabled)
        error, result = run_gemm(kernel, (128, 128, 64))
        writes = sum(
            count
            for name, count in result.counters.instructions.items()
            if name.startswith("global_write")
        )
        found.append((error, writes, result.counters.cache_lines["global_write"]))
    after, before = found
    assert before == (0, 4 * after[1], after[2])
    assert after[0] == 0


@pytest.mark.parametrize(
    ("sizes", "target"),
    [
        ((64, 63, 32), "gfx942"),  # columns that are no multiple of four
        ((64, 64, 32), "gfx1100"),  # every second row in a lane
        ((64, 64, 32), "gfx1201"),  # eight f32 are more than one store
    ],
)
def test_results_stay_where_stores_would_not_gain(sizes, target):
    kernel = compiled_gemm(sizes, TILE, target=target)
    error, _ = run_gemm(kernel, sizes)
    assert error == 0
    assert counts(kernel, "swap-matrix-operands") == 0


def test_sums_that_something_else_uses_stay():
    kernel, result, right = run_case("attention", "gfx942")
    assert right
    assert not result.reports
    assert counts(kernel, "swap-matrix-operands") == 0


def test_conditions_that_hold_together_are_one():
    kernel = compiled_gemm((130, 100, 40), TILE)
    assert counts(kernel, "settle-access-masks") == 4
    assert all("$REG" not in str(row.mask) for row in stored(kernel))


def two_writes(shift, stride, dtype=tkl.f16):
    """``a`` and ``b`` written to ``c``: columns ``stride * j``, and ``shift`` more."""
    i, j = (tkw.IndexMapping.iterator(n) for n in range(2))

    def place(more):
        outputs = {M: i, K: stride * j + more}
        return tkw.IndexMapping(2, inputs={M: i, N: j}, outputs=outputs)

    constraints = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        b: tkl.Memory[M, N, GLOBAL, dtype],
        c: tkl.Memory[M, K, GLOBAL, dtype],
    ) -> None:
        first, second = tkw.read(a), tkw.read(b)
        tkw.write(first, c, mapping=place(0))
        tkw.write(second, c, mapping=place(shift))

    return kernel


def run_two_writes(m, n, k, shift, stride, disabled=()):
    """The result, with -1 where nothing is written, and what was counted."""
    options = tkl.WaveCompileOptions(
        subs={M: m, N: n, K: k}, target="gfx942", disable_passes=disabled
    )
    kernel = wave_compile(options, two_writes(shift, stride), session=session())
    rng = np.random.default_rng(m * n)
    a, b = (rng.integers(-9, 9, (m, n)).astype(np.float16) for _ in range(2))
    c = np.full((m, k), -1, dtype=np.float16)
    result = simulate(kernel, [a, b, c])
    return a, b, c, result


@pytest.mark.parametrize(("m", "n"), [(16, 64), (17, 65), (1, 1), (15, 130), (16, 63)])
def test_interleaved_columns_are_written_together(m, n):
    a, b, c, result = run_two_writes(m, n, 2 * n, shift=1, stride=2)
    assert result.reports == ()
    assert np.array_equal(c[:, ::2], a)
    assert np.array_equal(c[:, 1::2], b)
    names = {name for name in result.counters.instructions if "write" in name}
    assert "global_write.b16" not in names


def test_interleaved_columns_take_an_eighth_of_the_stores():
    *_, result = run_two_writes(16, 64, 128, shift=1, stride=2)
    assert result.counters.instructions["global_write.b128"] == 4
    *_, result = run_two_writes(16, 64, 128, 1, 2, PASSES)
    assert result.counters.instructions["global_write.b16"] == 32


@pytest.mark.parametrize(("shift", "stride"), [(1, 1), (2, 2), (3, 2), (4, 3)])
def test_writes_of_the_same_elements_keep_their_order(shift, stride):
    k = 32 * stride + shift
    *_, before, _ = run_two_writes(3, 32, k, shift, stride, PASSES)
    _, b, after, result = run_two_writes(3, 32, k, shift, stride)
    assert result.reports == ()
    assert np.array_equal(before, after)
    assert np.array_equal(after[:, shift::stride], b)
