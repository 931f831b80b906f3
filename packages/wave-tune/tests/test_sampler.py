"""Which candidate is next: estimates first, corrected by what is measured."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from pretended import candidate, line_of

from wave_tune.points import Space
from wave_tune.sampler import EstimateSampler


def run_of(space, times):
    """The candidates in the order in which they are taken."""
    sampler, measured = EstimateSampler(space), {}
    while found := sampler.next(measured, frozenset(measured)):
        measured[found.point.text()] = times[found.point.text()]
        yield found


@pytest.mark.parametrize("seed", range(5))
def test_each_is_taken_once_and_the_best_within_a_quarter(seed):
    rng = np.random.default_rng(seed)
    tiles, ways = rng.lognormal(5, 0.5, 10), rng.lognormal(0, 0.3, 6)
    # An estimate that knows tiles, and neither ways nor details.
    rows = [
        candidate(i, str(j), cycles=float(tiles[i] * rng.lognormal(0, 0.1)))
        for i, j in product(range(10), range(6))
    ]
    space = Space(tuple(sorted(rows, key=lambda row: row.cycles)), {"TILE": ("TILE",)})
    times = {
        row.point.text(): tiles[row.point.subs["TILE"]]
        * ways[int(row.point.options["preset"])]
        * rng.lognormal(0, 0.03)
        for row in rows
    }
    order = [each.point.text() for each in run_of(space, times)]
    assert sorted(order) == sorted(times)
    best = min(times.values())
    assert min(times[text] for text in order[: len(rows) // 4]) <= 1.03 * best


def test_the_best_estimate_is_the_first():
    space = line_of(3, [30.0, 10.0, 20.0])
    assert EstimateSampler(space).next({}, frozenset()).cycles == 10.0


def test_without_estimates_values_that_were_fast_come_next():
    rows = tuple(candidate(i, str(j)) for i, j in product(range(3), range(3)))
    times = {r.point.text(): 1.0 + r.point.subs["TILE"] for r in rows}
    order = list(run_of(Space(rows, {"TILE": ("TILE",)}), times))
    # Once each tile was seen, the two that are left of the fastest are next.
    seen = max(
        next(i for i, r in enumerate(order) if r.point.subs["TILE"] == t)
        for t in range(3)
    )
    left = [r.point.subs["TILE"] for r in order[seen + 1 :]]
    assert left == sorted(left)
