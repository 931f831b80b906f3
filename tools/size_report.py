"""Size of the code, package by package, and the budget it must keep.

    python tools/size_report.py            the table
    python tools/size_report.py --check    the same, and exit 1 where the budget breaks

The length of a function is the number of lines from `def` to its last statement,
docstring included; nested functions count as well. The budget stands in pyproject.toml
under `[tool.size-report]`; each exception there carries its reason.
"""

from __future__ import annotations

import argparse
import ast
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workspace


@dataclass(frozen=True)
class Function:
    """A definition and its length in lines."""

    path: Path
    line: int
    name: str
    lines: int

    def __str__(self) -> str:
        """`path:line: name is n lines`, the form editors jump to."""
        return f"{shown(self.path)}:{self.line}: {self.name} is {self.lines} lines"


@dataclass(frozen=True)
class Report:
    """Sizes of one package."""

    name: str
    files: dict[Path, int]
    functions: tuple[Function, ...]

    @property
    def lengths(self) -> list[int]:
        """Function lengths, ascending."""
        return sorted(function.lines for function in self.functions)


def shown(path: Path) -> str:
    """The path as messages show it: relative to the repository where possible."""
    root = workspace.ROOT
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def quantile(ascending: list[int], share: float) -> int:
    """The smallest value that at least `share` of the values do not exceed."""
    if not ascending:
        return 0
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]


def functions_of(path: Path, source: str) -> list[Function]:
    """Every function and method that the source defines."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    return [
        Function(path, f.lineno, f.name, (f.end_lineno or f.lineno) - f.lineno + 1)
        for f in found
    ]


def measure(name: str, paths: list[Path]) -> Report:
    """Sizes of the given files, under one name."""
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    functions = [f for path, text in sources.items() for f in functions_of(path, text)]
    files = {path: len(text.splitlines()) for path, text in sources.items()}
    return Report(name, files, tuple(functions))


def row(report: Report) -> str:
    """The report's line of the table."""
    lengths, files = report.lengths, list(report.files.values())
    median, p90 = quantile(lengths, 0.5), quantile(lengths, 0.9)
    return (
        f"{report.name:<24}{len(files):>6}{sum(files):>8}{max(files, default=0):>10}"
        f"{len(lengths):>7}{median:>8}{p90:>6}{max(lengths, default=0):>6}"
    )


def table(reports: list[Report]) -> str:
    """All reports as aligned text."""
    head = f"{'package':<24}{'files':>6}{'lines':>8}{'longest':>10}"
    head += f"{'fns':>7}{'median':>8}{'p90':>6}{'max':>6}"
    return "\n".join([head, *map(row, reports)])


def violations(reports: list[Report], budget: dict[str, Any]) -> list[str]:
    """What breaks the budget, a sentence each."""
    found: list[str] = []
    for report in reports:
        p90 = quantile(report.lengths, 0.9)
        if p90 > budget["function-p90"] and report.name not in budget["long-bodied"]:
            found.append(f"{report.name}: p90 of function length is {p90} lines")
        found += [
            f"{shown(path)}: {lines} lines"
            for path, lines in report.files.items()
            if lines > budget["file-lines"] and shown(path) not in budget["long-files"]
        ]
        found += [
            str(function)
            for function in report.functions
            if function.lines > budget["function-lines"]
        ]
    return found


def main() -> int:
    """Print the table; with --check, the violations too, and fail on any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail over the budget")
    arguments = parser.parse_args()
    packages = workspace.packages()
    reports = [measure(package.name, package.python_files()) for package in packages]
    everything = [path for package in packages for path in package.python_files()]
    print(table([*reports, measure("all packages", everything)]))
    if not arguments.check:
        return 0
    budget = workspace.load_toml(workspace.ROOT / "pyproject.toml")["tool"]
    broken = violations(reports, budget["size-report"])
    print("\n".join(["", *broken] if broken else ["within the budget"]))
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
