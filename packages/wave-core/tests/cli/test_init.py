"""`wave init` writes a project, and over nothing."""

from __future__ import annotations

import sys
import tomllib

import pytest

from wave_core.cli.app import run_command
from wave_core.cli.init import Kind


def made(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("arguments", "module", "own"),
    [
        (["my-kernels"], "my_kernels", "saxpy"),
        (["my-pass"], "my_pass", "fold"),
        (["my-own", "--kind", "pass"], "my_own", "fold"),
        (["by-pass", "--kind", "kernels"], "by_pass", "saxpy"),
    ],
)
def test_a_project_is_written(arguments, module, own, tmp_path, capsys):
    assert run_command(["init", *arguments, "-o", str(tmp_path)]) == 0
    folder = tmp_path / arguments[0]
    assert made(folder) == {
        "README.md",
        "pyproject.toml",
        f"src/{module}/__init__.py",
        f"src/{module}/plugin.py",
        f"src/{module}/{own}.py",
        f"tests/test_{own}.py",
    }
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == arguments[0]
    points = project["entry-points"]["wave_core.plugins"]
    assert points == {module: f"{module}.plugin"}
    assert "$" not in "".join(p.read_text() for p in folder.rglob("*.*") if p.is_file())
    assert "python -m pytest" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["", "../up", "/tmp/x", "My", "a b", "a--b", "-o x", "a" * 65, "é", "a\nb"]
)
def test_a_name_that_is_none_is_refused(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command(["init", "--", name]) == 2
    assert "error[WV0840]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lambda", "a word of Python"),
        ("json", "a module that is installed"),
        ("wave-core", "a module that is installed"),
    ],
)
def test_a_name_that_hides_a_module_is_refused(name, why, tmp_path, capsys):
    assert run_command(["init", name, "-o", str(tmp_path)]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("there", ["file", "folder", "link"])
def test_nothing_is_overwritten(there, tmp_path, capsys):
    path = tmp_path / "my-own"
    if there == "file":
        path.write_text("precious")
    elif there == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "elsewhere")
    assert run_command(["init", "my-own", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(
        f"error[WV0841]: there is `{path}` already, and nothing is overwritten\n"
    )
    assert there != "file" or path.read_text() == "precious"
    assert there != "folder" or list(path.iterdir()) == []
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="devices have other names")
def test_a_folder_that_cannot_be_made_is_refused(capsys):
    assert run_command(["init", "my-own", "-o", "/dev/null"]) == 2
    assert "-o /dev/null: " in capsys.readouterr().err


def test_each_kind_has_its_templates(tmp_path):
    for kind in Kind:
        where = tmp_path / kind.value
        assert run_command(["init", "it-is", "--kind", kind, "-o", str(where)]) == 0
        assert made(where / "it-is")
