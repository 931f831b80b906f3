"""What facts let us simplify and prove."""

from __future__ import annotations

import pytest

from wave_core.symbols import (
    Facts,
    SymbolError,
    ceildiv,
    constant,
    eq,
    floordiv,
    parse_expr,
    symbol,
    xor,
)
from wave_core.symbols.ranges import Interval

NONE = Facts()
LANE, K, BK, A, B = (symbol(name) for name in ("$LANE", "K", "BK", "a", "b"))
WAVE = NONE.with_range(LANE, 0, 63).with_range(B, 0, 15)
WHOLE = WAVE.with_assumption(eq(K % 64, 0))


@pytest.mark.parametrize(
    ("facts", "value", "result"),
    [
        (WAVE, LANE // 64, "0"),
        (WAVE, LANE % 64, "$LANE"),
        (WAVE, LANE // 16 % 4, "$LANE // 16"),
        (WAVE, (16 * A + LANE % 16) // 16, "a"),
        (WAVE, (16 * A + B) % 16, "b"),
        (WAVE, (32 * A + B + 16) // 32, "a"),
        (WAVE, parse_expr("min(b, 20) + max(b, 16)"), "b + 16"),
        (WAVE, parse_expr("select(b < 16, a, 7)"), "a"),
        (WAVE, parse_expr("and(b < 16, a < 5)"), "a < 5"),
        (WAVE, xor(8 * A + LANE % 8, 8 * (K % 8)), "$LANE % 8 + 8*xor(a, K % 8)"),
        (WHOLE, (K + B) // 64, "K // 64"),
        (WHOLE, K // 64 * 64, "K"),
        (WHOLE, (K + B) % 64, "b"),
        (WHOLE, ceildiv(K, 64) * 64 - K, "0"),
        (NONE.with_range(A, 0, BK - 1), (3 * BK + A) // BK, "3"),
        (NONE.with_range(A, 5, 5), A * B, "5*b"),
        (WAVE, (16 * A + B) // 32, "a // 2"),
        (NONE.with_range(B, 0, 16), (16 * A + B) // 32, "(16*a + b) // 32"),
        (NONE.with_range(B, 0, 8), xor(8 * A + B, 8 * K), "xor(8*K, 8*a + b)"),
    ],
)
def test_simplify(facts, value, result):
    assert str(facts.simplify(value)) == result


@pytest.mark.parametrize(
    ("facts", "value", "interval"),
    [
        (WAVE, LANE % 16 + 4 * (LANE // 16 % 4), Interval(0, 27)),
        (WAVE, 2 * LANE - 3 * B, Interval(-45, 126)),
        (WHOLE, K % 128, Interval(0, 64)),
        (NONE, A % BK, Interval(0, None)),
        (WAVE, xor(LANE, B), Interval(0, 63)),
        (WAVE.with_range(A, B + 1, 2 * B + 1), A, Interval(1, 31)),
        (WAVE.with_range(A, LANE, 2 * B), LANE, Interval(0, 30)),
    ],
)
def test_bounds(facts, value, interval):
    assert facts.bounds(value) == interval


TILES = NONE.with_range(symbol("i"), 0, floordiv(K, BK) - 1)
DEEP = NONE.with_assumption(parse_expr("4*BK < K"))
GRID = NONE.with_range(symbol("i"), 0, symbol("M") - 1).with_range(
    symbol("j"), 0, symbol("N") - 1
)


@pytest.mark.parametrize(
    ("facts", "condition"),
    [
        (NONE, "0 <= BK*ceildiv(K, BK) - K"),
        (NONE, "BK*ceildiv(K, BK) - K < BK"),
        (NONE, "BK*(K // BK) <= K"),
        (NONE, "a % BK < BK"),
        (NONE, "min(a, b) <= a"),
        (NONE, "1 <= max(a, b + 1)"),
        (NONE, "or(a < 3, 3 <= a)"),
        (TILES, "i*BK + BK - 1 < K"),
        (GRID, "i*N + j < M*N"),
        (DEEP, "3*BK < K"),
        (DEEP, "4 < ceildiv(K, BK)"),
        (DEEP, "3 < K // BK"),
        (DEEP, "4*BK < K"),
        (WHOLE, "K % 16 == 0"),
        (WHOLE, "K != 65"),
        (NONE.with_assumption(parse_expr("or(a == 3, b == 4)")), "or(a == 3, b == 4)"),
        (NONE.with_assumption(parse_expr("a == 2*b")), "2*b - a == 0"),
    ],
)
def test_proved(facts, condition):
    assert facts.prove(parse_expr(condition))


@pytest.mark.parametrize(
    ("facts", "condition"),
    [
        (NONE, "a < b"),
        (NONE, "BK*(K // BK) == K"),
        (TILES, "i*BK + BK < K"),
        (GRID, "i*N + j < M*N - 1"),
        (DEEP, "5*BK <= K"),
        (DEEP, "4 < K // BK"),
        (WHOLE, "K % 128 == 0"),
        (NONE, "z? % BK == 0"),
    ],
)
def test_not_proved(facts, condition):
    assert not facts.prove(parse_expr(condition))


def test_divisibility():
    assert WHOLE.prove_divisible(2 * K + 128 * A, 64)
    assert not WHOLE.prove_divisible(K, 128)
    assert WHOLE.prove_divisible(K // 4, 16)
    assert NONE.prove_divisible(A * BK, BK)
    with pytest.raises(SymbolError):
        NONE.prove_divisible(A, 0)


def test_remainder_fact_with_a_rest():
    facts = NONE.with_assumption(eq(A % 8, 3))
    assert facts.prove_divisible(A + 5, 8)
    assert facts.simplify(A % 8) is constant(3)
    assert facts.simplify((2 * A + 1) % 4) is constant(3)
    both = facts.with_assumption(eq(A % 3, 1))
    assert both.simplify(A % 24) is constant(19)


def test_the_search_for_a_proof_is_bounded():
    names = [symbol(f"s{i}") for i in range(10)]
    facts = NONE
    for a in names:
        for b in names:
            facts = facts.with_assumption(parse_expr(f"{a} < 2*{b} + 7*{names[3]}"))
    assert not facts.prove_nonnegative(names[0] - names[1] - 1)


def test_facts_that_exclude_each_other_break_nothing():
    facts = NONE.with_range(A, 5, 3).with_range(BK, -4, -2).with_range(LANE, 9, 3)
    for text in ("a // BK", "a*BK % $LANE", "min(a, BK) // ($LANE - 3)", "BK*K*BK"):
        facts.simplify(parse_expr(text))
        facts.bounds(parse_expr(text))


def test_the_size_of_a_factor_bounds_what_is_times_a_remainder():
    """A lane's place in a share of the keys, whose length is a quotient of -K."""
    steps = floordiv(-K, 64 * BK)
    rest = A - BK * (A // BK)
    assert WAVE.prove_nonnegative(LANE - 64 * steps * rest)
    assert WAVE.prove_nonnegative(LANE - 64 * steps * (BK - 1 - rest))
    assert not WAVE.prove_nonnegative(LANE + 64 * steps * rest)
    assert not WAVE.prove_nonnegative(LANE - 64 * steps * (rest - 1))
