"""Executes AMDGCN code objects on the CPU, with their hazards.

Names are loaded when they are used: the package itself imports neither numpy nor the
decoder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wave_emulator_amdgcn.codeobject import CodeObject, Kernel, load
    from wave_emulator_amdgcn.device import EmulatorDevice
    from wave_emulator_amdgcn.errors import (
        CodeObjectError,
        EmulatorError,
        LaunchError,
        Report,
        StepLimitError,
        UnknownInstructionError,
    )
    from wave_emulator_amdgcn.launch import LaunchOptions, LaunchResult, emulate

__all__ = [
    "CodeObject",
    "CodeObjectError",
    "EmulatorDevice",
    "EmulatorError",
    "Kernel",
    "LaunchError",
    "LaunchOptions",
    "LaunchResult",
    "Report",
    "StepLimitError",
    "UnknownInstructionError",
    "emulate",
    "load",
]

_HOMES = {
    **dict.fromkeys(("CodeObject", "Kernel", "load"), "codeobject"),
    **dict.fromkeys(("LaunchOptions", "LaunchResult", "emulate"), "launch"),
    "EmulatorDevice": "device",
}


def __getattr__(name: str) -> Any:
    """Load a public name where it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "errors")
    return getattr(import_module(f"wave_emulator_amdgcn.{home}"), name)
