"""A release is prepared whole, or refused before anything is written."""

from __future__ import annotations

import subprocess

import pytest

import project_urls
import release
import workspace
from workspace import packages as packages_of

CORE = """\
[project]
name = "wave-a"
version = "0.1.0"
dependencies = []
"""
USER = """\
[project]
name = "wave-b"
version = "0.1.0"
dependencies = ["wave-a>=0.1,<0.2", "other>=0.1,<0.2"]

[tool]
kept = true
"""
LOG = "# Changelog\n\n<!-- towncrier release notes start -->\n"


def package(root, name, text):
    folder = root / "packages" / name
    source = folder / "src" / name.replace("-", "_")
    source.mkdir(parents=True)
    (source / "__init__.py").write_text('"""Docs."""\n\n__version__ = "0.1.0"\n')
    (folder / "pyproject.toml").write_text(text)
    (folder / "CHANGELOG.md").write_text(LOG)
    (folder / "README.md").write_text("Ask for `wave-a[x]>=0.1,<0.2`.\n")
    (folder / "changes").mkdir()
    (folder / "changes" / "README.md").write_text("# Fragments\n")
    (folder / "changes" / "7.fix.md").write_text("It is right.\n")


@pytest.fixture
def checkout(tmp_path):
    config = (workspace.ROOT / "pyproject.toml").read_text("utf-8")
    (tmp_path / "pyproject.toml").write_text(config)
    package(tmp_path, "wave-a", CORE)
    package(tmp_path, "wave-b", USER)
    return tmp_path


def contents(root):
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_text() for path in files}


def test_versions_ranges_and_changelogs_are_written(checkout):
    left = release.prepare(checkout, ["all=0.2.0"], date="2030-01-02")
    a, b = (checkout / "packages" / name for name in ("wave-a", "wave-b"))
    assert 'version = "0.2.0"' in (a / "pyproject.toml").read_text()
    assert '__version__ = "0.2.0"\n' in (a / "src/wave_a/__init__.py").read_text()
    user = (b / "pyproject.toml").read_text()
    assert '["wave-a>=0.2,<0.3", "other>=0.1,<0.2"]' in user
    assert (b / "README.md").read_text() == "Ask for `wave-a[x]>=0.2,<0.3`.\n"
    told = "## wave-b 0.2.0 (2030-01-02)\n\n### Fixes\n\n- It is right. (#7)\n"
    assert told in (b / "CHANGELOG.md").read_text()
    assert [path.name for path in (b / "changes").iterdir()] == ["README.md"]
    assert 'git commit -am "release: wave-a 0.2.0, wave-b 0.2.0"' in left
    assert "git tag -a wave-b-v0.2.0 -m 'wave-b 0.2.0'" in left
    assert "\n  wave_b-0.2.0*\n" in left


def test_one_package_alone_keeps_ranges_that_admit_it(checkout):
    before = contents(checkout)
    release.prepare(checkout, ["wave-a=0.1.1"])
    after = contents(checkout)
    changed = {name for name in after if after[name] != before[name]}
    files = ("CHANGELOG.md", "pyproject.toml", "src/wave_a/__init__.py")
    assert changed == {f"packages/wave-a/{name}" for name in files}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["wave-a"], "`wave-a`: write PACKAGE=X.Y.Z, or all=X.Y.Z"),
        (["wave-a=1"], "`wave-a=1`: write PACKAGE=X.Y.Z, or all=X.Y.Z"),
        (["wave-a=0.2.0rc1"], "`wave-a=0.2.0rc1`: write PACKAGE=X.Y.Z"),
        (["wave-c=1.0.0"], "`wave-c` is no package; they are wave-a, wave-b"),
        (["all=0.2.0", "wave-b=0.3.0"], "`wave-b` has two versions"),
        (
            ["wave-a=0.2.0"],
            "wave-b asks for wave-a>=0.1,<0.2: release it with wave-a 0.2.0",
        ),
        (["wave-b=0.0.9"], "wave-b is at 0.1.0 already"),
    ],
)
def test_refused_before_anything_is_written(checkout, words, why):
    before = contents(checkout)
    with pytest.raises(release.RefusedError) as error:
        release.prepare(checkout, words)
    assert str(error.value).startswith(why)
    assert contents(checkout) == before


def test_packages_say_where_their_home_is(checkout):
    release.prepare(checkout, ["wave-b=0.2.0"], home="https://forge.invalid/us/wave/")
    a, b = workspace.packages(checkout)
    assert "urls" not in a.project
    assert b.project["urls"] == {
        "Homepage": "https://forge.invalid/us/wave",
        "Documentation": "https://forge.invalid/us/wave/blob/HEAD/docs/README.md",
        "Source": "https://forge.invalid/us/wave/tree/HEAD/packages/wave-b",
        "Issues": "https://forge.invalid/us/wave/issues",
        "Changelog": "https://forge.invalid/us/wave/blob/HEAD/packages/wave-b/CHANGELOG.md",
    }
    assert b.project["version"] == "0.2.0"
    assert b.pyproject["tool"]["kept"]


def test_another_home_replaces_the_first():
    first = project_urls.with_urls(USER, "wave-b", "https://forge.invalid/us/wave")
    second = project_urls.with_urls(first, "wave-b", "https://forge.invalid/we/wave")
    assert second == first.replace("/us/", "/we/") != first


def test_a_package_that_has_a_home_needs_none_to_be_given(checkout):
    packages = workspace.packages(checkout)
    assert "wave-a, wave-b have none" in release.homeless(packages, ["all=0.2.0"], None)
    release.prepare(checkout, ["wave-a=0.1.1"], home="https://forge.invalid/us/wave")
    packages = workspace.packages(checkout)
    assert release.homeless(packages, ["wave-a=0.1.2"], None) is None
    told = release.homeless(packages, ["all=0.2.0"], None)
    assert told.endswith(": wave-b have none")


@pytest.mark.parametrize(
    ("address", "right"),
    [
        ("https://forge.invalid/us/wave", True),
        ("http://forge.invalid/us/wave", False),
        ("git@forge.invalid:us/wave", False),
        ("https://forge.invalid", False),
        ("https://forge.invalid/", False),
        ('https://forge.invalid/us"wave', False),
        ("https://forge.invalid/us/wave?tab=1", False),
    ],
)
def test_the_address_of_a_repository(address, right):
    assert project_urls.is_home(address) is right


def asks(monkeypatch, checkout, *words):
    monkeypatch.setattr(workspace, "packages", lambda root=checkout: packages_of(root))
    monkeypatch.setattr(workspace, "ROOT", checkout)
    monkeypatch.setattr("sys.argv", ["release.py", *words])
    return release.main()


@pytest.fixture
def kept(checkout):
    """The checkout, as git keeps it."""
    me = ("-c", "user.name=Me", "-c", "user.email=me@forge.invalid")
    for words in (("init", "-q"), ("add", "."), (*me, "commit", "-qm", "all")):
        subprocess.run(["git", *words], cwd=checkout, check=True)
    return checkout


def test_a_release_without_a_home_is_refused(kept, monkeypatch, capsys):
    before = contents(kept / "packages")
    assert asks(monkeypatch, kept, "all=0.2.0") == 1
    assert "by --home: wave-a, wave-b have none" in capsys.readouterr().err
    assert asks(monkeypatch, kept, "all=0.2.0", "--home", "forge.invalid") == 1
    assert "`forge.invalid` is no repository's address" in capsys.readouterr().err
    assert contents(kept / "packages") == before


def test_a_copy_is_prepared_without_a_home(kept, monkeypatch, capsys, tmp_path_factory):
    copy = tmp_path_factory.mktemp("trial") / "checkout"
    assert asks(monkeypatch, kept, "all=0.2.0", "--into", str(copy)) == 0
    told = capsys.readouterr()
    assert told.err.startswith("warning: give the repository's address by --home")
    assert told.out == f"prepared in {copy}\n"


def test_a_version_is_released_once(checkout):
    release.prepare(checkout, ["wave-a=0.1.0"])
    (checkout / "packages/wave-a/changes/8.fix.md").write_text("Again.\n")
    with pytest.raises(release.RefusedError, match=r"wave-a 0\.1\.0 is released"):
        release.prepare(checkout, ["wave-a=0.1.0"])


def test_a_release_says_something(checkout):
    (checkout / "packages/wave-a/changes/7.fix.md").unlink()
    with pytest.raises(release.RefusedError, match="wave-a has no changes to tell of"):
        release.prepare(checkout, ["wave-a=0.1.1"])


@pytest.mark.parametrize(
    ("version", "text"), [((0, 3, 1), ">=0.3,<0.4"), ((2, 5, 0), ">=2,<3")]
)
def test_ranges(version, text):
    assert release.range_of(version) == text
    assert release.admits(f"wave-a{text}", version)


def test_the_copy_is_what_git_tracks(checkout, tmp_path_factory):
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
    subprocess.run(["git", "add", "packages"], cwd=checkout, check=True)
    (checkout / "packages/wave-a/README.md").write_text("Changed.\n")
    copy = tmp_path_factory.mktemp("copy") / "checkout"
    release.copy_tracked(checkout, copy)
    wanted = contents(checkout / "packages")
    assert contents(copy) == {f"packages/{name}": wanted[name] for name in wanted}
