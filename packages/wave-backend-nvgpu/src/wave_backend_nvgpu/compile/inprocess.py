"""Runs the code generator in this process."""

from __future__ import annotations

from wave_backend_nvgpu.bindings import Compiler, CompilerError
from wave_backend_nvgpu.compile.request import Answer, Request


class InProcess:
    """The code generator in this process, and what it keeps between requests."""

    def __init__(self) -> None:
        self._compiler = Compiler()

    def run(self, request: Request) -> Answer:
        """Compile. LLVM may end the process; see `worker`."""
        try:
            text = self._compiler.ptx(
                request.text,
                request.target,
                request.features,
                verified=request.verified,
                sinking=request.sinking,
            )
        except CompilerError as error:
            return Answer(errors=error.messages, place=error.place)
        return Answer(text)
