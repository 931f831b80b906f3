# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false
# The compiler's Python package has no types, and lacks two functions of its C API.
"""IREE's compiler: the only module that imports it.

The C API is stable between releases; the MLIR syntax that `codegen` writes is not, so
the releases that are claimed are those in `deps/tested.txt`.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir, version
from iree.compiler.api import Output, Session, Source, ctypes_dl

VERSION = str(version.VERSION)
"""The compiler's version."""

_SEVERITIES = ("note", "warning", "error", "remark")
"""Source: iree_compiler_diagnostic_severity_t."""

_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p
)


@dataclass(frozen=True)
class Message:
    """A message of the compiler."""

    severity: str
    text: str


class CompilerError(Exception):
    """The compiler refused a module.

    Attributes:
        messages: What it said.
        place: Line and column of the first message in the text of the module.
    """

    def __init__(
        self, messages: tuple[Message, ...], place: tuple[int, int] | None = None
    ) -> None:
        super().__init__("\n".join(m.text for m in messages) or "no reason given")
        self.messages = messages
        self.place = place


_PLACE = re.compile(r'loc\("-":(\d+):(\d+)\)')
"""How MLIR prints a place in a text that is no file."""


class EditedModule:
    """A module as MLIR's own Python bindings have it.

    Attributes:
        module: The module, in a context of its own with all dialects.
    """

    def __init__(self, text: str) -> None:
        """Read and verify ``text``.

        Raises:
            CompilerError: where it is malformed, with the place.
        """
        self._context = ir.Context()
        try:
            self.module: Any = ir.Module.parse(text, self._context)
        except ir.MLIRError as error:
            raise _malformed(error) from None

    def text(self) -> str:
        """The text of the module, with the places of the kernel's lines.

        Raises:
            CompilerError: where the module is malformed.
        """
        try:
            self.module.operation.verify()
        except ir.MLIRError as error:
            raise _malformed(error) from None
        return str(self.module.operation.get_asm(enable_debug_info=True))


def _malformed(error: Any) -> CompilerError:
    found = error.error_diagnostics
    messages = tuple([Message("error", str(each.message)) for each in found])
    place = _PLACE.match(str(found[0].location)) if found else None
    return CompilerError(
        messages or (Message("error", str(error)),),
        None if place is None else (int(place[1]), int(place[2])),
    )


def compile_code(text: str, flags: tuple[str, ...]) -> bytes:
    """The code object of a module with one executable.

    Raises:
        CompilerError: where the compiler refuses it.
    """
    return _Compilation(text, flags).code()


def compile_program(text: str, flags: tuple[str, ...]) -> bytes:
    """The bytecode of a module with a host program.

    Raises:
        CompilerError: where the compiler refuses it.
    """
    return _Compilation(text, flags).program()


class _Compilation:
    """One module through the compiler."""

    def __init__(self, text: str, flags: tuple[str, ...]) -> None:
        self._messages: list[Message] = []
        self._session = Session()
        try:
            self._session.set_flags(*flags)
        except ValueError as error:
            raise CompilerError((Message("error", str(error)),)) from None
        self._invocation = self._session.invocation()
        self._callback = _CALLBACK(self._heard)
        library: Any = ctypes_dl._dylib
        enable = library.ireeCompilerInvocationEnableCallbackDiagnostics
        enable.restype = None
        enable.argtypes = [ctypes.c_void_p, ctypes.c_int, _CALLBACK, ctypes.c_void_p]
        enable(self._invocation._inv_p, 0, self._callback, None)
        self._source = Source.wrap_buffer(self._session, text.encode() + b"\0")

    def _heard(self, severity: int, text: Any, size: int, _data: object) -> None:
        words = ctypes.string_at(text, size).decode(errors="replace")
        self._messages.append(Message(_SEVERITIES[severity], words))

    def _run(self, pipeline: ctypes_dl.PipelineType) -> None:
        parsed = self._invocation.parse_source(self._source)
        if not (parsed and self._invocation.execute(pipeline)):
            raise CompilerError(tuple(self._messages))

    def code(self) -> bytes:
        """Run the pipeline for one executable."""
        self._run(ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_HAL_EXECUTABLE)
        output = Output.open_membuffer()
        library: Any = ctypes_dl._dylib
        write = library.ireeCompilerInvocationOutputHALExecutable
        write.restype = ctypes.c_void_p
        write.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        status = write(self._invocation._inv_p, output._output_p)
        ctypes_dl._handle_error(status)
        return bytes(output.map_memory())

    def program(self) -> bytes:
        """Run the whole pipeline."""
        self._run(ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_STD)
        output = Output.open_membuffer()
        self._invocation.output_vm_bytecode(output)
        return bytes(output.map_memory())
