"""Executes the PTX of NVIDIA GPUs on the CPU and reports its hazards.

The modules: `lexer`, `parser` and `syntax` read the text, `program` and `isa` bind its
instructions to what they do, `batch`, `memory`, `shared` and `clocks` hold the state,
`run` goes through it, `launch` is what users call.
"""

from __future__ import annotations

from wave_emulator_ptx.errors import (
    DeclarationError,
    EmulatorError,
    ExecutionError,
    LaunchError,
    PtxSyntaxError,
    Report,
    UnknownInstructionError,
)
from wave_emulator_ptx.launch import LaunchOptions, LaunchResult, emulate, load
from wave_emulator_ptx.syntax import Module
from wave_emulator_ptx.tensor_maps import TensorMap

__all__ = [
    "DeclarationError",
    "EmulatorError",
    "ExecutionError",
    "LaunchError",
    "LaunchOptions",
    "LaunchResult",
    "Module",
    "PtxSyntaxError",
    "Report",
    "TensorMap",
    "UnknownInstructionError",
    "emulate",
    "load",
]
