"""The compiler in a process of its own, so that malformed MLIR ends only that.

Requests and answers are length-prefixed MessagePack on the worker's pipes. A worker
is started anew (never forked) and serves any number of requests.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from typing import IO

import msgspec

from wave_backend_amdgpu.compile.request import Answer, Request

TIME_LIMIT_S = 120.0
"""Seconds that one compilation may take."""

_HEAD = struct.Struct("<Q")


class Worker:
    """A compiler process; started with the first request."""

    def __init__(self, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._limit = time_limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self, request: Request) -> Answer:
        """Compile; a crash or a timeout is an answer with the reason."""
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                process = self._process = _start()
            return self._ask(process, msgspec.msgpack.encode(request))

    def _ask(self, process: subprocess.Popen[bytes], data: bytes) -> Answer:
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._limit, stop)
        timer.daemon = True
        timer.start()
        assert process.stdin is not None, "opened as a pipe"
        assert process.stdout is not None, "opened as a pipe"
        try:
            _send(process.stdin, data)
            found = _receive(process.stdout)
        except OSError:
            found = None
        finally:
            timer.cancel()
        if found is not None:
            return msgspec.msgpack.decode(found, type=Answer)
        status = process.wait()
        self._close(process)
        if late.is_set():
            return Answer(errors=(f"the compiler took more than {self._limit:g} s",))
        return Answer(errors=(_reason(status),))

    def _close(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        self._process = None

    def close(self) -> None:
        """End the process."""
        with self._lock:
            process = self._process
            if process is not None:
                process.kill()
                process.wait()
                self._close(process)


def _reason(status: int) -> str:
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return f"the compiler crashed on this module ({how})"


def _start() -> subprocess.Popen[bytes]:
    # What this process can import, the worker can.
    path = os.pathsep.join(each for each in sys.path if each)
    return subprocess.Popen(
        [sys.executable, "-m", "wave_backend_amdgpu.compile.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_HEAD.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """One message; ``None`` at the end."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    (size,) = _HEAD.unpack(head)
    data = pipe.read(size)
    return data if len(data) == size else None


def serve() -> None:
    """The worker's side: answer until the pipe closes."""
    # The worker loads the compiler, who starts it does not.
    from wave_backend_amdgpu.compile.inprocess import run  # noqa: PLC0415

    # The compiler prints to the standard output; answers go to a copy of it.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    while (data := _receive(requests)) is not None:
        answer = run(msgspec.msgpack.decode(data, type=Request))
        _send(answers, msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    serve()
