"""Modules beside tests are found by name alone, so no two have the same."""

from __future__ import annotations

from collections import Counter

import workspace

FOLDERS = [workspace.ROOT / "tests", *(p.tests for p in workspace.packages())]
RUN_BY_PYTEST = ("test_", "conftest", "__init__")


def test_modules_beside_tests_have_names_of_their_own():
    names = Counter(
        path.name
        for folder in FOLDERS
        for path in folder.rglob("*.py")
        if not path.name.startswith(RUN_BY_PYTEST)
    )
    assert [name for name, count in names.items() if count > 1] == []
