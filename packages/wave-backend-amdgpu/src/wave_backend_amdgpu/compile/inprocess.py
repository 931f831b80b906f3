"""Runs the compiler in this process."""

from __future__ import annotations

import os
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import msgspec

from wave_backend_amdgpu.bindings import Compiler, CompilerError, compile_program
from wave_backend_amdgpu.compile.request import Answer, Form, Request
from wave_backend_amdgpu.compile.steps import edited, refused
from wave_isa_amdgcn.link import LinkError, Toolbox, linked

_LOADED_BY = os.getpid()
"""The process that loaded the compiler, whose threads a fork of it does not have."""

_DUMP = "--iree-hal-dump-executable-intermediates-to="


class InProcess:
    """The compiler in this process, and what it keeps between requests."""

    def __init__(self, toolbox: Toolbox | None = None) -> None:
        """Nothing is compiled yet.

        Args:
            toolbox: What links code objects; IREE's own linker by default.
        """
        self._compiler = Compiler()
        self._toolbox = toolbox

    def run(self, request: Request) -> Answer:
        """Compile. The compiler may end the process; see `worker`."""
        if os.getpid() != _LOADED_BY:
            why = "this process is a fork of one that has compiled within itself"
            return Answer(errors=(f"{why}; compile in a worker, which is the default",))
        found = edited(request)
        if isinstance(found, Answer):
            return found
        changed = found.text if found.steps else ""
        if found.form is Form.TEXT:
            return Answer(text=changed)
        return msgspec.structs.replace(self._compiled(found), text=changed)

    def _compiled(self, request: Request) -> Answer:
        if not request.intermediates:
            return self._answer(request, request.flags, None)
        with tempfile.TemporaryDirectory(prefix="wave-") as folder:
            flags = (*request.flags, _DUMP + folder)
            return self._answer(request, flags, Path(folder))

    def _answer(
        self, request: Request, flags: tuple[str, ...], folder: Path | None
    ) -> Answer:
        try:
            output = self._output(request, flags)
        except CompilerError as error:
            return refused(error)
        except LinkError as error:
            return Answer(errors=(str(error),))
        if folder is None:
            return Answer(output=output)
        return Answer(
            output=output,
            assembly=_only(folder, "*.rocmasm"),
            llvm=_only(folder, "*.optimized.ll"),
        )

    def _output(self, request: Request, flags: tuple[str, ...]) -> bytes:
        if request.form is Form.PROGRAM:
            with nullcontext() if self._toolbox is None else self._toolbox.tools():
                return compile_program(request.text, flags)
        generated = not request.steps and not request.verified
        made = partial(self._compiler.code, request.text, flags, generated=generated)
        return linked(self._toolbox, made)


def _only(folder: Path, pattern: str) -> str:
    found = sorted(folder.glob(pattern))
    return found[0].read_text(encoding="utf-8") if found else ""
