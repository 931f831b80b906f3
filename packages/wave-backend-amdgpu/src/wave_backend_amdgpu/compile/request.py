"""Requests to the compiler and its answers, as plain data."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Form(StrEnum):
    """The form of a compilation's result."""

    CODE = "hsaco"
    """A code object."""
    PROGRAM = "vmfb"
    """A module for IREE's runtime."""
    TEXT = "mlir"
    """The MLIR after the passes on it."""


class Step(msgspec.Struct, frozen=True):
    """A plugin's pass on the module.

    Attributes:
        name: The pass.
        target: ``"module:function"``.
        options: What the function is told.
    """

    name: str
    target: str
    options: dict[str, Any]


class Request(msgspec.Struct, frozen=True):
    """One compilation.

    Attributes:
        text: The MLIR.
        form: What to make of it.
        flags: Options of the compiler.
        intermediates: Whether assembly and LLVM IR are wanted too.
        memory_limit_mib: Memory that the compiler's process may hold, in MiB.
        steps: What to do with the module before it is compiled.
        kernel: The kernel's name, for the steps.
        target: The machine's name, for the steps.
        verified: Whether the module was written by hand, and is to be verified.
        path: Where modules are imported from, for the steps.
    """

    text: str
    form: Form
    flags: tuple[str, ...]
    intermediates: bool = False
    memory_limit_mib: int = 8192
    steps: tuple[Step, ...] = ()
    kernel: str = ""
    target: str = ""
    verified: bool = False
    path: tuple[str, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    """The result of one compilation.

    Attributes:
        output: The bytes; empty where the compiler refused.
        text: The MLIR that was compiled, where steps changed it.
        assembly: Text, where it was wanted.
        llvm: Text, where it was wanted.
        errors: Why the compiler refused, or a step failed.
        place: Line and column of the first error in the text of the module, from 1.
        failed: Which step failed.
        failure: How the compiler ended without an answer: a crash, a limit.
    """

    output: bytes = b""
    text: str = ""
    assembly: str = ""
    llvm: str = ""
    errors: tuple[str, ...] = ()
    place: tuple[int, int] | None = None
    failed: int | None = None
    failure: str = ""
