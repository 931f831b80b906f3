"""Goldens: what a test gave when somebody last looked at it."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path

FOLDER = "golden"
_ODD = re.compile(r"[^\w.=+-]+")


class Golden:
    """Compares texts of one test with files named after it."""

    def __init__(self, test_file: Path, test_name: str, *, update: bool) -> None:
        """The goldens of a test.

        Args:
            test_file: The module of the test.
            test_name: Its name, parameters included.
            update: Whether to write the files.
        """
        self._folder = test_file.parent / FOLDER / test_file.stem
        self._name = _ODD.sub("_", test_name).strip("_")
        self._update = update

    def path(self, suffix: str = "") -> Path:
        """The file of one text."""
        name = f"{self._name}.{suffix}" if suffix else self._name
        return self._folder / f"{name}.txt"

    def __call__(self, text: str, suffix: str = "") -> None:
        """Compare a text with its golden, or write it.

        Raises:
            AssertionError: where they differ, or there is none.
        """
        path = self.path(suffix)
        text = text if text.endswith("\n") else f"{text}\n"
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            raise AssertionError(f"no golden {path}: run pytest --update-golden")
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            raise AssertionError(_difference(path, expected, text))


def _difference(path: Path, expected: str, text: str) -> str:
    rows = unified_diff(
        expected.splitlines(), text.splitlines(), path.name, "this run", lineterm=""
    )
    listed = "\n".join(rows)
    return f"{listed}\n{path} differs: if that is right, run pytest --update-golden"
