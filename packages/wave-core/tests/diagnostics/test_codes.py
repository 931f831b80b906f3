from __future__ import annotations

import pytest

from wave_core.diagnostics import Code, UserError, catalogue, explain

ROWS = list(catalogue().values())


@pytest.mark.parametrize("family", [1, 2, 3, 4, 5, 6, 7, 8, 9, 99])
def test_every_family_has_codes(family):
    assert any(name.startswith(f"WV{family:02}") for name in catalogue())


def test_families_keep_to_their_numbers():
    from wave_core.diagnostics import codes_launch, codes_types

    assert all(row.name.startswith("WV02") for row in codes_types.TYPE_CODES)
    assert all(row.name.startswith("WV07") for row in codes_launch.LAUNCH_CODES)


def test_the_catalogue_is_sorted_and_cannot_be_changed():
    assert list(catalogue()) == sorted(catalogue())
    with pytest.raises(TypeError):
        catalogue()["WV0001"] = ROWS[0]


def test_codes_of_plugins_are_explained():
    more = {**catalogue(), "ACME001": Code("ACME001", "theirs", "Cause: x.")}
    assert "theirs" in explain("acme001", more)
    assert "ACME001" not in catalogue()


def test_explain_names_the_package_that_declares_a_code():
    with pytest.raises(UserError) as caught:
        explain("wv0502")
    assert str(caught.value) == (
        "error[WV0820]: codes like `WV0502` belong to package wave-passes-scheduling,"
        " which is not installed\n"
        "  = help: pip install wave-passes-scheduling, or enable its plugin"
    )


def test_a_number_that_an_installed_package_lacks():
    rows = {**catalogue(), "WV0502": Code("WV0502", "t", "Cause: x.")}
    with pytest.raises(UserError, match="no diagnostic code `WV0599`"):
        explain("WV0599", rows)


def test_explain():
    text = explain("wv0203")
    assert text.startswith(
        "WV0203: mma operands disagree on the contracted dimension\n\nCause: "
    )
    assert "\nBad:\n    a_reg" in text


def test_explain_an_unknown_code():
    with pytest.raises(UserError, match=r"did you mean .*WV0203") as caught:
        explain("WV203")
    assert caught.value.code == "WV0820"
