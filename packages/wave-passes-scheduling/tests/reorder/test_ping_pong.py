"""Clusters between which waves alternate: right, or refused with a reason."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from alternating_kernels import PINGPONG, Product, counted, loop_of, messages

import wave_passes_scheduling.reorder.stagger as staggering
from wave_core.compile import SchedulingType
from wave_core.diagnostics import SimulationError, UserError
from wave_core.ops.sync import SetWavePrio, SharedMemoryBarrier
from wave_passes_scheduling.loops.costs import OpKind, kind_of
from wave_passes_scheduling.reorder.passes import ReorderLoops

SHAPES = [
    ((64, 64, 32), (2, 1)),
    ((64, 64, 32), (2, 2)),
    ((96, 64, 48), (3, 2)),
    ((128, 64, 32), (4, 2)),
    ((128, 128, 64), (2, 4)),
]
ORDERS = {
    "preset": {"preset": "pingpong"},
    "one-buffer": {"preset": "pingpong", "multi_buffer_count": 1},
    "page": {"schedule": SchedulingType.PREFETCH, "reorder": "pingpong"},
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(("tile", "waves"), SHAPES)
def test_any_even_number_of_waves(tile, waves, options):
    kernel, error = Product(tile, waves).run(**options)
    assert error < 1e-4
    assert messages(kernel) == []
    assert counted(kernel, "stagger-waves")["staggered_loops"] == 1


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 9])
def test_every_trip_count(trips, dynamic):
    _, error = Product().run(trips, cut=0, dynamic=dynamic, preset="pingpong")
    assert error < 1e-4


@pytest.mark.parametrize("pairs", [1, 2, 4])
def test_clusters_as_asked(pairs):
    passes = [f"reorder-loops{{clusters={pairs}}}"]
    kernel, error = Product().run(preset="pingpong", passes=passes)
    assert error < 1e-4
    assert counted(kernel, "reorder-loops")["clusters"] == 2 * pairs


def clusters(kernel):
    """The kinds in each cluster of the loop, and its priorities."""
    found, kinds, priorities = [], [], []
    for op in loop_of(kernel.compiled.after("stagger-waves")).body.ops:
        if isinstance(op, SharedMemoryBarrier):
            found.append((kinds, priorities))
            kinds, priorities = [], []
        elif isinstance(op, SetWavePrio):
            priorities.append(op.priority)
        elif kind_of(op) not in {OpKind.NOOP, OpKind.ORDERED}:
            kinds.append(kind_of(op))
    assert not kinds
    return found


def test_memory_and_matrix_work_alternate():
    kernel, _ = Product().run(preset="pingpong", multi_buffer_count=1)
    found = clusters(kernel)
    assert len(found) == 4
    for number, (kinds, priorities) in enumerate(found):
        assert (OpKind.MMA in kinds) == bool(number % 2)
        assert len(set(kinds)) == 1 or not number % 2
        assert priorities == ([1, 0] if number % 2 else [])


def test_odd_waves_are_refused():
    kernel, error = Product((48, 48, 32), (3, 1)).run(preset="pingpong")
    assert error < 1e-4
    (message,) = messages(kernel)
    assert "3 waves of a workgroup are not two equal halves" in message


def test_a_tile_that_does_not_divide_is_refused():
    kernel, error = Product((32, 32, 16)).run(
        preset="pingpong", passes=["reorder-loops{clusters=2}"]
    )
    assert error < 1e-4
    (message,) = messages(kernel)
    assert "1 matrix ops do not divide by 2 clusters" in message


def test_one_buffer_in_one_pair_is_refused_with_the_dependence():
    kernel, error = Product().run(
        preset="pingpong", multi_buffer_count=1, passes=["reorder-loops{clusters=1}"]
    )
    assert error < 1e-4
    (message,) = messages(kernel)
    assert "1 pairs of clusters are too few for read_" in message
    assert "(memory LDS" in message


def test_a_loop_that_is_not_pipelined_is_refused_with_the_dependence():
    kernel, error = Product().run(passes=[PINGPONG])
    assert error < 1e-4
    (message,) = messages(kernel)
    assert "write_" in message
    assert "-> read_" in message


@pytest.mark.parametrize(
    ("passes", "code"),
    [("reorder-loops{order=pong}", "WV0801"), ("reorder-loops{clusters=0}", "WV0804")],
)
def test_wrong_options_are_refused(passes, code):
    with pytest.raises(UserError) as caught:
        Product().run(preset="pingpong", passes=[passes])
    assert [row.code for row in caught.value.diagnostics] == [code]


def mark_only(_step, graph, _context):
    """Ask for halves apart without any clusters."""
    loop_of(graph).tags |= {staggering.TAG}
    return True


def test_accesses_too_near_each_other_keep_the_waves_together():
    with patch.object(ReorderLoops, "apply", mark_only):
        kernel, error = Product(buffered=True).run(schedule=SchedulingType.PREFETCH)
    assert error < 1e-4
    (message,) = messages(kernel)
    assert "is not staggered" in message
    assert "of other waves" in message


def test_without_the_proof_the_simulator_finds_the_race():
    with (
        patch.object(ReorderLoops, "apply", mark_only),
        patch.object(staggering, "_check_far_enough"),
        pytest.raises(SimulationError) as caught,
    ):
        Product(buffered=True).run(schedule=SchedulingType.PREFETCH)
    assert "WV0901" in {row.code for row in caught.value.diagnostics}


def test_without_the_second_barrier_waves_wait_for_ever():
    barrier = staggering._barrier_of_half

    def only_high(known, loop, half, *, high):
        return barrier(known, loop, half, high=high) if high else None

    with (
        patch.object(staggering, "_barrier_of_half", only_high),
        pytest.raises(SimulationError) as caught,
    ):
        Product().run(preset="pingpong")
    assert "WV0902" in {row.code for row in caught.value.diagnostics}


@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize("buffers", [2, 3])
def test_copies_straight_to_lds(buffers, pairs):
    kernel, error = Product((64, 64, 64)).run(
        target="gfx950",
        preset="pingpong",
        use_global_to_shared=True,
        multi_buffer_count=buffers,
        passes=[f"reorder-loops{{clusters={pairs}}}"],
    )
    assert error < 1e-4
    assert counted(kernel, "stagger-waves")["staggered_loops"] == 1
    loop = loop_of(kernel.compiled.lowered)
    barriers = [op for op in loop.body.ops if isinstance(op, SharedMemoryBarrier)]
    assert sum(op.wait_async_ops for op in barriers) == 1
