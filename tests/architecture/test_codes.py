"""Every diagnostic code is raised somewhere, and every code that is raised is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workspace
from wave_core.diagnostics import catalogue

LITERAL = re.compile(r"""["'](WV\d{4})["']""")
NAMED = re.compile(r"""^([A-Z_]+) = "(WV\d{4})"$""", re.MULTILINE)
CATALOGUED = re.compile(r"codes_\w+\.py")
FOR_LATER = ("WV06",)
"""Families of packages that are planned: backends."""


def sources(package: workspace.Package) -> list[Path]:
    """The modules of a package but for the rows of the catalogue."""
    paths = package.source.rglob("*.py")
    return [path for path in paths if not CATALOGUED.fullmatch(path.name)]


def raised() -> dict[str, Path]:
    """Codes that some module raises, each with one that does.

    A code that a module ``codes.py`` names counts where the name is used.
    """
    found: dict[str, Path] = {}
    for package in workspace.packages():
        texts = {path: path.read_text() for path in sources(package)}
        used = "\n".join(text for p, text in texts.items() if p.name != "codes.py")
        for path, text in texts.items():
            if path.name == "codes.py":
                rows = NAMED.findall(text)
                named = [code for name, code in rows if f"codes.{name}" in used]
                found |= dict.fromkeys(named, path)
            else:
                found |= dict.fromkeys(LITERAL.findall(text), path)
    return found


RAISED = raised()
PRESENT = [name for name in catalogue() if not name.startswith(FOR_LATER)]


@pytest.mark.parametrize("name", PRESENT)
def test_every_code_is_raised(name: str) -> None:
    assert name in RAISED


@pytest.mark.parametrize("name", sorted(RAISED))
def test_every_raised_code_is_in_the_catalogue(name: str) -> None:
    assert name in catalogue(), RAISED[name]
