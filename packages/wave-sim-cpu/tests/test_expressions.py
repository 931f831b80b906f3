"""Expressions on arrays against Python integers, and their split into parts."""

from __future__ import annotations

import operator

import numpy as np
from hypothesis import given, settings, strategies as st

from wave_core.constraints.machine import LANE, REGISTER
from wave_core.symbols import (
    Expr,
    constant,
    evaluate as exact,
    ge,
    maximum,
    minimum,
    select,
    symbol,
    xor,
)
from wave_sim_cpu.expressions import Axis, Environment, Linear, evaluate

WG, IV = symbol("$WG0"), symbol("$IV:K")
SHAPES = {WG: (3, 1, 1), LANE: (1, 4, 1), REGISTER: (1, 1, 2)}
KINDS = {
    WG: (Axis.UNIT, False),
    LANE: (Axis.LANE, False),
    REGISTER: (Axis.REGISTER, False),
    IV: (Axis.NONE, True),
}
BINARY = (operator.add, operator.sub, operator.mul, minimum, maximum, ge, xor)


def combine(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    divisors = st.integers(1, 9)
    return st.one_of(
        st.builds(lambda f, a, b: f(a, b), st.sampled_from(BINARY), parts, parts),
        st.builds(lambda a, d: a // d, parts, divisors),
        st.builds(lambda a, d: a % d, parts, divisors),
        st.builds(lambda c, a, b: select(ge(c, 3), a, b), parts, parts, parts),
    )


leaves = st.one_of(
    st.sampled_from([WG, LANE, REGISTER, IV]), st.integers(-5, 40).map(constant)
)
expressions = st.recursive(leaves, combine, max_leaves=8)


def point(turn: int) -> dict[Expr, object]:
    values: dict[Expr, object] = {
        s: np.arange(max(shape)).reshape(shape) for s, shape in SHAPES.items()
    }
    return values | {IV: turn}


def expected(expr: Expr, turn: int) -> np.ndarray:
    found = np.zeros((3, 4, 2), np.int64)
    for g, lane, r in np.ndindex(found.shape):
        found[g, lane, r] = exact(expr, {WG: g, LANE: lane, REGISTER: r, IV: turn})
    return found


@settings(max_examples=200, deadline=None)
@given(expressions)
def test_arrays_agree_with_integers(expr: Expr) -> None:
    found = np.broadcast_to(evaluate(expr, point(3)), (3, 4, 2))
    np.testing.assert_array_equal(found, expected(expr, 3))


@settings(max_examples=200, deadline=None)
@given(expressions)
def test_parts_add_up_and_follow_the_loop(expr: Expr) -> None:
    linear = Linear(expr, KINDS.__getitem__)
    env = Environment({s: v for s, v in point(0).items() if s is not REGISTER})
    extra = {REGISTER: point(0)[REGISTER]}
    for turn in (0, 1, 5):
        env.set(IV, turn)
        truth = expected(expr, turn)
        found = np.broadcast_to(linear.array(env, extra), truth.shape)
        np.testing.assert_array_equal(found, truth)
        low, high = linear.range(env, extra)
        assert low <= truth.min()
        assert high >= truth.max()
