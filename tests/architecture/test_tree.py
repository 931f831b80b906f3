"""What no file of the repository may hold, and how no module may be called."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import workspace

# The letter classes keep this file from holding what it looks for.
MACHINE_PATHS = re.compile(r"/([w]ork|[r]oot|[h]ome|[f]arm)/")
INDEX_HOSTS = re.compile(
    r"[p]ypi\.org|[p]ythonhosted|[n]pmjs\.(org|com)|[p]ytorch\.org|[e]xtra-index-url"
)
UNFINISHED = re.compile(r"\b([T]ODO|[F]IXME|[X]XX)\b")
VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "handlers"})


def repository_files() -> list[Path]:
    """Tracked files, and new ones that git does not ignore."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(listing, cwd=workspace.ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout: what belongs to the repository is unknown")
    names = done.stdout.decode().split("\0")
    return [p for name in names if name and (p := workspace.ROOT / name).is_file()]


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for path in repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        shown = path.relative_to(workspace.ROOT)
        found += [f"{shown}:{n}" for n, x in enumerate(lines, 1) if pattern.search(x)]
    return found


@pytest.mark.parametrize(
    "pattern", [MACHINE_PATHS, INDEX_HOSTS, UNFINISHED], ids=["paths", "hosts", "todo"]
)
def test_no_file_holds(pattern):
    assert lines_with(pattern) == []


def test_the_search_finds_something():
    assert lines_with(re.compile("Apache License"))


def test_no_module_has_a_vague_name(package):
    names = {path.stem for path in package.python_files()}
    names |= {path.parent.name for path in package.python_files()}
    assert names & VAGUE == set()
