"""Intervals against enumeration."""

from __future__ import annotations

import itertools

import pytest

from wave_core.symbols.ranges import Interval, interval_max, interval_min, interval_xor

ENDS = (None, -3, -1, 0, 1, 3)
FAR = 60
INTERVALS = [
    Interval(a, b) for a in ENDS for b in ENDS if a is None or b is None or a <= b
]
PAIRS = list(itertools.product(INTERVALS, INTERVALS))


def members(interval):
    low = -FAR if interval.lo is None else interval.lo
    high = FAR if interval.hi is None else interval.hi
    return [v for v in range(low, high + 1) if abs(v) <= 5 or abs(v) >= FAR - 5]


OPERATIONS = {
    "add": (lambda a, b: a + b, lambda x, y: x + y),
    "mul": (lambda a, b: a * b, lambda x, y: x * y),
    "min": (lambda a, b: interval_min([a, b]), min),
    "max": (lambda a, b: interval_max([a, b]), max),
    "xor": (lambda a, b: interval_xor([a, b]), lambda x, y: x ^ y),
    "floordiv": (lambda a, b: a.floordiv(b), lambda x, y: x // y),
}


def outcomes(name, a, b):
    meaning = OPERATIONS[name][1]
    return [
        meaning(x, y) for x in members(a) for y in members(b) if y or name != "floordiv"
    ]


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_contain_every_value(name):
    for a, b in PAIRS:
        result = OPERATIONS[name][0](a, b)
        assert all(value in result for value in outcomes(name, a, b)), (a, b)


@pytest.mark.parametrize("name", ["add", "mul", "min", "max", "floordiv"])
def test_finite_ends_are_reached(name):
    for a, b in PAIRS:
        result, values = OPERATIONS[name][0](a, b), outcomes(name, a, b)
        if values and result.hi is not None:
            assert max(values) == result.hi, (a, b)
        if values and name != "floordiv" and result.lo is not None:
            assert min(values) == result.lo, (a, b)


def test_remainders_squares_and_scaling():
    for a in INTERVALS:
        for modulus in (1, 2, 3, 7):
            assert all(v % modulus in a.remainder(modulus) for v in members(a))
        assert all(v * v in a.square() for v in members(a))
        assert all(-3 * v in a.scale(-3) for v in members(a))


def test_union_and_intersection():
    assert Interval(0, 3).union(Interval(7, None)) == Interval(0, None)
    assert Interval(0, 9).intersect(Interval(None, 5)) == Interval(0, 5)
    assert str(Interval(None, 5)) == "[-inf, 5]"
