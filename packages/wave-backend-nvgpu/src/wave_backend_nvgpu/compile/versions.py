"""What decides the code besides the kernel: packages and tools, with versions."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from wave_backend_nvgpu.compile.tools import MissingToolError, find_assembler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_backend_nvgpu.compile.tools import Tool

PACKAGES = ("wave-core", "wave-backend-nvgpu", "llvmlite")

PTX, PTX_FLOAT8 = "+ptx83", "+ptx84"
"""Versions of PTX, as features of LLVM's targets. 8.3 has all that the code uses, but
for `mma` of 8-bit floats. Source: PTX ISA, release notes; `ptxas` refuses it below."""

_FLOAT8 = re.compile(r"mma\.(?<!\wmma\.)\S*\.e[45]m[23]\b")
"""Products of 8-bit floats, by instruction or by LLVM's function of its name. Begins
with fixed text, which is looked for much faster."""


def ptx_version(llvm: str) -> str:
    """The version of PTX that a module needs, as a feature."""
    return PTX_FLOAT8 if _FLOAT8.search(llvm) else PTX


def versions_with(tool: Tool | None) -> Mapping[str, str]:
    """Packages and the assembler; without one the code is PTX."""
    if tool is None:
        return _packages()
    return {**_packages(), "ptxas": tool.version}


def versions() -> Mapping[str, str]:
    """As `versions_with`, of the assembler that is used where no option names one."""
    try:
        return versions_with(find_assembler())
    except MissingToolError as error:
        # Said where something is compiled, which no code of another assembler spares.
        return {**_packages(), "ptxas": f"none at {error}"}


@cache
def _packages() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
