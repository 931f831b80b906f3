"""No module imports itself by way of others, also not when a function runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import workspace

SEAMS = (
    # An expression has the operators, whose modules work on expressions.
    "wave_core.symbols.",
    # A kernel is pickled as what compiles it anew, and asks for its code as text.
    "wave_core.compile.compiler",
    "wave_core.compile.emission",
    "wave_core.compile.kernel",
    # A control row reads other lanes through operands, which know the row.
    "wave_emulator_amdgcn.",
)
"""Where a function, and no module, imports what imports its own module."""


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of all modules, by name."""
    found = {}
    for package in workspace.packages():
        for path in package.python_files():
            parts = path.relative_to(package.source.parent).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(node: ast.AST, *, late: bool) -> Iterator[str]:
    """What a module imports; in functions too where ``late``, never for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):  # most of a tree, and it holds no statement
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not late:
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        yield from imported(child, late=late)


def edges(trees, *, late):
    """Which modules of ours each module imports."""
    found = {}
    for name, tree in trees.items():
        targets = set(imported(tree, late=late))
        targets |= {
            target.rpartition(".")[0] for target in targets if target not in trees
        }
        found[name] = (targets & trees.keys()) - {name}
    return found


def in_circles(graph):
    """The modules that reach themselves."""
    return sorted(name for name in graph if name in reached(graph, name))


def reached(graph, start):
    """The modules that ``start`` imports, and those that they import, and so on."""
    found, left = set(), [start]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left.extend(new)
    return found


def test_no_circle_of_modules():
    assert in_circles(edges(modules(), late=False)) == []


def test_no_circle_through_functions():
    found = in_circles(edges(modules(), late=True))
    assert [name for name in found if not name.startswith(SEAMS)] == []


def test_a_circle_is_seen():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert in_circles(graph) == ["b", "c"]
