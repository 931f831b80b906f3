"""Every diagnostic code is explained, and declared by who raises it."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

import workspace
from wave_core.diagnostics import Code, declaring_package
from wave_core.plugin import PluginHost

LITERAL = re.compile(r"""["'](WV\d{4})["']""")
NAMED = re.compile(r"""^([A-Z_]+) = "(WV\d{4})"$""", re.MULTILINE)
CATALOGUED = re.compile(r"codes_\w+\.py")
CORE = "wave-core"
DECLARED = PluginHost(workspace.plugins()).diagnostics
ROWS = [each.value for each in DECLARED.values()]


def sources(package: workspace.Package) -> list[Path]:
    """The modules of a package but for the rows of the catalogue."""
    paths = package.source.rglob("*.py")
    return [path for path in paths if not CATALOGUED.fullmatch(path.name)]


def raised() -> dict[str, set[str]]:
    """Codes that some module raises, each with the packages that do.

    A code that a module ``codes.py`` names counts where the name is used.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for package in workspace.packages():
        texts = {path: path.read_text() for path in sources(package)}
        used = "\n".join(text for p, text in texts.items() if p.name != "codes.py")
        for path, text in texts.items():
            if path.name == "codes.py":
                rows = NAMED.findall(text)
                names = [code for name, code in rows if f"codes.{name}" in used]
            else:
                names = LITERAL.findall(text)
            for name in names:
                found[name].add(package.name)
    return found


RAISED = raised()


@pytest.mark.parametrize("name", sorted({*RAISED, *DECLARED}))
def test_who_raises_a_code_declares_it_or_core_where_several_do(name: str) -> None:
    assert name in DECLARED, RAISED[name]
    by = RAISED.get(name, set())
    owner = by.copy().pop() if len(by) == 1 else CORE
    assert by, f"nobody raises {name}"
    assert DECLARED[name].provider.distribution == owner
    assert declaring_package(name) == owner


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_code_is_explained(row: Code) -> None:
    text = inspect.cleandoc(row.explanation)
    parts = ("Cause: ", "\nBad:\n", "\nGood:\n", "\nFix: ")
    starts = [text.find(part) for part in parts]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert max(map(len, text.splitlines())) <= 88
    assert row.title
    assert not row.title.endswith(".")
    assert len(row.title) <= 80


def test_titles_are_unique() -> None:
    titles = [row.title for row in ROWS]
    assert len(set(titles)) == len(titles)
