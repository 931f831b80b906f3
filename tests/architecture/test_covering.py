"""Which cases of the tests run, and which are left to longer runs."""

from __future__ import annotations

import covering

PLACES = [{("target", each)} for each in "abc"]
MANY = [{("kernel", str(number))} for number in range(covering.FEW_VALUES + 1)]


def met(*rows):
    return [frozenset((word,) for word in row) for row in rows]


def test_few_rows_have_all_that_all_rows_have():
    rows = met({"a", "x"}, {"a", "y"}, {"b", "x"}, {"b", "y"})
    kept = covering.cover(rows)
    assert len(kept) == 2
    assert frozenset().union(*(rows[n] for n in kept)) == frozenset().union(*rows)


def test_values_of_one_argument_stand_beside_different_ones_of_another():
    absent, kernels = (("absent", each) for each in "ab"), "xyz"
    rows = met(*({word, ("kernel", k)} for word in absent for k in kernels))
    kept = covering.cover(rows, {"absent"})
    assert len(kept) == 2
    assert len({word for n in kept for (word,) in rows[n]}) == 4


def test_each_test_goes_to_each_of_a_few_places():
    assert covering.cases_of_words(PLACES, set()) == {0, 1, 2}
    assert covering.cases_of_words(PLACES, set().union(*PLACES)) == {0, 1, 2}


def test_each_of_many_stands_once_in_a_file():
    assert len(covering.cases_of_words(MANY, set())) == len(MANY)
    assert covering.cases_of_words(MANY, set().union(*MANY[1:])) == {0}


def test_each_test_has_one_case_at_least():
    assert covering.cases_of_words(MANY, set().union(*MANY)) == {0}
    assert covering.cases_of_words([set(), set()], set()) == {0}


def test_numbers_and_sizes_are_no_words():
    sizes = {"m": 3, "shape": (1, 2.5), "dims": {"M": 4}, "nothing": None}
    assert covering._words(sizes) == set()
    assert covering._words({"m": 3, "target": "a"}) == {("target", "'a'")}
    assert covering._words({"row": ("a", 1)}) == {("row", "('a', 1)")}
