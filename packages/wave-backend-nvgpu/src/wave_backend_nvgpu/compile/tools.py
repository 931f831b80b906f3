"""NVIDIA's programs: the assembler and the disassembler, and where they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ASSEMBLER, DISASSEMBLER = "ptxas", "nvdisasm"

WHEELS = {ASSEMBLER: "nvidia-cuda-nvcc", DISASSEMBLER: "nvidia-cuda-nvdisasm"}
"""The packages of PyPI that have them."""

VARIABLE = "WAVE_PTXAS"
"""The environment variable with the path of the assembler."""

NOWHERE = "none"
"""As a path: no assembler, so that artifacts hold PTX."""

_VERSION = re.compile(r"V(\d+\.\d+\.\d+)")

_VERSION_LIMIT_S = 30


@dataclass(frozen=True)
class Tool:
    """A program and its version."""

    path: Path
    version: str


class MissingToolError(Exception):
    """The program is not where the user says."""


def find_assembler(asked: str | None = None) -> Tool | None:
    """The assembler: as asked, by the environment, or the first that there is.

    Args:
        asked: A path, or ``none`` for no assembler.

    Raises:
        MissingToolError: where the path that is asked for is no assembler.
    """
    wanted = asked or os.environ.get(VARIABLE)
    if wanted == NOWHERE:
        return None
    if wanted:
        found = _tool(Path(wanted))
        if found is None:
            raise MissingToolError(wanted)
        return found
    return _first(ASSEMBLER)


def find_disassembler() -> Tool | None:
    """The disassembler, where there is one."""
    return _first(DISASSEMBLER)


def _first(name: str) -> Tool | None:
    found = (_tool(path) for path in _places(name))
    return next((each for each in found if each is not None), None)


def _places(name: str) -> Iterator[Path]:
    """Where a program may be, the best first; its wheel is the one that is tested."""
    for folder in _package_folders("nvidia"):
        yield from sorted(folder.glob(f"*/bin/{name}"), reverse=True)
    home = os.environ.get("CUDA_HOME")
    if home:
        yield Path(home) / "bin" / name
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path)
    for folder in _package_folders("triton"):
        yield folder / "backends" / "nvidia" / "bin" / name


def _package_folders(package: str) -> list[Path]:
    """The folders of a package, which is not imported."""
    spec = find_spec(package)
    found = () if spec is None else spec.submodule_search_locations or ()
    return [Path(each) for each in found]


def _tool(path: Path) -> Tool | None:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    version = _version(path, changed)
    return None if version is None else Tool(path, version)


@cache
def _version(path: Path, changed: int) -> str | None:
    """The version that a program tells; ``None`` where it is no such program."""
    del changed
    try:
        done = subprocess.run(  # noqa: S603 - the program that the user has
            [str(path), "--version"],
            capture_output=True,
            check=False,
            text=True,
            timeout=_VERSION_LIMIT_S,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    found = _VERSION.search(done.stdout)
    return None if found is None else found[1]
