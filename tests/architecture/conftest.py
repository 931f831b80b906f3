"""Tests that name `package` run once for every package of the repository."""

from __future__ import annotations

import pytest

import workspace


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "package" in metafunc.fixturenames:
        packages = workspace.packages()
        names = [package.name for package in packages]
        metafunc.parametrize("package", packages, ids=names)
