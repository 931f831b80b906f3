"""The packages of this repository, read from their pyproject files.

Shared by the noxfile, the tools and the architecture tests, so that no list of packages
is typed twice. Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, distribution
from pathlib import Path
from typing import Any

_PLUGINS = "wave_core.plugins"
ROOT = Path(__file__).resolve().parent.parent
TESTED = ROOT / "deps" / "tested.txt"

_LOWER_BOUND = re.compile(r">=\s*(?P<version>\d+(\.\d+)*)")
_REQUIREMENT = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)")


def load_toml(path: Path) -> dict[str, Any]:
    """The table that a TOML file holds."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def requirement_name(requirement: str) -> str:
    """The normalised distribution name at the head of a requirement string."""
    match = _REQUIREMENT.match(requirement)
    if match is None:
        message = f"not a requirement: {requirement!r}"
        raise ValueError(message)
    return re.sub(r"[-_.]+", "-", match["name"]).lower()


def pins() -> dict[str, str]:
    """Distribution name -> exact version, as deps/tested.txt gives them."""
    lines = TESTED.read_text(encoding="utf-8").splitlines()
    rows = (line.partition("==") for line in lines if "==" in line and line[0] != "#")
    return {requirement_name(name): version.strip() for name, _, version in rows}


def lowest(requirements: list[str]) -> dict[str, str]:
    """Distribution name -> the greatest version that a ``>=`` asks for."""
    found: dict[str, str] = {}
    for text in requirements:
        bound = _LOWER_BOUND.search(text)
        if bound is None:
            continue
        name, version = requirement_name(text), bound["version"]
        found[name] = max(found.get(name, version), version, key=_numbers)
    return found


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


@dataclass(frozen=True)
class Package:
    """One directory under packages/ that builds a distribution."""

    directory: Path

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        """The whole pyproject.toml."""
        return load_toml(self.directory / "pyproject.toml")

    @property
    def project(self) -> dict[str, Any]:
        """The `[project]` table."""
        return self.pyproject["project"]

    @property
    def name(self) -> str:
        """Distribution name, for example `wave-core`."""
        return self.project["name"]

    @property
    def module(self) -> str:
        """Import name, for example `wave_core`."""
        return self.name.replace("-", "_")

    @property
    def source(self) -> Path:
        """The directory of the import package."""
        return self.directory / "src" / self.module

    @property
    def tests(self) -> Path:
        """The directory of the package's own tests."""
        return self.directory / "tests"

    @property
    def extras(self) -> dict[str, list[str]]:
        """Extra -> its requirements."""
        return self.project.get("optional-dependencies", {})

    @property
    def requirements(self) -> list[str]:
        """What an installation with every extra asks for."""
        extras = [item for group in self.extras.values() for item in group]
        return [*self.project.get("dependencies", []), *extras]

    @property
    def test_requirements(self) -> list[str]:
        """What the package's own tests need on top."""
        return list(self.pyproject["dependency-groups"]["test"])

    @property
    def installable(self) -> str:
        """The argument that makes pip install the package with every extra."""
        extras = ",".join(sorted(self.extras))
        return f"{self.directory}[{extras}]" if extras else str(self.directory)

    def python_files(self) -> list[Path]:
        """The package's source files, sorted."""
        return sorted(self.source.rglob("*.py"))


def packages(root: Path = ROOT) -> tuple[Package, ...]:
    """Every package of the repository, by name."""
    found = (path.parent for path in root.glob("packages/*/pyproject.toml"))
    return tuple(sorted((Package(path) for path in found), key=lambda p: p.name))


def plugins() -> list[EntryPoint]:
    """The plugins of the checkout, whatever was declared when it was installed."""
    found: list[EntryPoint] = []
    for package in packages():
        groups = package.project.get("entry-points", {})
        for name, module in groups.get(_PLUGINS, {}).items():
            point = EntryPoint(name, module, _PLUGINS)
            vars(point).update(dist=distribution(package.name))
            found.append(point)
    return found


def foreign_requirements() -> list[str]:
    """What all packages and their tests ask for that is not of this repository."""
    ours = packages()
    asked = {r for p in ours for r in (*p.requirements, *p.test_requirements)}
    names = {each.name for each in ours}
    return sorted(text for text in asked if requirement_name(text) not in names)


def closure(package: Package) -> tuple[Package, ...]:
    """The package and those of this repository that it or its tests need, by name."""
    by_name = {each.name: each for each in packages()}
    needed: dict[str, Package] = {}
    pending = [(package, [*package.requirements, *package.test_requirements])]
    while pending:
        current, requirements = pending.pop()
        needed[current.name] = current
        names = {requirement_name(text) for text in requirements} & by_name.keys()
        new = [by_name[name] for name in names - needed.keys()]
        pending += [(each, each.requirements) for each in new]
    return tuple(needed[name] for name in sorted(needed))
