"""Writes the files that a command makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from wave_core.cli.output import notes
from wave_core.compile.files import write_all, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder and nowhere else, each as a whole; their paths.

    Raises:
        typer.BadParameter: where the folder cannot be written.
    """
    try:
        return write_all(folder, files)
    except OSError as error:
        message = f"-o {folder}: {error.strerror or error}"
        raise typer.BadParameter(message) from None


def write_picture(path: Path, picture: str) -> None:
    """Write an SVG picture, as a whole, and say so.

    Raises:
        typer.BadParameter: where the file cannot be written.
    """
    try:
        written = write_whole(path, picture.encode())
    except OSError as error:
        message = f"--svg {path}: {error.strerror or error}"
        raise typer.BadParameter(message) from None
    tell_written([written])


def tell_written(paths: list[Path]) -> None:
    """Say what was written, beside the result."""
    for path in paths:
        notes().print(f"wrote {path}", markup=False)
