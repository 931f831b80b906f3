"""The size budget holds, and the tool that checks it can fail."""

from __future__ import annotations

from pathlib import Path

import size_report
import workspace

BUDGET = workspace.load_toml(workspace.ROOT / "pyproject.toml")["tool"]["size-report"]


def measured(tmp_path: Path, source: str) -> size_report.Report:
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")
    return size_report.measure("sample", [path])


def function(name: str, lines: int) -> str:
    return f"def {name}():\n" + "    x = 1\n" * (lines - 1)


def test_package_keeps_the_budget(package):
    report = size_report.measure(package.name, package.python_files())
    assert size_report.violations([report], BUDGET) == []


def test_whole_keeps_the_budget():
    paths = [path for each in workspace.packages() for path in each.python_files()]
    report = size_report.measure("all packages", paths)
    assert size_report.violations([report], BUDGET) == []


def test_long_files_exist():
    assert [p for p in BUDGET["long-files"] if not (workspace.ROOT / p).is_file()] == []


def test_lengths_count_def_to_last_line(tmp_path):
    report = measured(tmp_path, function("a", 3) + function("b", 7))
    assert report.lengths == [3, 7]


def test_quantile_is_a_measured_value():
    lengths = list(range(1, 11))
    assert [size_report.quantile(lengths, q) for q in (0.5, 0.9, 1.0)] == [5, 9, 10]


def test_long_function_is_named(tmp_path):
    report = measured(tmp_path, function("short", 2) * 20 + function("endless", 81))
    (message,) = size_report.violations([report], BUDGET)
    assert "endless is 81 lines" in message


def test_slow_drift_is_seen(tmp_path):
    report = measured(tmp_path, function("f", 31) * 3)
    (message,) = size_report.violations([report], BUDGET)
    assert "p90 of function length is 31 lines" in message


def test_long_file_is_named(tmp_path):
    report = measured(tmp_path, "x = 1\n" * 601)
    (message,) = size_report.violations([report], BUDGET)
    assert message.endswith("module.py: 601 lines")
