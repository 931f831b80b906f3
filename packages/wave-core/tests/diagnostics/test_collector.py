from __future__ import annotations

import pytest

from wave_core.diagnostics import Collector, Location, UserError, user_error


def at(line):
    return Location.of_span("k.py", line)


def test_errors_are_raised_once_in_order_of_place_and_code():
    collector = Collector()
    collector.error("WV0202", "c", at=at(7))
    collector.error("WV0204", "b", at=at(3))
    collector.error("WV0201", "a", at=at(3))
    with pytest.raises(UserError) as caught:
        collector.raise_if_errors()
    assert [d.message for d in caught.value.diagnostics] == ["a", "b", "c"]
    collector.raise_if_errors()


def test_repetitions_count_once():
    collector = Collector()
    for _ in range(3):
        collector.error("WV0201", "same", at=at(3))
    collector.error("WV0201", "same", at=at(4))
    assert len(collector.errors) == 2


def test_warnings_do_not_raise():
    collector = Collector()
    collector.warn("WV0408", "slower")
    collector.raise_if_errors()
    assert [d.severity.value for d in collector.warnings] == ["warning"]


def test_a_phase_raises_what_it_collected_and_names_itself():
    collector = Collector()

    def distribute():
        with collector.phase("distribute"):
            collector.error("WV0310", "one", at=at(2))
            collector.error("WV0310", "two", at=at(1))

    with pytest.raises(UserError) as caught:
        distribute()
    first, second = caught.value.diagnostics
    assert (first.message, second.message) == ("two", "one")
    assert first.data["phase"] == "distribute"


def test_a_user_error_that_ends_a_phase_joins_the_others():
    def infer():
        with Collector().phase("infer") as collector:
            collector.error("WV0201", "one", at=at(9))
            raise user_error("WV0202", "two", at=at(1))

    with pytest.raises(UserError) as caught:
        infer()
    assert [d.message for d in caught.value.diagnostics] == ["two", "one"]


def test_absorbing_goes_on():
    collector = Collector()
    for line in (1, 2):
        with collector.absorb():
            raise user_error("WV0201", "bad", at=at(line))
    assert len(collector.errors) == 2


def test_other_exceptions_pass_through():
    def infer():
        with Collector().phase("infer") as collector:
            collector.error("WV0201", "one")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        infer()


def test_a_phase_does_not_raise_again_what_an_earlier_one_raised():
    collector = Collector()
    with pytest.raises(UserError), collector.phase("infer"):
        collector.error("WV0201", "one")
    with collector.phase("expand"):
        collector.warn("WV0408", "slower")
    assert len(collector.diagnostics) == 2
