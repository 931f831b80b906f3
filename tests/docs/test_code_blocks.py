"""Every example of the documentation runs, and prints what the page says."""

from __future__ import annotations

import importlib
import io
import runpy
import sys
import tomllib
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest

import doc_pages
import workspace
from wave_core.cli.app import run_command
from wave_core.compile import default_session
from wave_core.diagnostics import UserError

PAGES = {p.relative_to(workspace.ROOT).as_posix(): p for p in doc_pages.pages()}


def install(folder: Path, project: dict) -> None:
    """Make the entry points of a project known, as pip would."""
    name, version = project["name"], project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    lines: list[str] = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def write_files(blocks: list[doc_pages.Block], folder: Path) -> None:
    """The files that a page shows, in place and installed."""
    for block in blocks:
        if block.file is None:
            continue
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        if path.name == "pyproject.toml":
            install(folder, tomllib.loads(block.text)["project"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to run a page in; modules imported from there are forgotten."""
    known = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    # Pages empty the cache of compiled kernels and tune, and not the developer's.
    monkeypatch.setenv("WAVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WAVE_TUNE_STORE", str(tmp_path / "tune.sqlite3"))
    monkeypatch.syspath_prepend(str(tmp_path))
    default_session.cache_clear()
    yield tmp_path
    default_session.cache_clear()
    for name in set(sys.modules) - known:
        places = places_of(sys.modules[name])
        if any(place.is_relative_to(tmp_path) for place in places):
            del sys.modules[name]


def places_of(module: ModuleType) -> list[Path]:
    """Where a module was found: its file, and its folders, which is all that a
    package without `__init__.py` has."""
    if module.__spec__ is None:
        return []
    folders = module.__spec__.submodule_search_locations or ()
    return [Path(each) for each in (module.__spec__.origin, *folders) if each]


@contextmanager
def printing():
    """What is printed; what is said beside it goes nowhere."""
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(io.StringIO()):
        yield text


def run_python(block: doc_pages.Block, path: Path, namespace: dict) -> None:
    """Run a block; messages point at the lines of the page."""
    lines = path.read_text().splitlines(keepends=True)
    source = "\n" * (block.line - 1) + "".join(lines[block.line - 1 :][: len_of(block)])
    exec(compile(source, str(path), "exec"), namespace)


def len_of(block: doc_pages.Block) -> int:
    return block.text.count("\n")


def run_shell(block: doc_pages.Block, monkeypatch) -> None:
    for command in block.commands:
        with monkeypatch.context() as patched:
            for name, value in command.environment:
                patched.setenv(name, value)
            if command.program == "wave":
                assert run_command(list(command.arguments)) == 0, command
            elif Path(command.arguments[0]).is_file():
                run_file(command.arguments[0])


def run_file(name: str) -> None:
    """Run a file of the page; of a mistake in a kernel the message is printed."""
    try:
        runpy.run_path(name, run_name="__main__")
    except UserError as error:
        sys.stdout.write(f"{error}\n")


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, folder, monkeypatch):
    blocks = doc_pages.blocks_of(PAGES[page].read_text(encoding="utf-8"))
    write_files(blocks, folder)
    importlib.invalidate_caches()
    scripts = [b for b in blocks if b.language == "python" and b.file is None]
    script = folder / f"{PAGES[page].stem.replace('-', '_').lower()}.py"
    script.write_text(doc_pages.as_module(scripts))
    namespace = {"__name__": script.stem}
    printed = ""
    for block in blocks:
        with printing() as text:
            if block in scripts:
                run_python(block, script, namespace)
            run_shell(block, monkeypatch)
        if block.language == "output":
            assert doc_pages.agrees(block.text, printed), printed
        else:
            assert not printed.startswith("error["), printed
        printed = text.getvalue()
    assert not printed.startswith("error["), printed


def test_files_are_files_and_the_rest_is_run():
    text = "```python\n# a/b.py\nx = 1\n```\n\n"
    text += "  ```sh\n  ls\n  A=1 wave run x # y\n"
    text += "  python b.py\n  python -m pip\n  ```\n"
    module, shell = doc_pages.blocks_of(text)
    assert (module.file, module.line) == ("a/b.py", 2)
    assert shell.commands == [
        doc_pages.Command("wave", ("run", "x"), (("A", "1"),)),
        doc_pages.Command("python", ("b.py",), ()),
    ]


def test_comments_are_no_headings():
    text = "# Title\n\n```sh\n# a\n```\n\n## Part\n\n```python\n# b.py\nx = 1\n```\n"
    assert doc_pages.headings(text, 11) == ("Title", "Part")


def test_a_module_has_the_lines_of_the_page():
    text = "# Title\n\n```python\nx = 1\n```\n\n```python\ny = 2\n```\n"
    assert (
        doc_pages.as_module(doc_pages.blocks_of(text)) == "\n\n\nx = 1\n\n\n\ny = 2\n"
    )


@pytest.mark.parametrize(
    ("printed", "agree"),
    [("a  1\nb 2.5 s\n", True), ("a 1 b 2 s c", False), ("x a 1 b 2 s", False)],
)
def test_output_is_compared(printed, agree):
    assert doc_pages.agrees("a 1\nb ... s", printed) is agree
