"""``wave init NAME``."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from importlib.resources import files
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import typer

from wave_core import __version__
from wave_core.cli.files import tell_written, writing
from wave_core.cli.output import print_json
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

app = typer.Typer(add_completion=False)

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 64
_ENDING = ".in"  # keeps tools from taking a template for a module or a project


class Kind(StrEnum):
    """What a project starts with."""

    KERNELS = "kernels"
    PASS = "pass"  # noqa: S105 - no word to keep


@app.command()
def init(
    name: str = typer.Argument(help="The project's name: my-kernels, my-pass."),
    kind: Kind | None = typer.Option(  # noqa: B008 - typer's form
        None, help="What it starts with; a pass if its name ends so, else kernels."
    ),
    output: Path = typer.Option(  # noqa: B008 - typer's form
        Path(), "-o", "--output", help="Where its folder is made; here by default."
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Write a project with a kernel or a pass, and tests that pass."""
    _refuse_unfit(name)
    kind = kind or (Kind.PASS if name.endswith("pass") else Kind.KERNELS)
    written = write_project(output / name, kind, _words(name))
    if json:
        print_json({"kind": kind.value, "files": [str(path) for path in written]})
        return
    tell_written(written)
    typer.echo(
        f"cd {output / name}\npython -m pip install -e '.[test]'\npython -m pytest"
    )


def write_project(folder: Path, kind: Kind, words: Mapping[str, str]) -> list[Path]:
    """Make the folder and write the project into it; the paths of its files.

    Raises:
        UserError: WV0841 where something of that name is there already.
        typer.BadParameter: where the folder cannot be written.
    """
    with writing(f"-o {folder.parent}"):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise _exists(folder) from None
        return [_write(folder, *each) for each in _files(kind, words)]


def _write(folder: Path, place: str, text: str) -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _files(kind: Kind, words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The path within the project and the text of each of its files."""
    for place, source in _templates(files("wave_core.cli") / "starters" / kind.value):
        text = Template(source.read_text(encoding="utf-8")).substitute(words)
        yield place.replace("MODULE", words["module"]).removesuffix(_ENDING), text


def _templates(at: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for each in sorted(at.iterdir(), key=lambda found: found.name):
        if each.is_dir():
            yield from _templates(each, f"{above}{each.name}/")
        elif each.name.endswith(_ENDING):
            yield f"{above}{each.name}", each


def _words(name: str) -> dict[str, str]:
    """What stands for the names in the templates; a minor version may break."""
    major, minor = (int(part) for part in __version__.split(".")[:2])
    wave = f">={major}.{minor},<{major}.{minor + 1}"
    return {"name": name, "module": _module(name), "wave": wave}


def _module(name: str) -> str:
    return name.replace("-", "_")


def _refuse_unfit(name: str) -> None:
    """Refuse a name that pip or Python does not take, or that hides a module."""
    if _NAME.fullmatch(name) is None or len(name) > _LONGEST_NAME:
        why = "is not small letters and digits, with hyphens between"
    elif iskeyword(_module(name)):
        why = "is a word of Python"
    elif _module(name) in sys.stdlib_module_names or find_spec(_module(name)):
        why = "is a module that is installed here"
    else:
        return
    raise user_error(
        "WV0840",
        f"`{name[:_LONGEST_NAME]}` {why}",
        help="choose a name such as `my-kernels`",
    )


def _exists(folder: Path) -> Exception:
    return user_error(
        "WV0841",
        f"there is `{folder}` already, and nothing is overwritten",
        help="choose another name, or another folder with `-o`",
    )
