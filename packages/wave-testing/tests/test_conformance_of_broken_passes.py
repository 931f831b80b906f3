"""The conformance tests fail on passes that do something wrong."""

from __future__ import annotations

import broken_passes
import pytest

from wave_core.compile import Session
from wave_core.diagnostics import WaveError
from wave_testing.conformance import PassConformance
from wave_testing.corpus import corpus
from wave_testing.programs.execute import Execution

PLUGINS = {"broken": broken_passes}


def conformance(name):
    kind = {"pass_name": name, "plugins": PLUGINS}
    return type("Conformance", (PassConformance,), kind)()


def outcome(test, arguments):
    """Whether a conformance test passes on some arguments."""
    method, names = test
    try:
        method(*(arguments[name] for name in names))
    except (AssertionError, WaveError):
        return False
    return True


def methods_of(checks):
    for name in dir(checks):
        if name.startswith("test_"):
            method = getattr(checks, name)
            code = method.__func__.__code__
            yield name, (method, code.co_varnames[1 : code.co_argcount])


def failures(name, kernel):
    """The conformance tests that fail on one kernel; all, if it cannot be lowered."""
    checks = conformance(name)
    session, execution = Session(PLUGINS), Execution(corpus()[kernel])
    try:
        around = checks.run_around(session, execution)
    except (AssertionError, WaveError):
        return {"around"}
    given = {"session": session, "execution": execution, "around": around}
    found = [key for key, test in methods_of(checks) if not outcome(test, given)]
    return set(found)


MEANING = "test_it_keeps_the_meaning"
AGAIN = "test_a_second_run_finds_nothing"


@pytest.mark.parametrize(
    ("name", "kernel", "wrong"),
    [
        ("swap-subtractions", "reduction", {MEANING, AGAIN}),
        ("drop-writes", "copy", {MEANING}),
        ("repeat-reads", "copy", {AGAIN}),
        ("hide-changes", "copy", {"test_it_says_whether_it_changed_something"}),
        ("claim-too-much", "copy", {"test_the_graph_obeys_the_rules"}),
        ("count-runs", "copy", {AGAIN, "test_it_is_deterministic"}),
    ],
)
def test_it_fails_where_it_should(name, kernel, wrong):
    found = failures(name, kernel)
    assert wrong <= found, found


def test_lost_locations_show():
    found = failures("lose-locations", "copy")
    assert {"test_every_op_has_a_location", "test_the_graph_obeys_the_rules"} <= found


@pytest.mark.parametrize("kernel", corpus())
def test_a_pass_that_is_right_has_no_failures(kernel):
    assert failures("merge-common-subexpressions", kernel) == set()
