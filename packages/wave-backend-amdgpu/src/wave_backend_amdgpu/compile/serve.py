"""The compiler's process: answers requests on its standard input until it closes.

Started as ``python -m wave_backend_amdgpu.compile.serve`` by `worker.Worker`.
"""

from __future__ import annotations

import os
import select
import signal
import sys

import msgspec

from wave_backend_amdgpu.compile.frames import receive, send
from wave_backend_amdgpu.compile.request import Request

if sys.platform != "win32":
    import resource

LOOK_S = 2.0
"""Seconds between two looks whether the caller still lives."""


def serve() -> None:
    """Answer until the caller is gone."""
    caller = os.getppid()
    # An interrupt at the keyboard is for the caller, who then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The compiler prints to the standard output; answers go to a copy of it.
    answers = os.dup(1)
    os.dup2(2, 1)
    # Loaded before the first request, while the caller is still tracing.
    from wave_backend_amdgpu.compile.inprocess import run  # noqa: PLC0415

    while (data := _next(caller)) is not None:
        request = msgspec.msgpack.decode(data, type=Request)
        _limit_memory(request.memory_limit_mib)
        send(answers, msgspec.msgpack.encode(run(request)))


def _next(caller: int) -> bytes | None:
    """The next request; ``None`` where none can come.

    A fork of the caller may hold the pipe open after the caller has ended.
    """
    if sys.platform != "win32":
        while not select.select([0], [], [], LOOK_S)[0]:
            if os.getppid() != caller:
                return None
    return receive(0)


def _limit_memory(mib: int) -> None:
    if sys.platform == "win32":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = mib << 20
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


if __name__ == "__main__":
    serve()
