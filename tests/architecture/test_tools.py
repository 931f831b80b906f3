"""The tools of this repository tell right from wrong."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import check_changes
import check_links
import workspace


def commit_all(root: Path) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["add", "."], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    head = check_changes.git(root, "rev-parse", "HEAD")
    assert head is not None
    return head


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "packages/p/src").mkdir(parents=True)
    (tmp_path / "packages/p/src/a.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def changed(repository):
    base = commit_all(repository)
    (repository / "packages/p/src/a.py").write_text("x = 2\n")
    return repository, base


def test_changed_source_wants_a_fragment(changed):
    root, base = changed
    (message,) = check_changes.without_fragment(
        ["p", "q"], check_changes.changed_files(root, base)
    )
    assert message.startswith("p: src/ changed")


def test_a_new_fragment_is_enough(changed):
    root, base = changed
    (root / "packages/p/changes").mkdir()
    (root / "packages/p/changes/1.fix.md").write_text("Right now.\n")
    files = check_changes.changed_files(root, base)
    assert check_changes.without_fragment(["p"], files) == []


def test_committed_changes_count(changed):
    root, base = changed
    commit_all(root)
    assert check_changes.changed_files(root, base) == {"packages/p/src/a.py"}


def test_no_base_without_a_remote(repository):
    commit_all(repository)
    assert check_changes.find_base(repository, None) is None


def test_fragment_names(package):
    assert check_changes.misnamed(package, check_changes.kinds()) == []


@pytest.mark.parametrize(
    "name", ["2.feature.md", "+word.fix.md", "2.fix.1.md", "README.md"]
)
def test_good_fragment_name(tmp_path, name):
    assert complaints(tmp_path, name) == []


@pytest.mark.parametrize("name", ["feature.md", "2.feat.md", "2.fix.txt", "2.md"])
def test_bad_fragment_name(tmp_path, name):
    assert len(complaints(tmp_path, name)) == 1


def complaints(tmp_path: Path, name: str) -> list[str]:
    shutil.copy(workspace.packages()[0].directory / "pyproject.toml", tmp_path)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / name).write_text("Text.\n")
    package = workspace.Package(tmp_path)
    return check_changes.misnamed(package, check_changes.kinds())


def test_links_of_the_repository():
    assert check_links.broken_links(workspace.ROOT) == []


def test_link_checks(tmp_path):
    (tmp_path / "b.md").write_text("# One two\n")
    links = [
        "b.md",
        "b.md#one-two",
        "#here",
        "https://example.org/x",
        "c.md",
        "b.md#no",
    ]
    text = "# Here\n" + "".join(f"[x]({link})\n" for link in links)
    (tmp_path / "a.md").write_text(text + "```\n[x](in-code.md)\n```\n")
    broken = check_links.broken_links(tmp_path)
    assert [line.split(": ")[1] for line in broken] == ["c.md", "b.md#no"]


def test_closure_follows_our_packages_only():
    by_name = {package.name: package for package in workspace.packages()}
    needed = workspace.closure(by_name["wave-sim-cpu"])
    names = {package.name for package in needed}
    assert {"wave-core", "wave-sim-cpu"} <= names
    assert "wave-kernels" not in names


def test_the_lowest_version_is_the_greatest_lower_bound():
    asked = ["numpy>=1.26", "NumPy>=1.9", "ml-dtypes>=0.5,<1", "hatchling"]
    assert workspace.lowest(asked) == {"numpy": "1.26", "ml-dtypes": "0.5"}


def test_every_dependency_has_a_lower_bound():
    asked = workspace.foreign_requirements()
    bounds = workspace.lowest(asked)
    assert {workspace.requirement_name(each) for each in asked} == bounds.keys()
