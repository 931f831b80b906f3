"""Sources that change without their version doing so count, and files are confined."""

from __future__ import annotations

import sys
import types
from types import SimpleNamespace

import pytest

from wave_core.compile import sources
from wave_core.compile.files import is_file_name, write_all
from wave_core.plugin.discover import PluginInfo
from wave_runtime.artifact import write_whole


def plugin(name, distribution="wave-toy"):
    info = PluginInfo(name, distribution, "1.0")
    return SimpleNamespace(info=info, module=types.ModuleType(f"{name}.plugin"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package in a folder known, and gives its plugin."""

    def make(name, folder):
        module = types.ModuleType(name)
        module.__file__ = str(tmp_path / folder / "__init__.py")
        monkeypatch.setitem(sys.modules, name, module)
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("")
        return plugin(name)

    return make


def test_a_checkout_counts_with_its_files(package, tmp_path):
    toy = package("toy_checkout", "src/toy")
    before = sources.sources_of([toy])
    assert before.keys() == {"toy_checkout"}
    assert sources.sources_of([toy]) == before
    sources.stamp.cache_clear()
    (tmp_path / "src/toy/deeper").mkdir()
    (tmp_path / "src/toy/deeper/more.py").write_text("x = 1")
    assert sources.sources_of([toy]) != before


def test_a_release_counts_with_its_version(package):
    assert sources.sources_of([package("toy_release", "site-packages/toy")]) == {}


def test_what_belongs_to_no_distribution_is_not_known():
    assert sources.sources_of([plugin("loose", "")]) is None


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("code.hsaco", True),
        ("_k$1.metrics.json", True),
        ("", False),
        (".", False),
        ("..", False),
        (".profile", False),
        ("a/b", False),
        ("a\\b", False),
        ("C:b", False),
        ("a\0", False),
        ("a\n", False),
        ("a" * 201, False),
    ],
)
def test_names_of_files(name, fits, tmp_path):
    assert is_file_name(name) is fits
    if not fits:
        with pytest.raises(PermissionError):
            write_all(tmp_path / "out", {"good": b"", name: b""})
        assert not (tmp_path / "out").exists()


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = write_whole(tmp_path / "file", b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
