"""Requests to the code generator and its answers, as plain data."""

from __future__ import annotations

import msgspec


class Request(msgspec.Struct, frozen=True):
    """One compilation to PTX.

    Attributes:
        text: The LLVM IR.
        target: The GPU as LLVM names it.
        features: What else the code may use, such as ``+ptx83``.
        memory_limit_mib: Memory that the code generator's process may hold, in MiB.
        verified: Whether the module was written by hand, and is to be checked.
        sinking: Whether what a loop could keep is computed in each iteration, which
            takes fewer registers and more instructions.
    """

    text: str
    target: str
    features: str
    memory_limit_mib: int = 8192
    verified: bool = False
    sinking: bool = False


class Answer(msgspec.Struct, frozen=True):
    """The result of one compilation.

    Attributes:
        ptx: The text; empty where the code generator refused.
        errors: Why it refused.
        place: Line and column of the first error in the text, from 1.
        failure: How it ended without an answer: a crash, a limit.
    """

    ptx: str = ""
    errors: tuple[str, ...] = ()
    place: tuple[int, int] | None = None
    failure: str = ""
