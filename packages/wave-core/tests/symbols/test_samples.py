"""What fails at a point where facts hold does not follow from them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from wave_core.symbols import Facts, SymbolError, eq, evaluate, parse_expr, symbol
from wave_core.symbols.samples import Samples

LANE, K, S, X, P = (symbol(name) for name in ("$LANE", "K", "S", "x", "p"))
Y = symbol("y", False)
RANGED = Facts().with_range(LANE, 0, 63)
LOOP = Facts().with_range(X, 0, (K + 63) // 64 - 1).with_range(P, 0, K // 8 - 3)
NAMES = (X, Y, P)
SMALL = (
    Facts().with_range(X, 0, 7).with_range(Y, -4, 3).with_range(P, 1, 5)
    .with_range(X + Y, 1, None).with_assumption(eq((X + P) % 2, 0))
)  # fmt: skip


def samples(facts):
    return Samples(facts.ranges, facts.inequalities, facts.residues, facts.assumed)


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        (RANGED, LANE - 1),
        (RANGED, 62 - LANE),
        (RANGED, LANE % 16 + LANE // 16 - 18 + K),
        (RANGED, K - 3 * LANE),
        (Facts(), Y),
        (Facts(), 5000 - K),
        (LOOP, K - 64 * X - 60),
        (LOOP, (K + 63) // 64 - X - 5),
        (LOOP, K // 8 - P - 4),
        (RANGED.with_assumption(eq(K % 4, 0)), K - 4 - LANE),
        (RANGED, parse_expr("min(K, 40) - max($LANE, 8)")),
    ],
)
def test_what_need_not_be_true_fails_at_a_point(facts, value):
    assert samples(facts).refute(value)
    assert not facts.prove_nonnegative(value)


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        (RANGED, 63 - LANE),
        (LOOP, K - 1 - 64 * X),
        (LOOP, K // 8 - P - 3),
        # Where a divisor is zero nothing has a value.
        (RANGED.with_assumption(eq(S, 0)), -1 - K // S),
    ],
)
def test_what_is_true_fails_at_none(facts, value):
    assert not samples(facts).refute(value)


@pytest.mark.parametrize(
    "facts",
    [
        RANGED.with_range(LANE // 2, 40, None),
        RANGED.with_range(LANE + S, 100, None).with_range(LANE + S, None, 60),
        RANGED.with_assumption(eq(LANE * S, -1)),
        RANGED.with_assumption(eq(K % 4, 1)).with_assumption(eq(K, 2)),
    ],
)
def test_facts_that_exclude_each_other_hold_nowhere(facts):
    assert not samples(facts).refute(-LANE - K - 1)


def holds_somewhere_not(value):
    """Whether a value is negative at a point at which the facts of `SMALL` hold."""
    for x, y, p in product(range(8), range(-4, 4), range(1, 6)):
        if x + y >= 1 and (x + p) % 2 == 0:
            try:
                if evaluate(value, dict(zip(NAMES, (x, y, p), strict=True))) < 0:
                    return True
            except SymbolError:
                continue
    return False


def drawn(random):
    """A sum of quotients, remainders, products and extrema, near zero."""
    first, second, third = (NAMES[n] for n in random.integers(3, size=3))
    small, other = (int(n) for n in random.integers(2, 5, size=2))
    parts = (
        *(first * second, first // small, first % other),
        parse_expr(f"min({first}, {second} + {third})"),
        *(parse_expr(f"xor({X}, {P})"), first // (second + 2)),
    )
    one, two = (parts[n] for n in random.permutation(len(parts))[:2])
    factors = [int(n) for n in random.integers(-2, 4, size=2)]
    return factors[0] * one + factors[1] * two + int(random.integers(10))


def test_only_what_is_negative_somewhere_is_refuted():
    random, found = np.random.default_rng(1), {True: 0, False: 0}
    seen = samples(SMALL)
    for _ in range(800):
        value = drawn(random)
        negative = holds_somewhere_not(value)
        refuted = seen.refute(value)
        assert negative or not refuted, str(value)
        if negative:
            found[refuted] += 1
    # Most of them are, and else nothing would be saved.
    assert found[True] > 4 * found[False], found
