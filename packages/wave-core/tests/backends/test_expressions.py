"""Index expressions as instructions, computed and compared with what they mean."""

from __future__ import annotations

import numpy as np
import pytest
from computed_code import ComputedCode

from wave_core.backends.emission import Kind
from wave_core.backends.emission.expressions import Expressions
from wave_core.backends.emission.instructions import I32
from wave_core.symbols import (
    Facts,
    as_expr,
    eq,
    evaluate,
    ge,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    select,
    symbol,
    xor,
)

X, Y, P = symbol("x", nonnegative=False), symbol("y", nonnegative=False), symbol("p")
RANGES = {X: (-40, 60), Y: (-1000, 900), P: (0, 77)}
DIVISORS = (2, 3, 5, 8, 64)


def facts_of(scale=1):
    facts = Facts()
    for each, (low, high) in RANGES.items():
        facts = facts.with_range(each, low * scale, high * scale)
    return facts


def integer(source, low, high):
    return int(source.integers(low, high + 1))


def one_of(source, rows):
    return rows[integer(source, 0, len(rows) - 1)]


def drawn(source, depth):
    """A random expression."""
    if depth == 0:
        return one_of(source, [X, Y, P, as_expr(integer(source, -9, 70))])
    one, other = drawn(source, depth - 1), drawn(source, depth - 1)
    divisor = one_of(source, DIVISORS)
    made = (
        lambda: one + other * integer(source, -5, 5),
        lambda: one * integer(source, -3, 9) - other,
        lambda: one // divisor,
        lambda: one % divisor + other,
        lambda: minimum(one, other),
        lambda: maximum(one, other),
        lambda: select(ge(one, other), one, other + 1),
        lambda: xor(P % 64, divisor),
    )
    return one_of(source, made)()


def points(source, count, scale=1):
    for _ in range(count):
        yield {
            each: integer(source, low * scale, high * scale)
            for each, (low, high) in RANGES.items()
        }


def bound(point, width, facts):
    """Code in which the symbols have these values."""
    code = ComputedCode()
    indices = Expressions(code, facts)
    for each, value in point.items():
        name = code.name(Kind(f"i{width}"), [value], 0)
        indices.bind(each, name, width, 0)
    return code, indices


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("width", "scale"), [(32, 1), (64, 1), (64, 10**10)])
def test_an_expression_is_computed_exactly(seed, width, scale):
    source = np.random.default_rng(seed)
    facts = facts_of(scale)
    for _ in range(60):
        expr = drawn(source, 3)
        for point in points(source, 4, scale):
            code, indices = bound(point, width, facts)
            want = evaluate(expr, point)
            assert code.signed(indices.number(expr)) == [want], expr
            low = (want + 2**31) % 2**32 - 2**31
            assert code.signed(indices.wrapped(expr)) == [low], expr


@pytest.mark.parametrize("seed", range(4))
def test_a_relation_is_tested_exactly(seed):
    source = np.random.default_rng(seed)
    for _ in range(60):
        one, other, third = (drawn(source, 2) for _ in range(3))
        test = logical_or(
            logical_and(ge(one, other), logical_not(eq(other, third))), ge(third, one)
        )
        for point in points(source, 4):
            code, indices = bound(point, 32, facts_of())
            name = indices.truth(test)
            assert code.known[name].elements == (evaluate(test, point),), test


def test_numbers_that_fit_take_32_bits_and_others_64():
    indices = bound({X: 0, Y: 0, P: 0}, 64, facts_of())[1]
    assert indices.width(X + Y) == 32
    assert indices.width(X * 10**9) == 64
    # Sums may wrap, what is compared may not.
    assert indices.exact(X * 10**9)
    assert not indices.exact(minimum(X * 10**9, Y))


def test_equal_expressions_are_computed_once():
    code, indices = bound({X: 3, Y: 4, P: 5}, 32, facts_of())
    first = indices.number(X * 3 + Y // 5)
    count = len(code.words)
    assert indices.number(X * 3 + Y // 5) == first
    assert len(code.words) == count


def test_what_a_loop_does_not_change_is_computed_before_it():
    code, indices = bound({X: 3, Y: 4}, 32, facts_of())
    with code.region():
        indices.bind(P, code.name(I32, [7]), 32, code.level)
        inner = indices.number(X // 5 + P * 3)
        quotient = indices.number(X // 5)
    assert code.signed(inner) == [21]
    assert code.known[quotient].home is code.blocks[0]
    assert code.known[inner].home not in code.blocks
    # A second loop cannot see what the first one has computed.
    with code.region():
        indices.bind(P, code.name(I32, [9]), 32, code.level)
        assert code.signed(indices.number(X // 5 + P * 3)) == [27]


@pytest.mark.parametrize("turn", [0, 1, 7])
@pytest.mark.parametrize("more", [0, 4096])
def test_a_constant_inside_a_remainder_is_not_taken_out_and_added_again(turn, more):
    """As the place of the next buffer in a loop: the sum of two terms is one sum.

    Not of terms of several loops: LLVM unrolls other loops then, and a product of 512
    with 512 on gfx942 takes an eighth more modelled cycles.
    """
    code, indices = bound({P: 5}, 32, facts_of())
    with code.region():
        indices.bind(X, code.name(I32, [turn]), 32, code.level)
        found = indices.number(X * 16 + 8192 * ((X + 1) % 2) + more)
        assert code.signed(found) == [16 * turn + 8192 * ((turn + 1) % 2) + more]
    # X + 1, and what the terms add up to.
    assert code.words.count("addi") == 2 + bool(more)


@pytest.mark.parametrize("turn", [0, 1, 7])
@pytest.mark.parametrize("whole", [False, True])
def test_nor_is_it_of_terms_of_several_loops_where_that_is_asked_for(turn, whole):
    code, indices = bound({P: 5}, 32, facts_of())
    indices.whole_remainders = whole
    with code.region():
        indices.bind(X, code.name(I32, [turn]), 32, code.level)
        found = indices.number(P * 16 + 8192 * ((X + 1) % 2))
        assert code.signed(found) == [80 + 8192 * ((turn + 1) % 2)]
    assert (code.words.count("addi") == 2) == whole


@pytest.mark.parametrize("factor", [64, 100, 2**20])
def test_a_quotient_by_a_multiple_needs_32_bits(factor):
    """Where they hold the quotient by the factor, and what is left of the divisor."""
    facts = Facts().with_range(X, -(2**31), 2**31 - 1).with_range(P, 0, 2**31 - 1)
    expr = X // (P * factor)
    for number in (-(2**31), -factor - 1, -factor, -1, 0, factor, 2**31 - 1):
        for divisor in (1, 2, 2**31 - 1):
            code, indices = bound({X: number, P: divisor}, 32, facts)
            assert indices.width(expr) == 32
            want = number // (divisor * factor)
            assert code.signed(indices.number(expr)) == [want]


def test_a_quotient_by_a_multiple_is_no_more_than_by_its_factor():
    facts = Facts().with_range(X, 0, 1000).with_range(P, 0, 9)
    assert str(facts.bounds(X // (P * 64))) == "[0, 15]"


@pytest.mark.parametrize("most", [-1, 0, 6, 7])
def test_what_is_less_is_compared_without_a_sum(most):
    """One more than the largest number is no number of 32 bits."""
    facts = Facts().with_range(P, 0, 2**31 - 1).with_range(Y, 0, 2**31 - 1)
    for number in (2**31 - 1, 2**31 - 2, 0):
        point = {P: number, Y: max(number + most, 0) % 2**31}
        code, indices = bound(point, 32, facts)
        name = indices.truth(ge(P, Y + 1))
        assert code.known[name].elements == (point[P] > point[Y],)
        assert not code.words


@pytest.mark.parametrize("rows", [128, 124, 1])
def test_rows_of_a_tile_ask_whether_the_tile_is_there(rows):
    """All of a tile's rows are below a multiple of its size, or none is."""
    facts = Facts().with_range(P, 0, rows - 1).with_range(Y, 0, 2**31 - 1)
    for tile in (0, 7, 8, 9, 2**31 - 1):
        for row in {0, rows - 1}:
            code, indices = bound({P: row, Y: tile}, 64, facts)
            named = {
                indices.truth(ge(1023, Y * 128 + P + at)) for at in (0, 128 - rows)
            }
            assert [code.known[name].elements for name in named] == [(tile < 8,)]


def test_rows_beyond_a_tile_are_asked_for_one_by_one():
    facts = Facts().with_range(P, 0, 128).with_range(Y, 0, 99)
    for row in (127, 128):
        code, indices = bound({P: row, Y: 7}, 32, facts)
        name = indices.truth(ge(1023, Y * 128 + P))
        assert code.known[name].elements == (row < 128,)


def test_a_sum_that_fits_is_compared_in_32_bits():
    """Even where what it is made of does not fit."""
    facts = Facts().with_range(X, -(2**40), 2**40).with_range(P, 0, 99)
    inside = maximum(minimum(X, 1000), 0)
    for number in (-(2**40), -1, 0, 41, 42, 43, 2**33):
        code, indices = bound({X: number, P: 42}, 64, facts)
        name = indices.truth(ge(inside, P + 1))
        assert code.known[name].elements == (number > 42,)
