"""The cheapest cover, against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from wave_passes_memory.barriers.cover import Column, cheapest_cover


def brute_force(rows, columns):
    """The least cost over all subsets."""
    found = []
    for size in range(len(columns) + 1):
        for chosen in combinations(columns, size):
            bits = sum(1 << c.index for c in chosen)
            if all(row & bits for row in rows):
                found.append(sum(c.cost for c in chosen))
    return min(found)


def random_rows(rng, count, arcs):
    """Intervals on a line, or arcs of a circle."""
    rows = []
    for _ in range(int(rng.integers(1, 8))):
        start, length = int(rng.integers(count)), int(rng.integers(1, count))
        places = [start + i for i in range(length)]
        kept = [p % count if arcs else min(p, count - 1) for p in places]
        rows.append(sum(1 << p for p in set(kept)))
    return rows


@pytest.mark.parametrize("arcs", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_as_cheap_as_the_best_subset(seed, arcs):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    columns = [Column(i, int(rng.integers(1, 4))) for i in range(count)]
    rows = random_rows(rng, count, arcs)
    chosen = cheapest_cover(rows, columns)
    assert all(any(row >> i & 1 for i in chosen) for row in rows)
    assert sum(columns[i].cost for i in chosen) == brute_force(rows, columns)


def test_sets_of_any_shape():
    rng = np.random.default_rng(5)
    for _ in range(60):
        columns = [Column(i, 1) for i in range(8)]
        rows = [int(rng.integers(1, 256)) for _ in range(6)]
        chosen = cheapest_cover(rows, columns)
        assert len(chosen) == brute_force(rows, columns)


def test_of_equal_columns_the_higher_rank():
    columns = [Column(0, 1, (0, 0)), Column(1, 1, (1, 1)), Column(2, 1, (0, 2))]
    assert cheapest_cover([0b111], columns) == [1]


def test_nothing_to_meet():
    assert cheapest_cover([], [Column(0, 1)]) == []
