"""What the type checker is told instead of finding out: casts, at most so many."""

from __future__ import annotations

import ast

import workspace

MOST_CASTS = 60
"""Calls of `typing.cast` in all packages; half of what there once were."""


def casts(package):
    """The lines of a package that cast."""
    for path in package.python_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if called and node.func.id == "cast" and len(node.args) == 2:
                yield f"{path.name}:{node.lineno}"


def test_casts_do_not_come_back():
    found = [place for package in workspace.packages() for place in casts(package)]
    assert len(found) <= MOST_CASTS, found
