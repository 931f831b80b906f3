# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false
# The compiler's Python package has no types, and lacks one function of its C API.
"""LLVM's assembler inside IREE's compiler: the only module here that imports it.

The text is the assembly of a module that has no function, so LLVM generates no code and
only assembles, and lld links. Where the text is refused, lld finds no object and LLVM
has written why to the standard error of the process, from where it is read.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from iree.compiler.api import Output, Session, Source, ctypes_dl

from wave_backend_asm.assemble.messages import AssemblerError

_MODULE = """\
hal.executable.source public @code {{
hal.executable.export public @code ordinal(0) layout(#hal.pipeline.layout<
constants = 0, bindings = []>) count(%device: !hal.device) -> (index, index, index) {{
%one = arith.constant 1 : index
hal.return %one, %one, %one : index, index, index
}}
builtin.module attributes {{llvm.module_asm = ["{}"]}} {{
}}
}}
"""


def assemble(text: str, chip: str) -> bytes:
    """The code object of a text; not for two threads at a time.

    Raises:
        AssemblerError: where it is refused.
    """
    session = Session()
    session.set_flags(
        "--iree-hal-target-device=hip",
        f"--iree-rocm-target={chip}",
        "--iree-rocm-container-type=hsaco",
    )
    invocation = session.invocation()
    source = Source.wrap_buffer(session, _module(text).encode() + b"\0")
    try:
        with _standard_error() as said:
            done = invocation.parse_source(source) and invocation.execute(
                ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_HAL_EXECUTABLE
            )
        if not done:
            raise AssemblerError("".join(said))
        return _binary(invocation)
    finally:
        invocation.close()
        source.close()


def _module(text: str) -> str:
    escaped = text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    return _MODULE.format(escaped)


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


def _binary(invocation: Any) -> bytes:
    library: Any = ctypes_dl._dylib
    write = library.ireeCompilerInvocationOutputHALExecutable
    write.restype, write.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]
    output = Output.open_membuffer()
    ctypes_dl._handle_error(write(invocation._inv_p, output._output_p))
    return bytes(output.map_memory())
