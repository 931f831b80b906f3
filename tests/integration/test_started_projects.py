"""What `wave init` writes passes its own tests, and is what the pages show."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

import doc_pages
import workspace
from wave_core.cli.app import run_command


def install(folder, onto):
    """Make the entry points of a project known, as pip would."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = onto / f"{project['name'].replace('-', '_')}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: 0.1.0\n")
    points = project["entry-points"]["wave_core.plugins"].items()
    rows = "".join(f"{key} = {value}\n" for key, value in points)
    (info / "entry_points.txt").write_text(f"[wave_core.plugins]\n{rows}")


@pytest.mark.slow
def test_the_tests_of_new_projects_pass(tmp_path):
    folders = [tmp_path / name for name in ("my-kernels", "my-pass")]
    for folder in folders:
        assert run_command(["init", folder.name, "-o", str(tmp_path)]) == 0
        install(folder, tmp_path)
    sources = [tmp_path, *(folder / "src" for folder in folders), *sys.path]
    config = ["-c", str(folders[0] / "pyproject.toml"), "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *config, *map(str, folders)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sources))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 passed" in done.stdout


@pytest.mark.parametrize(
    ("page", "name", "shown"),
    [
        ("write-a-pass", "wave-toy", {"fold.py": "fold.py", "plugin.py": "plugin.py"}),
        ("register-a-kernel", "my-kernels", {"my_kernels.py": "saxpy.py"}),
    ],
)
def test_the_pages_show_what_is_written(page, name, shown, tmp_path):
    kind = "pass" if "pass" in page else "kernels"
    assert run_command(["init", name, "--kind", kind, "-o", str(tmp_path)]) == 0
    text = (workspace.ROOT / f"docs/howto/{page}.md").read_text()
    blocks = {b.file.split("/")[-1]: b for b in doc_pages.blocks_of(text) if b.file}
    source = tmp_path / name / "src" / name.replace("-", "_")
    for in_page, in_project in shown.items():
        lines = blocks[in_page].text.split("\n", 1)[1]
        assert (source / in_project).read_text() == lines
