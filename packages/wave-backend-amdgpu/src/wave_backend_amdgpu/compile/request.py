"""What the compiler is asked for, and its answer, as plain data."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Form(StrEnum):
    """What a compilation gives."""

    CODE = "hsaco"
    """A code object."""
    PROGRAM = "vmfb"
    """A module for IREE's runtime."""


class Request(msgspec.Struct, frozen=True):
    """One compilation.

    Attributes:
        text: The MLIR.
        form: What to make of it.
        flags: Options of the compiler.
        intermediates: Whether assembly and LLVM IR are wanted too.
        memory_limit_mib: Addresses that the compiler's process may use.
    """

    text: str
    form: Form
    flags: tuple[str, ...]
    intermediates: bool = False
    memory_limit_mib: int = 8192


class Answer(msgspec.Struct, frozen=True):
    """What came of it.

    Attributes:
        output: The bytes; empty where the compiler refused.
        assembly: Text, where it was wanted.
        llvm: Text, where it was wanted.
        errors: Why the compiler refused.
        failure: How the compiler ended without an answer: a crash, a limit.
    """

    output: bytes = b""
    assembly: str = ""
    llvm: str = ""
    errors: tuple[str, ...] = ()
    failure: str = ""
