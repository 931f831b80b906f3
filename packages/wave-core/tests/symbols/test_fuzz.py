"""Random expressions against Python integers, by evaluation and as text."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.symbols import SymbolError, Tape, evaluate, parse_expr, symbol
from wave_core.symbols.substitute import substitute_all

NAMES = ("x", "y", "p", "q")


def symbols_of(tape):
    return [NAMES.index(node.name) for node in tape.symbols]


def count_right(recipe, rows):
    """Points with the right value; points where the recipe divides by zero skip."""
    tape = Tape([recipe.expr])
    slots = symbols_of(tape)
    right = 0
    for row in rows:
        try:
            want = recipe.oracle(row)
        except ZeroDivisionError:
            continue
        got = tape.at([row[slot] for slot in slots])
        assert got == [want], f"{recipe.expr} at {row}"
        right += 1
    return right


def check_points(source, points):
    right = 0
    while right < points:
        right += count_right(source.draw(), source.rows(200))
    return right


def test_evaluation_agrees_with_python_on_100k_points(recipes):
    assert check_points(recipes(seed=1), 100_000) >= 100_000


@pytest.mark.fuzz
@pytest.mark.timeout(600)
def test_evaluation_agrees_with_python_on_1m_points(recipes):
    assert check_points(recipes(seed=2), 1_000_000) >= 1_000_000


def test_text_reads_back_as_the_same_node(recipes):
    source = recipes(seed=3)
    for _ in range(1500):
        expr = source.draw().expr
        assert parse_expr(str(expr)) is expr, str(expr)


def test_substitution_is_evaluation_at_another_point(recipes):
    source = recipes(seed=4)
    x, y, p = symbol("x", False), symbol("y", False), symbol("p")
    swap = {x: y + 2 * p, y: x - 3}
    for _ in range(300):
        recipe = source.draw(3)
        (moved,) = substitute_all([recipe.expr], swap)
        for row in source.rows(5):
            values = dict(zip((x, y, p, symbol("q")), row, strict=True))
            try:
                want = recipe.oracle([row[1] + 2 * row[2], row[0] - 3, *row[2:]])
            except ZeroDivisionError:
                continue
            assert evaluate(moved, values) == want, (str(recipe.expr), str(moved))


def test_arrays_broadcast_and_agree_with_integers(recipes):
    source = recipes(seed=5)
    lane, wave = np.arange(64)[None, :] - 20, np.arange(4)[:, None] + 1
    x, y, p, q = symbol("x", False), symbol("y", False), symbol("p"), symbol("q")
    env = {x: lane, y: 7, p: wave, q: 3}
    checked = 0
    for _ in range(400):
        expr = source.draw(4).expr
        try:
            got = np.broadcast_to(evaluate(expr, env), (4, 64))
        except SymbolError:
            continue
        for w, i in ((0, 0), (3, 17), (2, 63)):
            point = {x: i - 20, y: 7, p: w + 1, q: 3}
            assert got[w, i] == evaluate(expr, point), str(expr)
            checked += 1
    assert checked > 500


def soundness_case(source):
    """Random facts, points where they hold, and a recipe."""
    from wave_core.symbols import Facts, lt

    nodes = [symbol("x", False), symbol("y", False), symbol("p"), symbol("q")]
    rng, facts = source.rng, Facts()
    low = rng.integers(-10, 10, 4)
    low[2:] = abs(low[2:])
    high = low + rng.choice([0, 1, 3, 7, 15, 30], 4)
    for node, lo, hi in zip(nodes, low.tolist(), high.tolist(), strict=True):
        facts = facts.with_range(node, lo, hi)
    points = rng.integers(low, high + 1, (60, 4)).tolist()
    if rng.random() < 0.5:
        i, number, rest = (int(v) for v in rng.integers((0, 2, 0), (4, 17, 2)))
        facts = facts.with_assumption(nodes[i] % number - rest)  # x % n != r
        points = [row for row in points if row[i] % number != rest]
    if rng.random() < 0.5:
        i, number = (int(v) for v in rng.integers((0, 2), (4, 9)))
        facts = facts.with_assumption(
            parse_expr(f"{nodes[i]} % {number} == {number // 2}")
        )
        points = [row for row in points if row[i] % number == number // 2]
    if rng.random() < 0.6:
        i, j, a = (int(v) for v in rng.integers((0, 0, 1), (4, 4, 4)))
        if i != j:
            facts = facts.with_assumption(lt(a * nodes[i], nodes[j] + 2))
            points = [row for row in points if a * row[i] < row[j] + 2]
    return facts, points, source.draw(4)


def check_soundness(source, cases):
    told = 0
    for _ in range(cases):
        facts, points, recipe = soundness_case(source)
        expr = recipe.expr
        try:
            simple = Tape([facts.simplify(expr)])
        except SymbolError as error:
            if "zero" not in str(error):
                raise
            continue
        interval, divisor = facts.bounds(expr), facts.divisor(expr)
        proved = facts.prove(expr)
        slots = symbols_of(simple)
        for row in points:
            try:
                want = recipe.oracle(row)
            except ZeroDivisionError:
                continue
            where = (str(expr), row)
            assert simple.at([row[slot] for slot in slots]) == [want], where
            assert want in interval, where
            assert want % divisor == 0 if divisor else want == 0, where
            assert want or not proved, where
            told += 1
    return told


def test_facts_never_say_a_wrong_thing(recipes):
    assert check_soundness(recipes(seed=6), 1500) > 5_000


@pytest.mark.fuzz
@pytest.mark.timeout(600)
def test_facts_never_say_a_wrong_thing_on_many_cases(recipes):
    assert check_soundness(recipes(seed=7), 40_000) > 200_000
