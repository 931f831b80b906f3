"""First fit, decreasing: the page's example, and an exact solver as the judge."""

from __future__ import annotations

import numpy as np
import pytest

from wave_passes_memory.packing.pack import Block, first_fit, peak

PAGE = [
    *(Block(10, 1, 5), Block(5, 2, 6), Block(8, 1, 3)),
    *(Block(4, 4, 7), Block(6, 3, 8), Block(12, 5, 9)),
]


def test_the_page_s_example():
    offsets = first_fit(PAGE)
    assert offsets == [12, 28, 0, 33, 22, 0]
    assert peak(PAGE, offsets) == 37


def test_nothing_needs_nothing():
    assert (first_fit([]), peak([], [])) == ([], 0)


def test_offsets_are_aligned():
    offsets = first_fit(PAGE, alignment=16)
    assert all(offset % 16 == 0 for offset in offsets)
    assert_apart(PAGE, offsets)


def test_pairs_that_must_stay_apart_do():
    blocks = [Block(4, 0, 1), Block(4, 2, 3)]
    assert first_fit(blocks) == [0, 0]
    assert first_fit(blocks, apart=lambda one, other: True) == [0, 4]


def random_blocks(rng):
    count = int(rng.integers(2, 13))
    first = rng.integers(0, 20, count)
    length = rng.integers(0, 12, count)
    size = rng.integers(1, 40, count)
    rows = zip(size, first, first + length, strict=True)
    return [Block(*map(int, row)) for row in rows]


def assert_apart(blocks, offsets):
    for i, one in enumerate(blocks):
        for j in range(i):
            other = blocks[j]
            below = offsets[i] + one.size <= offsets[j]
            above = offsets[j] + other.size <= offsets[i]
            assert below or above or not one.overlaps(other)


def best_peak(blocks):
    """The optimum, by CP-SAT."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    most = sum(block.size for block in blocks)
    top = model.new_int_var(0, most, "top")
    times, spaces = [], []
    for i, block in enumerate(blocks):
        start = model.new_int_var(0, most, f"o{i}")
        model.add(start + block.size <= top)
        length = block.last - block.first + 1
        times.append(model.new_fixed_size_interval_var(block.first, length, f"t{i}"))
        spaces.append(model.new_fixed_size_interval_var(start, block.size, f"s{i}"))
    model.add_no_overlap_2d(times, spaces)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = 2
    assert solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return int(solver.value(top))


def ratio(seed):
    blocks = random_blocks(np.random.default_rng(seed))
    offsets = first_fit(blocks)
    assert_apart(blocks, offsets)
    return peak(blocks, offsets) / best_peak(blocks)


def test_a_block_starts_at_a_multiple_of_its_own():
    blocks = [Block(100, 0, 1), Block(50, 0, 1, alignment=64), Block(20, 0, 1)]
    assert first_fit(blocks, alignment=4) == [0, 128, 100]


@pytest.mark.parametrize("first", [0, 50])
def test_close_to_the_optimum(first):
    found = [ratio(seed) for seed in range(first, first + 50)]
    assert sum(found) / len(found) <= 1.3


@pytest.mark.fuzz
def test_a_thousand_instances_are_close_to_the_optimum():
    found = [ratio(seed) for seed in range(1000)]
    assert sum(found) / len(found) <= 1.3
