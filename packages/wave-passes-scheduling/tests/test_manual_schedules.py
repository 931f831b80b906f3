"""Manual schedules, executed: the same result as without, on every trip count."""

from __future__ import annotations

import pickle  # noqa: TID251 - that it can be is the test

import numpy as np
import pytest
from tagged_kernels import (
    ATTENTION_SCHEDULES,
    GEMM_SCHEDULES,
    K1,
    B,
    K,
    L,
    M,
    N,
    attention_error,
    both_loops,
    compiled,
    direct,
    gemm_error,
    inner_and_outer,
    repeated_product,
    statistics,
    tagged_attention,
    tagged_gemm,
    three_stages,
    two_products,
    two_stages,
)

import wave_core.lang as tkw
from wave_core.compile import SchedulingType, Session
from wave_core.ir import first_difference
from wave_passes_scheduling.views.view import view_of

TRIPS = (0, 1, 2, 3, 4, 5, 9)
"""None, one, two, and around the number of stages of each; and many."""

GEMM = {M: 40, N: 33, K: 160}


def tile_of(name):
    """Deep tiles where matrix ops are split along the contraction."""
    return (64, 64, 64) if name == "clustered" else (64, 64, 32)


@pytest.mark.parametrize("name", GEMM_SCHEDULES)
def test_products_of_known_size(name):
    tile = tile_of(name)
    for trips in TRIPS:
        sizes = GEMM | {K: tile[2] * trips}
        kernel = compiled(tagged_gemm(tile), GEMM_SCHEDULES[name], sizes)
        assert gemm_error(kernel, sizes) < 1e-4, trips


@pytest.mark.parametrize("name", GEMM_SCHEDULES)
def test_products_of_any_size(name):
    tile = tile_of(name)
    kernel = compiled(tagged_gemm(tile), GEMM_SCHEDULES[name], GEMM, dynamic=True)
    assert kernel.warnings == ()
    for trips in TRIPS:
        sizes = GEMM | {K: max(tile[2] * trips - 5, 0)}
        assert gemm_error(kernel, sizes) < 1e-4, trips


def draw(*shapes):
    """Random f16 matrices."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float16) for shape in shapes]


def exact(a, b):
    """The product in f64."""
    return a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("trips", [(0, 1), (1, 0), (2, 2), (3, 1), (5, 4)])
def test_two_loops(trips, dynamic):
    m, n, k, size = 40, 33, 32 * trips[0], 32 * trips[1]
    sizes = {M: m, N: n, K: k, L: size}
    kernel = compiled(two_products(), both_loops, sizes, dynamic=dynamic)
    a, b, d, e = draw((m, k), (n, k), (m, size), (n, size))
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, b, d, e, c)
    assert np.abs(c - exact(a, b) - exact(d, e)).max() < 1e-4


@pytest.mark.parametrize("trips", [(1, 1), (3, 3), (2, 5), (5, 2)])
def test_a_loop_in_a_loop(trips):
    m, n, k = 40, 33, 32 * trips[1]
    sizes = {M: m, N: n, K: k, L: trips[0]}
    kernel = compiled(repeated_product(), inner_and_outer, sizes)
    a, b, d = draw((m, k), (n, k), (m, n))
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, b, d.astype(np.float32), c)
    assert np.abs(c - trips[0] * (exact(a, b) + d)).max() < 1e-3
    assert statistics(kernel)["pipelined_loops"] == 2


@pytest.mark.parametrize("trips", [1, 2, 3, 5, 9])
def test_copies_that_go_to_lds_directly(trips):
    sizes = {M: 128, N: 64, K: 32 * trips}
    own = {"target": "gfx950", "use_global_to_shared": True}
    kernel = compiled(tagged_gemm(), direct, sizes, **own)
    assert gemm_error(kernel, sizes) < 1e-4
    assert statistics(kernel).get("stages", 0) == (3 if trips > 1 else 0)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ATTENTION_SCHEDULES)
def test_attention(name, dynamic):
    kernel = None
    for trips in TRIPS[1:]:
        sizes = {B: 2, M: 40, N: 17, K1: 20, K: 16 * trips - 3}
        if kernel is None or not dynamic:
            schedule = ATTENTION_SCHEDULES[name]
            kernel = compiled(tagged_attention(), schedule, sizes, dynamic=dynamic)
        assert attention_error(kernel, sizes) < 2e-3, trips


@pytest.mark.covering(2)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("hints", [False, True])
@pytest.mark.parametrize("tile", [(64, 64, 32), (128, 128, 64)])
def test_the_documented_schedule_is_the_prefetch_strategy(tile, hints, dynamic):
    kernel = tagged_gemm(tile)
    own = {"dynamic": dynamic, "use_scheduling_barriers": hints}
    by_hand = compiled(kernel, two_stages, GEMM, **own)
    preset = compiled(kernel, None, GEMM, schedule=SchedulingType.PREFETCH, **own)
    assert first_difference(by_hand.graph, preset.graph) is None


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("three_stages", {"stages": 3, "multiplied_buffers": 2}),
        ("four_stages", {"stages": 4, "multiplied_buffers": 2}),
        ("no_epilogue", {"stages": 2, "epilogues_eliminated": 1}),
        ("unrolled_first", {"stages": 2, "unrolled_loops": 1}),
        ("unrolled_last", {"stages": 2, "unrolled_loops": 1}),
        ("staggered", {"stages": 2, "staggered_loops": 1}),
    ],
)
def test_what_a_schedule_asks_for_is_done(name, counts):
    kernel = compiled(tagged_gemm(), GEMM_SCHEDULES[name], GEMM)
    assert kernel.warnings == ()
    assert statistics(kernel).items() >= counts.items()


def kernel_ops(kernel):
    """The ops of the kernel loop, in order."""
    (loop,) = (o for o in kernel.graph.walk() if o.op_name == "iterate")
    return [op.op_name for op in loop.body.ops]


def test_clusters_stand_as_listed():
    sizes = GEMM | {K: 320}
    ops = kernel_ops(
        compiled(tagged_gemm((64, 64, 64)), GEMM_SCHEDULES["clustered"], sizes)
    )
    seen = [op for op in ops if op in {"set_wave_prio", "mma", "write"}]
    runs = [a for a, b in zip(seen, [*seen[1:], ""], strict=True) if a != b]
    part = ["set_wave_prio", "mma", "set_wave_prio"]
    assert runs == [*part, "write", *part]


def test_the_copy_for_few_iterations_is_left_alone():
    kernel = compiled(tagged_gemm(), GEMM_SCHEDULES["interleaved"], GEMM, dynamic=True)
    loops = [op for op in kernel.graph.walk() if op.op_name == "iterate"]
    waits = [sum(o.op_name == "memory_counter_wait" for o in x.body.ops) for x in loops]
    assert waits == [1, 0]


def test_a_loop_that_is_too_short_says_what_is_left_out():
    kernel = compiled(tagged_gemm(), three_stages, GEMM | {K: 32})
    (warning,) = kernel.warnings
    assert warning.code == "WV0501"
    assert "fewer iterations than 2" in warning.message
    assert statistics(kernel).get("multiplied_buffers", 0) == 0
    shapes = [
        o.distributed_shape for o in kernel.graph.walk() if o.op_name == "allocate"
    ]
    assert [str(shape[0]) for shape in shapes] == ["64", "64"]


def test_the_view_shows_a_manual_schedule():
    view = view_of(compiled(tagged_gemm(), three_stages, GEMM))
    assert [loop.schedule.depth for loop in view.loops] == [3]
    assert view.loops[0].schedule.violations() == ()


def test_a_schedule_is_part_of_the_key():
    kernel = tagged_gemm()
    keys = {compiled(kernel, s, GEMM).key for s in GEMM_SCHEDULES.values()}
    assert len(keys) == len(GEMM_SCHEDULES)
    copy = pickle.loads(pickle.dumps(two_stages))
    assert compiled(kernel, copy, GEMM).key == compiled(kernel, two_stages, GEMM).key


def test_a_session_keeps_kernels_by_their_schedule():
    session, kernel = Session(announce=lambda _: None), tagged_gemm()
    options = tkw.WaveCompileOptions(
        subs=GEMM, device="sim", target="gfx942", schedule=SchedulingType.MANUAL
    )
    copy = pickle.loads(pickle.dumps(two_stages))
    first, second, third = (
        tkw.wave_compile(options, kernel, schedule, session=session).compiled
        for schedule in (two_stages, copy, three_stages)
    )
    assert first is second
    assert first is not third


def test_a_kernel_can_carry_its_schedule():
    sizes = GEMM
    kernel = tagged_gemm().scheduled(two_stages)
    made = compiled(kernel, None, sizes, schedule=SchedulingType.MANUAL)
    assert statistics(made)["stages"] == 2
    assert gemm_error(made, sizes) < 1e-4


def test_a_schedule_dumps_a_file(tmp_path):
    path = tmp_path / "gemm.txt"
    compiled(tagged_gemm(), three_stages, GEMM, dump_schedule=str(path))
    assert "Number of Stages: 3" in path.read_text()


def test_iterations_of_a_loop_that_is_not_unrolled():
    @tkw.wave_schedule
    def missing():
        tkw.get_node_by_tag_and_iteration("mma", 0)

    with pytest.raises(Exception, match="iteration 0 of an unrolled loop"):
        compiled(tagged_gemm(), missing, GEMM)
