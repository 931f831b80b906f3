from __future__ import annotations

import inspect

import pytest

from wave_core.diagnostics import Catalogue, Code, UserError, catalogue, explain

ROWS = list(catalogue().values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_code_is_explained(row):
    text = inspect.cleandoc(row.explanation)
    starts = [
        text.find(part) for part in ("Cause: ", "\nBad:\n", "\nGood:\n", "\nFix: ")
    ]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert max(map(len, text.splitlines())) <= 88
    assert row.title
    assert not row.title.endswith(".")
    assert len(row.title) <= 80


def test_titles_are_unique():
    titles = [row.title for row in ROWS]
    assert len(set(titles)) == len(titles)


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


def test_plugins_add_codes_of_their_own():
    more = catalogue().with_codes(Code("ACME001", "theirs", "Cause: x."))
    assert "ACME001" in more
    assert "ACME001" not in catalogue()
    assert "theirs" in explain("acme001", more)


@pytest.mark.parametrize("names", [["WV0001"], ["bad"], ["ACME001", "ACME001"]])
def test_unfit_codes_are_refused(names):
    rows = [Code(name, "t", "e") for name in names]
    with pytest.raises(ValueError, match=names[0]):
        catalogue().with_codes(*rows)


def test_a_code_is_declared_once():
    with pytest.raises(ValueError, match="twice"):
        Catalogue((ROWS[0], ROWS[0]))


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
