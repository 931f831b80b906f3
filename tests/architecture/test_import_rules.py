"""Import rules that import-linter cannot say: submodules, laziness, star imports."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import workspace

# What only some modules may import, and which. A prefix covers everything below it.
RESTRICTED = {
    "torch.fx": ("wave_core.trace", "wave_core.ir"),
    "sympy": ("wave_core.symbols", "wave_core.lang"),
    "pluggy": ("wave_core.plugin",),
    "iree": (
        "wave_backend_amdgpu.bindings",
        "wave_backend_asm.bindings",
        "wave_runtime.iree_hal",
    ),
    "typer": ("wave_core.cli",),
}
# What a function may import: libraries that load slowly, and ours that reach them.
LAZY = (
    *("torch", "sympy", "numpy", "networkx", "ml_dtypes", "rich"),
    *("difflib", "filelock", "hashlib", "iree", "platformdirs", "wave_"),
    *("optuna", "sqlalchemy"),
)
# Distributions of programs, which are run and not imported.
PROGRAMS = {"nvidia_cuda_nvcc", "nvidia_cuda_nvdisasm"}
# Distributions whose module has another name.
MODULES = {"iree_base_compiler": "iree", "iree_base_runtime": "iree"}


@dataclass(frozen=True)
class Import:
    """One imported name, and where it is imported."""

    module: str
    target: str
    line: int
    in_function: bool
    star: bool = False

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def targets(node: ast.AST) -> Iterator[tuple[str, int, bool]]:
    if isinstance(node, ast.Import):
        yield from ((a.name, node.lineno, False) for a in node.names)
    if isinstance(node, ast.ImportFrom):
        names = [alias.name for alias in node.names]
        yield from ((f"{node.module}.{x}", node.lineno, x == "*") for x in names)


def imports(module: str, tree: ast.AST, *, inside: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):  # most of a tree, and it holds no statement
            continue
        for target, line, star in targets(node):
            yield Import(module, target, line, inside, star)
        function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield from imports(module, node, inside=inside or function)


def module_name(package: workspace.Package, path: Path) -> str:
    parts = path.relative_to(package.source.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
def imports_of(package: workspace.Package) -> list[Import]:
    found: list[Import] = []
    for path in package.python_files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += imports(module_name(package, path), tree)
    return found


def below(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == p or name.startswith(f"{p}.") for p in prefixes)


@pytest.mark.parametrize("library", RESTRICTED)
def test_restricted_library(package, library):
    allowed = RESTRICTED[library]
    used = [i for i in imports_of(package) if below(i.target, (library,))]
    strict = used if library == "iree" else []
    mine = [i for i in used if i.module.startswith("wave_core")] or strict
    assert [str(i) for i in mine if not below(i.module, allowed)] == []


def test_functions_import_only_what_is_lazy_for_a_reason(package):
    late = [i for i in imports_of(package) if i.in_function]
    assert [str(i) for i in late if not i.target.startswith(LAZY)] == []


def test_declares_what_it_imports_and_nothing_else(package):
    names = [workspace.requirement_name(text) for text in package.requirements]
    plain = {name.replace("-", "_") for name in names}
    declared = {MODULES.get(name, name) for name in plain} - PROGRAMS
    imported = {i.target.partition(".")[0] for i in imports_of(package)}
    assert imported - sys.stdlib_module_names - {package.module} == declared


def test_no_star_imports(package):
    assert [str(i) for i in imports_of(package) if i.star] == []


SAMPLE = """
from torch import fx
import torch.fx.graph as g
def late():
    from os import path
from a import *
"""


def test_the_reader_sees_every_form():
    found = list(imports("m", ast.parse(SAMPLE)))
    assert [i.target for i in found] == ["torch.fx", "torch.fx.graph", "os.path", "a.*"]
    assert [i.in_function for i in found] == [False, False, True, False]
    assert [i.star for i in found] == [False, False, False, True]
