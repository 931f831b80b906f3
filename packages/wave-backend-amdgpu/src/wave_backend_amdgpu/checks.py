"""What ``wave doctor`` looks for: IREE's compiler and its runtime."""

from __future__ import annotations

from importlib import metadata

_Found = tuple[str, str]
"""The state, and what was found."""


def compiler() -> _Found:
    """The compiler, without which there is no machine code."""
    return _version("iree-base-compiler", "pip install wave-backend-amdgpu")


def runtime() -> _Found:
    """The runtime of the device ``iree``."""
    return _version("iree-base-runtime", "pip install 'wave-runtime[iree]'")


def _version(distribution: str, install: str) -> _Found:
    try:
        return "ok", metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "missing", f"not installed: {install}"
