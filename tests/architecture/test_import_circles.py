"""No module imports itself by way of others, also not when a function runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import accumulate

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
        targets |= {package for each in targets for package in packages_of(each)}
        # Its own packages are being imported when a module is.
        found[name] = (targets & trees.keys()) - {name, *packages_of(name)}
    return found


def packages_of(name):
    """The packages that a module is in, which are imported before it is."""
    return list(accumulate(name.split(".")[:-1], "{}.{}".format))


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


def test_a_module_needs_the_packages_that_it_is_in():
    """Which it is imported after: a.b cannot be the first that anybody imports."""
    texts = {"a.b": "import a.c.d", "a.c": "import a.c.e", "a.c.e": "import a.b"}
    trees = {name: ast.parse(texts.get(name, "")) for name in ("a", "a.c.d", *texts)}
    assert in_circles(edges(trees, late=False)) == ["a.b", "a.c", "a.c.e"]
