"""The code generator in a process of its own."""

from __future__ import annotations

from functools import cache

import msgspec

from wave_backend_nvgpu.compile.request import Answer, Request
from wave_core.backends.process import CompilerProcess


class Worker(CompilerProcess):
    """The process; started with the first request, or before it by `start`."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        super().__init__("wave_backend_nvgpu.compile.serve")

    def run(self, request: Request, time_limit_s: float) -> Answer:
        """Compile; a crash or a limit is an answer with the reason."""
        data = msgspec.msgpack.encode(request)
        found = self.ask(data, time_limit_s, request.memory_limit_mib)
        if isinstance(found, bytes):
            return msgspec.msgpack.decode(found, type=Answer)
        return Answer(failure=found)


@cache
def default_worker() -> Worker:
    """The worker of compilations outside any session."""
    return Worker()
