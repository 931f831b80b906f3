"""Every package is complete, and agrees with the others and with deps/tested.txt."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import workspace

NEEDED = ("README.md", "CHANGELOG.md", "LICENSE", "changes/README.md")


@pytest.mark.parametrize("name", NEEDED)
def test_file_is_there(package, name):
    assert (package.directory / name).read_text(encoding="utf-8").strip()


def test_is_typed(package):
    assert (package.source / "py.typed").is_file()


def test_has_own_tests(package):
    assert list(package.tests.rglob("test_*.py"))


def test_license_is_ours(package):
    ours = (workspace.ROOT / "LICENSE").read_bytes()
    assert (package.directory / "LICENSE").read_bytes() == ours


def test_directory_is_named_after_the_distribution(package):
    assert package.directory.name == package.name


def test_version_is_static_and_normal(package):
    version = package.project["version"]
    assert str(Version(version)) == version
    assert "dynamic" not in package.project


def test_same_pythons_as_the_others(package):
    first = workspace.packages()[0].project
    assert package.project["requires-python"] == first["requires-python"]
    assert package.project["classifiers"] == first["classifiers"]


def requirements(package):
    return map(Requirement, [*package.requirements, *package.test_requirements])


def test_tested_versions_satisfy_the_ranges(package):
    pins = workspace.pins()
    pins |= {each.name: each.project["version"] for each in workspace.packages()}
    for requirement in requirements(package):
        name = workspace.requirement_name(requirement.name)
        assert requirement.specifier.contains(pins[name]), str(requirement)


def test_one_range_per_dependency():
    ranges: dict[str, set[str]] = {}
    for package in workspace.packages():
        for requirement in requirements(package):
            ranges.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: r for name, r in ranges.items() if len(r) > 1} == {}


def test_plugin_entry_points_lead_to_a_plugin_module(package):
    points = package.project.get("entry-points", {}).get("wave_core.plugins", {})
    for target in points.values():
        path = target.partition(":")[0].replace(".", "/")
        source = package.directory / "src" / path
        assert source.with_suffix(".py").is_file() or (source / "__init__.py").is_file()


def test_tool_configuration_names_every_package():
    tool = workspace.load_toml(workspace.ROOT / "pyproject.toml")["tool"]
    packages = workspace.packages()
    modules = sorted(package.module for package in packages)
    sources = [f"packages/{package.name}/src" for package in packages]
    assert tool["importlinter"]["root_packages"] == modules
    assert tool["coverage"]["run"]["source_pkgs"] == modules
    assert tool["pyright"]["extraPaths"] == [*sources, "tools"]


def test_pre_commit_pins_are_the_tested_ones():
    text = (workspace.ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    found = re.findall(r"([\w-]+)==([\w.]+)", text)
    assert found
    assert {name: workspace.pins()[name] for name, _ in found} == dict(found)


def test_pre_commit_knows_every_source_directory():
    text = (workspace.ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    path = re.search(r"PYTHONPATH=(\S+)", text)
    assert path is not None
    names = [f"packages/{package.name}/src" for package in workspace.packages()]
    assert path[1].split(":") == names


def test_tests_have_what_the_conftest_of_all_packages_imports(package):
    wanted = {each.name for each in requirements(package)}
    assert wanted >= {"hypothesis", "pytest", "pytest-timeout"}
