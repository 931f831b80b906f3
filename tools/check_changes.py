"""Changelog fragments: well named, and present wherever a package's source changed.

    python tools/check_changes.py [--base REF]

Names are always checked. What changed is read from git, between the base and the
working tree; without `--base` the base is where the branch left `origin/main`. Where
there is no such revision (no git, a fresh clone of main) only the names are checked,
and the output says so.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import workspace

_NAME = re.compile(r"(\d+|\+[\w-]+)\.(?P<kind>[a-z]+)(\.\d+)?\.md")


def kinds() -> set[str]:
    """The kinds of fragment that towncrier is configured with."""
    tool = workspace.load_toml(workspace.ROOT / "pyproject.toml")["tool"]
    return {kind["directory"] for kind in tool["towncrier"]["type"]}


def git(root: Path, *arguments: str) -> str | None:
    """What git prints, or None where it fails or is not installed."""
    executable = shutil.which("git")
    if executable is None:
        return None
    command = [executable, "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def find_base(root: Path, wanted: str | None) -> str | None:
    """The revision to compare with, or None where there is nothing to compare."""
    base = git(root, "merge-base", wanted or "origin/main", "HEAD")
    if wanted is None and base == git(root, "rev-parse", "HEAD"):
        return None
    return base


def changed_files(root: Path, base: str) -> set[str]:
    """Paths that differ from the base, uncommitted and untracked ones included."""
    tracked = git(root, "diff", "--name-only", base) or ""
    untracked = git(root, "ls-files", "--others", "--exclude-standard") or ""
    return {*tracked.split("\n"), *untracked.split("\n")} - {""}


def misnamed(package: workspace.Package, allowed: set[str]) -> list[str]:
    """A sentence for each fragment whose name towncrier would not read."""
    names = sorted(path.name for path in (package.directory / "changes").iterdir())
    matches = {name: _NAME.fullmatch(name) for name in names if name != "README.md"}
    return [
        f"{package.name}: changes/{name} is not <number>.<kind>.md of a known kind"
        for name, match in matches.items()
        if match is None or match["kind"] not in allowed
    ]


def without_fragment(names: list[str], changed: set[str]) -> list[str]:
    """A sentence for each package with changed source and no word about it."""

    def touched(name: str, part: str) -> bool:
        return any(path.startswith(f"packages/{name}/{part}") for path in changed)

    return [
        f"{name}: src/ changed, but nothing was added to changes/"
        for name in names
        if touched(name, "src/")
        and not touched(name, "changes/")
        and not touched(name, "CHANGELOG.md")
    ]


def main() -> int:
    """Print what is wrong; the number of complaints decides the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", help="revision to compare with")
    arguments = parser.parse_args()
    packages, allowed = workspace.packages(), kinds()
    problems = [text for package in packages for text in misnamed(package, allowed)]
    base = find_base(workspace.ROOT, arguments.base)
    if base is None:
        print("no base revision: only the names of the fragments are checked")
    else:
        names = [package.directory.name for package in packages]
        problems += without_fragment(names, changed_files(workspace.ROOT, base))
    print("\n".join(problems or ["changelog fragments: fine"]))
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
