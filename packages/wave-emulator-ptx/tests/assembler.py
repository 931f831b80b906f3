"""The assembler, where it is installed: it says whether a text of ours is PTX."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest


def assembler() -> Path:
    """The program of the wheel; the tests that ask are skipped where there is none."""
    found = find_spec("nvidia")
    for folder in (found and found.submodule_search_locations) or ():
        for path in Path(folder).glob("*/bin/ptxas"):
            return path
    pytest.skip("there is no ptxas: its wheel is nvidia-cuda-nvcc")


def complaints(text: str, folder: Path, target: str = "sm_90a") -> str:
    """What the assembler says; nothing where it takes a text as it is."""
    source = folder / "text.ptx"
    source.write_text(text)
    command = [assembler(), f"-arch={target}", source, "-o", folder / "text.cubin"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr
