from __future__ import annotations

import copy

import pytest

from wave_core.diagnostics import (
    Diagnostic,
    InternalError,
    LaunchError,
    Location,
    PluginError,
    SimulationError,
    UserError,
    WaveError,
    internal_error,
    launch_error,
    make_diagnostic,
    plugin_error,
    simulation_error,
    user_error,
)


@pytest.mark.parametrize(
    ("make", "kind", "is_user"),
    [
        (user_error, UserError, True),
        (launch_error, LaunchError, True),
        (simulation_error, SimulationError, True),
        (plugin_error, PluginError, False),
        (internal_error, InternalError, False),
    ],
)
def test_kinds(make, kind, is_user):
    error = make("WV0201", "m", at=Location.of_span("k.py", 1), label="l", bits=8)
    assert type(error) is kind
    assert isinstance(error, WaveError)
    assert isinstance(error, UserError) is is_user
    assert error.code == "WV0201"
    assert error.diagnostics[0].data == {"bits": 8}
    assert error.diagnostics[0].primary.message == "l"


def test_an_internal_error_says_what_to_report():
    error = InternalError(make_diagnostic("WV9901", "failed"), "expand")
    assert str(error).splitlines() == [
        "error[WV9901]: failed",
        "  = pass: expand",
        "  = note: this is a defect of Wave, not of your kernel",
    ]


def test_an_undeclared_code_is_an_internal_error():
    with pytest.raises(InternalError, match="WV0299 is not in the catalogue") as caught:
        Diagnostic("WV0299", "what was meant")
    assert "what was meant" in str(caught.value)


def test_codes_of_others_are_not_checked():
    assert Diagnostic("ACME001", "theirs").code == "ACME001"


def test_one_string_is_one_note():
    found = user_error("WV0201", "m", notes="ab", help="cd").diagnostics[0]
    assert (found.notes, found.help) == (("ab",), ("cd",))


def test_errors_can_be_copied():
    error = internal_error("WV9901", "m", at=Location.here())
    error.pass_name = "expand"
    again = copy.deepcopy(error)
    assert str(again) == str(error)
    assert again.pass_name == "expand"


def test_a_diagnostic_is_frozen_and_hashable():
    found = user_error("WV0201", "m", bits=8).diagnostics[0]
    assert hash(found) == hash(copy.deepcopy(found))
    with pytest.raises(AttributeError):
        found.message = "other"
