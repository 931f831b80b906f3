"""What ``wave doctor`` looks for: what makes PTX, and NVIDIA's programs."""

from __future__ import annotations

from importlib import metadata

from wave_backend_nvgpu.compile.tools import (
    ASSEMBLER,
    DISASSEMBLER,
    VARIABLE,
    WHEELS,
    MissingToolError,
    Tool,
    find_assembler,
    find_disassembler,
)

_Found = tuple[str, str]
"""The state, and what was found."""


def code_generator() -> _Found:
    """LLVM, which makes PTX."""
    try:
        return "ok", metadata.version("llvmlite")
    except metadata.PackageNotFoundError:
        return "missing", "not installed: pip install wave-backend-nvgpu"


def assembler() -> _Found:
    """The assembler, which makes machine code of PTX."""
    try:
        found = find_assembler()
    except MissingToolError as error:
        return "broken", f"{VARIABLE} names `{error}`, which is no assembler"
    without = "artifacts hold PTX, which the driver assembles"
    return _described(ASSEMBLER, found, without)


def disassembler() -> _Found:
    """The disassembler, for the form `sass`."""
    return _described(DISASSEMBLER, find_disassembler(), "there is no form `sass`")


def _described(name: str, found: Tool | None, without: str) -> _Found:
    if found is not None:
        return "ok", f"{found.version}, {found.path}"
    return "missing", f"not found: pip install {WHEELS[name]}; without it {without}"
