# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false
# The compiler's Python package has no types, and lacks some functions of its C API.
"""IREE's compiler: the only module that imports it.

The C API is stable between releases; the MLIR syntax that `codegen` writes is not, so
the releases that are claimed are those in `deps/tested.txt`.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any, Self

from iree.compiler import ir, version
from iree.compiler.api import Output, Session, Source, ctypes_dl

from wave_backend_amdgpu.compile.kernel_passes import kernel_passes

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


class Compiler:
    """IREE with its state for each set of options, which takes longer than a kernel.

    One thread at a time.
    """

    def __init__(self) -> None:
        """Nothing is loaded until something is compiled."""
        self._machines: dict[tuple[str, ...], _Machine] = {}

    def code(self, text: str, flags: tuple[str, ...], *, generated: bool) -> bytes:
        """The code object of a module with one executable.

        Args:
            text: The module.
            flags: Options.
            generated: Whether `codegen` wrote it, so that the passes for what it writes
                are enough. Others may write whatever IREE compiles.

        Raises:
            CompilerError: where the compiler refuses it.
        """
        if not generated or _SOURCE.search(text) is None:
            with _Module(_session(flags), text) as module:
                return module.executable()
        machine = self._machines.pop(flags, None)
        if machine is None or machine.compiled == RENEWED:
            machine = _Machine(flags)
        # The last to be used is the last here, and the first is forgotten.
        self._machines[flags] = machine
        if len(self._machines) > KEPT:
            del self._machines[next(iter(self._machines))]
        return machine.code(text)


def compile_program(text: str, flags: tuple[str, ...]) -> bytes:
    """The bytecode of a module with a host program.

    Raises:
        CompilerError: where the compiler refuses it.
    """
    with _Module(_session(flags), text) as module:
        return module.program()


KEPT = 4
"""Sets of options whose state is kept at a time."""

RENEWED = 256
"""Kernels after which the state is made anew: their types and constants stay in it."""

_SOURCE = re.compile(r"^hal\.executable\.source public (@\S+) \{$", re.MULTILINE)
"""The line with which `codegen.wrap` begins an executable."""

_VARIANT = re.compile(r"^ *(hal\.executable\.variant .*\{)$", re.MULTILINE)
"""The line with which IREE begins an executable for one machine."""

_NO_HOST = "--iree-opt-level=O0"
"""Spares optimizing the host program, which a kernel does not have."""

_EMPTY = """\
hal.executable.source public @empty {
hal.executable.export public @empty ordinal(0) layout(#hal.pipeline.layout<
constants = 0, bindings = []>) count(%device: !hal.device) -> (index, index, index) {
%one = arith.constant 1 : index
hal.return %one, %one, %one : index, index, index
}
builtin.module {
}
}
"""
"""An executable without a kernel."""


class _Machine:
    """IREE's state for one set of options.

    Attributes:
        compiled: Kernels until now.
    """

    def __init__(self, flags: tuple[str, ...]) -> None:
        self.compiled = 0
        self._session = _session((*flags, _NO_HOST))
        _without_threads(self._session)
        self._flags = flags
        with _Module(self._session, _EMPTY) as module:
            module.run(after="stream", to="executable-sources")
            found = _VARIANT.search(module.text())
        assert found is not None, "IREE describes the machine of its options"
        self._variant = found[1]

    def code(self, text: str) -> bytes:
        """The code object of a module that `codegen` wrote.

        Its executable is put where IREE would put it, and taken up behind IREE's own
        code generation; lines keep their numbers.
        """
        self.compiled += 1
        begin = rf"hal.executable public \1 {{ {self._variant}"
        put = _SOURCE.sub(begin, text, count=1) + "}"
        with _Module(self._session, put) as module:
            module.trust()
            module.apply(kernel_passes(self._flags, text))
            module.run(after="executable-targets", to="hal")
            return module.binary()


def _session(flags: tuple[str, ...]) -> Session:
    session = Session()
    try:
        session.set_flags(*flags)
    except ValueError as error:
        raise CompilerError((Message("error", str(error)),)) from None
    return session


class _Context(ctypes.Structure):
    """Source: mlir-c/IR.h, MlirContext."""

    _fields_ = (("pointer", ctypes.c_void_p),)


def _without_threads(session: Session) -> None:
    """Compile in the calling thread: one function has nothing to share out."""
    borrow = _function("SessionBorrowContext", _Context)
    borrow.argtypes = [ctypes.c_void_p]
    library: Any = ctypes_dl._dylib
    choose = library.mlirContextEnableMultithreading
    choose.restype, choose.argtypes = None, [_Context, ctypes.c_bool]
    choose(borrow(session._session_p), False)


class _Module:
    """One module in the compiler, from entering to leaving it.

    Raises:
        CompilerError: from entering and from what compiles, where it is refused.
    """

    def __init__(self, session: Session, text: str) -> None:
        self._messages: list[Message] = []
        self._invocation = session.invocation()
        self._callback = _CALLBACK(self._heard)
        enable = _function("InvocationEnableCallbackDiagnostics", None)
        enable.argtypes = [ctypes.c_void_p, ctypes.c_int, _CALLBACK, ctypes.c_void_p]
        enable(self._invocation._inv_p, 0, self._callback, None)
        self._source = Source.wrap_buffer(session, text.encode() + b"\0")

    def __enter__(self) -> Self:
        """Read the text."""
        try:
            self._check(done=self._invocation.parse_source(self._source))
        except CompilerError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Give back what the module takes, before its session is."""
        self._invocation.close()
        self._source.close()

    def _heard(self, severity: int, text: Any, size: int, _data: object) -> None:
        words = ctypes.string_at(text, size).decode(errors="replace")
        self._messages.append(Message(_SEVERITIES[severity], words))

    def _check(self, *, done: bool) -> None:
        if not done:
            raise CompilerError(tuple(self._messages))

    def trust(self) -> None:
        """Verify it no more: it was when it was read, and passes keep it valid.

        Otherwise each pass is followed by a walk over all of it, which takes a tenth
        of the time of a kernel.
        """
        choose = _function("InvocationSetVerifyIR", None)
        choose.argtypes = [ctypes.c_void_p, ctypes.c_bool]
        choose(self._invocation._inv_p, False)

    def apply(self, passes: str) -> None:
        """Run passes."""
        self._check(done=self._invocation.execute_text_pass_pipeline(passes))

    def run(self, *, after: str, to: str) -> None:
        """Run the phases of IREE's pipeline behind one, up to another."""
        phases = {"InvocationSetCompileFromPhase": after}
        phases["InvocationSetCompileToPhase"] = to
        for name, phase in phases.items():
            choose = _function(name, None)
            choose.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
            choose(self._invocation._inv_p, phase.encode())
        self._execute(ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_STD)

    def _execute(self, pipeline: ctypes_dl.PipelineType) -> None:
        self._check(done=self._invocation.execute(pipeline))

    def executable(self) -> bytes:
        """Run the pipeline for one executable."""
        self._execute(ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_HAL_EXECUTABLE)
        return self.binary()

    def program(self) -> bytes:
        """Run the whole pipeline."""
        self._execute(ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_STD)
        output = Output.open_membuffer()
        self._invocation.output_vm_bytecode(output)
        return bytes(output.map_memory())

    def binary(self) -> bytes:
        """The code object of the only executable."""
        output = Output.open_membuffer()
        write = _function("InvocationOutputHALExecutable", ctypes.c_void_p)
        write.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        ctypes_dl._handle_error(write(self._invocation._inv_p, output._output_p))
        return bytes(output.map_memory())

    def text(self) -> str:
        """The module as text."""
        output = Output.open_membuffer()
        self._invocation.output_ir(output)
        return bytes(output.map_memory()).decode()


def _function(name: str, result: Any) -> Any:
    """A function of the compiler's C API, which the package does not declare."""
    library: Any = ctypes_dl._dylib
    found = getattr(library, f"ireeCompiler{name}")
    found.restype = result
    return found
