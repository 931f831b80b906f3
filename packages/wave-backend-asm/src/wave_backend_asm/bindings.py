# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false
# The compiler's Python package has no types, and lacks one function of its C API.
"""LLVM's assembler inside IREE's compiler: the only module here that imports it.

The text is the assembly of a module that has no function, so LLVM generates no code and
only assembles; then IREE starts a linker. Where the text is refused, LLVM has written
why to the standard error of the process, from where it is read.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

from iree.compiler.api import Output, Session, Source, ctypes_dl

from wave_backend_asm.assemble.messages import AssemblerError

_EXPORT = """\
hal.executable.export public @code ordinal(0) layout(#hal.pipeline.layout<
constants = 0, bindings = []>) count(%device: !hal.device) -> (index, index, index) {{
%one = arith.constant 1 : index
hal.return %one, %one, %one : index, index, index
}}
builtin.module attributes {{llvm.module_asm = ["{}"]}} {{
}}
"""

_ASKED = "hal.executable.source public @code {{\n" + _EXPORT + "}}"
"""What IREE is asked to describe its machine for."""

_VARIANT = re.compile(r"^ *(hal\.executable\.variant .*)\{$", re.MULTILINE)
"""The line with which IREE begins an executable for one machine."""

_OTHERS = re.compile(r"[^ -~]+")
"""What MLIR's strings do not hold as it is, such as the end of a C string."""

_RENEWED = 64
"""Texts after which the state is made anew: all of them stay in it."""


def assemble(text: str, chip: str, *, log: bool = False) -> bytes:
    """The code object of a text, as IREE's linker makes it; in one thread at a time.

    Args:
        text: The assembly.
        chip: The machine.
        log: Whether standard error is a file of this process's own, which then has the
            last words of an assembler that ends the process.

    Raises:
        AssemblerError: where it is refused.
    """
    machine = _machine(chip)
    machine.assembled += 1
    if machine.assembled > _RENEWED:
        _machine.cache_clear()
    return machine.code(text, log=log)


class _Machine:
    """IREE's state for one chip, which takes longer to make than a text.

    Attributes:
        assembled: texts until now.
    """

    def __init__(self, chip: str) -> None:
        self.assembled = 0
        self._session = Session()
        self._session.set_flags(
            "--iree-hal-target-device=hip",
            f"--iree-rocm-target={chip}",
            "--iree-rocm-container-type=hsaco",
            "--iree-opt-level=O0",  # of the host program, which there is not
        )
        _without_threads(self._session)
        described = self._run(
            *(_ASKED.format(""), "stream", "executable-sources", _text, _standard_error)
        )
        found = _VARIANT.search(described.decode())
        assert found is not None, "IREE describes the machine of its options"
        self._variant = found[1]

    def code(self, text: str, *, log: bool = False) -> bytes:
        """What IREE's pipeline makes of the text, and its linker of that."""
        inner = _EXPORT.format(_escaped(text))
        module = f"hal.executable public @code {{ {self._variant} {{ {inner} }} }}"
        said = _logged if log else _standard_error
        return self._run(module, "executable-targets", "hal", _binary, said)

    def _run(
        self,
        module: str,
        after: str,
        to: str,
        output: Callable[[Any, Output], None],
        listen: Callable[[], AbstractContextManager[list[str]]],
    ) -> bytes:
        invocation = self._session.invocation()
        source = Source.wrap_buffer(self._session, module.encode() + b"\0")
        try:
            with listen() as said:
                done = invocation.parse_source(source)
                _only(invocation, after, to)
                done = done and invocation.execute()
            if not done:
                raise AssemblerError("".join(said))
            found = Output.open_membuffer()
            output(invocation, found)
            return bytes(found.map_memory())
        finally:
            invocation.close()
            source.close()


@cache
def _machine(chip: str) -> _Machine:
    return _Machine(chip)


def _escaped(text: str) -> str:
    """The text in a string of MLIR, where any byte may be two digits."""
    text = text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    return _OTHERS.sub(_digits, text)


def _digits(found: re.Match[str]) -> str:
    return "".join(f"\\{byte:02X}" for byte in found[0].encode())


@contextmanager
def _standard_error() -> Generator[list[str]]:
    """What is written to file descriptor 2 meanwhile, in one piece, at the end."""
    said: list[str] = []
    before = os.dup(2)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                yield said
            finally:
                os.dup2(before, 2)
                file.seek(0)
                said.append(file.read().decode(errors="replace"))
    finally:
        os.close(before)


@contextmanager
def _logged() -> Generator[list[str]]:
    """The same where file descriptor 2 is a file that can be read."""
    said: list[str] = []
    before = os.lseek(2, 0, os.SEEK_END)
    yield said
    end = os.lseek(2, 0, os.SEEK_END)
    said.append(os.pread(2, end - before, before).decode(errors="replace"))


# ---- what the package of the compiler lacks of its C API


class _Context(ctypes.Structure):
    """Source: mlir-c/IR.h, MlirContext."""

    _fields_ = (("pointer", ctypes.c_void_p),)


def _without_threads(session: Session) -> None:
    """Compile in the calling thread: there is nothing to share out."""
    library: Any = ctypes_dl._dylib
    borrow = library.ireeCompilerSessionBorrowContext
    borrow.restype, borrow.argtypes = _Context, [ctypes.c_void_p]
    choose = library.mlirContextEnableMultithreading
    choose.restype, choose.argtypes = None, [_Context, ctypes.c_bool]
    choose(borrow(session._session_p), False)


def _only(invocation: Any, after: str, to: str) -> None:
    """Run only the phases of IREE's pipeline behind one, up to another."""
    library: Any = ctypes_dl._dylib
    for choose, phase in (
        (library.ireeCompilerInvocationSetCompileFromPhase, after),
        (library.ireeCompilerInvocationSetCompileToPhase, to),
    ):
        choose.restype, choose.argtypes = None, [ctypes.c_void_p, ctypes.c_char_p]
        choose(invocation._inv_p, phase.encode())


def _text(invocation: Any, output: Output) -> None:
    invocation.output_ir(output)


def _binary(invocation: Any, output: Output) -> None:
    library: Any = ctypes_dl._dylib
    write = library.ireeCompilerInvocationOutputHALExecutable
    write.restype, write.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]
    ctypes_dl._handle_error(write(invocation._inv_p, output._output_p))
