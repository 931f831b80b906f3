"""Writes the files that a command makes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from wave_core.cli.output import notes
from wave_core.compile.files import write_all

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path


@contextmanager
def writing(option: str) -> Generator[None]:
    """Blame ``option`` where the body cannot write what it names."""
    try:
        yield
    except OSError as error:
        message = f"{option}: {error.strerror or error}"
        raise typer.BadParameter(message) from None


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder and nowhere else, each as a whole; their paths.

    Raises:
        typer.BadParameter: where the folder cannot be written.
    """
    with writing(f"-o {folder}"):
        return write_all(folder, files)


def tell_written(paths: list[Path]) -> None:
    """Say what was written, beside the result."""
    for path in paths:
        notes().print(f"wrote {path}", markup=False)
