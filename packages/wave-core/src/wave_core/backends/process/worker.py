"""A compiler in a process of its own: whatever LLVM does, the caller lives.

The process is started anew (never forked), serves any number of requests from all
threads one by one, and is started again after it crashed or was ended. A fork of the
caller gets a process of its own with its first request.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from functools import partial
from typing import IO, TYPE_CHECKING

from wave_core.backends.process.frames import LIMIT, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable

    Start = Callable[[int], subprocess.Popen[bytes]]
    """What starts the process; its argument is where it says what goes wrong."""

_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "MemoryError", "ENOMEM")
"""Words of the compiler, its C++ library or Python where there is no memory."""

_LOG_BYTES = 1 << 16
"""Bytes of what the compiler said last that are looked at."""


class CompilerProcess:
    """A compiler process; started with the first request, or before it by `start`."""

    def __init__(self, module: str) -> None:
        """Nothing is started yet.

        Args:
            module: What the process runs as ``python -m``; it calls `serve.serve`.
        """
        self._start = partial(_started, module)
        self._by_caller: dict[int, _Process] = {}
        weakref.finalize(self, _end, self._by_caller)

    def start(self) -> None:
        """Start the process, and do not wait for it."""
        self._process().start()

    def ask(
        self, request: bytes, time_limit_s: float, memory_limit_mib: int
    ) -> bytes | str:
        """The answer; a text is the reason why there is none, a crash or a limit."""
        data = LIMIT.pack(memory_limit_mib) + request
        return self._process().ask(data, time_limit_s)

    def close(self) -> None:
        """End the process."""
        _end(self._by_caller)

    def _process(self) -> _Process:
        """The process of this caller; that of the one it was forked from is not."""
        caller = os.getpid()
        found = self._by_caller.get(caller)
        if found is None:
            # Another thread may be doing the same.
            found = self._by_caller.setdefault(caller, _Process(self._start))
            for other in list(self._by_caller):
                left = None if other == caller else self._by_caller.pop(other, None)
                if left is not None:
                    left.leave()
        return found


def _end(by_caller: dict[int, _Process]) -> None:
    found = by_caller.pop(os.getpid(), None)
    if found is not None:
        found.end()


class _Process:
    """The process of one caller, and the lock of its threads."""

    def __init__(self, start: Start) -> None:
        self._started = start
        self._lock = threading.Lock()
        self._popen: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def start(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                self._running()
            finally:
                self._lock.release()

    def ask(self, data: bytes, limit_s: float) -> bytes | str:
        """The answer, or why there is none."""
        with self._lock:
            try:
                found = self._exchange(data, limit_s)
                if found is None:
                    found = self._exchange(data, limit_s)
            except BaseException:
                # What is left of the answer must not be taken for the next one.
                self._close()
                raise
        return "cannot be started" if found is None else found

    def _exchange(self, data: bytes, limit_s: float) -> bytes | str | None:
        """As `ask`; ``None`` where the process had ended before it was asked."""
        try:
            popen = self._running()
            said = os.fstat(_number(self._log)).st_size
        except OSError as error:
            return f"cannot be started: {error.strerror}"
        with _Alarm(popen, limit_s) as late:
            try:
                send(_number(popen.stdin), data)
            except OSError:
                if not late.is_set():
                    self._close()
                    return None
            found = receive(_number(popen.stdout))
        if found is not None:
            return found
        status = popen.wait()
        self._close()
        if late.is_set():
            return f"took more than {limit_s:g} s"
        return _reason(status, os.pread(_number(self._log), _LOG_BYTES, said))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._popen is None or self._popen.poll() is not None:
            self._close()
            self._log = self._log or tempfile.TemporaryFile()  # noqa: SIM115 - kept
            self._popen = self._started(_number(self._log))
        return self._popen

    def _close(self) -> None:
        popen, self._popen = self._popen, None
        if popen is not None:
            popen.kill()
            popen.wait()
            _close_pipes(popen)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        popen = self._popen
        if popen is not None:
            popen.kill()
        with self._lock:
            self._close()
            self._forget_log()

    def leave(self) -> None:
        """Forget a process that the parent of this one started."""
        popen, self._popen = self._popen, None
        if popen is not None:
            popen.returncode = 0
            _close_pipes(popen)
        self._forget_log()

    def _forget_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.close()


class _Alarm:
    """Ends a process that takes too long; the event says that it did."""

    def __init__(self, popen: subprocess.Popen[bytes], limit_s: float) -> None:
        self._popen, self._late = popen, threading.Event()
        self._timer = threading.Timer(limit_s, self._ring)
        self._timer.daemon = True

    def _ring(self) -> None:
        self._late.set()
        self._popen.kill()

    def __enter__(self) -> threading.Event:
        self._timer.start()
        return self._late

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _number(file: IO[bytes] | None) -> int:
    assert file is not None, "opened with the process"
    return file.fileno()


def _close_pipes(popen: subprocess.Popen[bytes]) -> None:
    for pipe in (popen.stdin, popen.stdout):
        assert pipe is not None, "opened as a pipe"
        pipe.close()


def _reason(status: int, log: bytes) -> str:
    """Why a process ended that nobody ended."""
    said = log.decode(errors="replace")
    if any(words in said for words in _OUT_OF_MEMORY):
        return "ran out of memory"
    if status == -signal.SIGKILL:
        return "was killed, as systems do where memory runs out"
    how = f"signal {-status}" if status < 0 else f"status {status}"
    wanted = ("LLVM ERROR:", "Assertion", "fatal")
    lines = (row.strip() for row in said.splitlines())
    why = next((row for row in lines if any(each in row for each in wanted)), "")
    return f"crashed ({how}){': ' if why else ''}{why}"


def _started(module: str, log: int) -> subprocess.Popen[bytes]:
    # What this process can import, the worker can.
    path = os.pathsep.join(each for each in sys.path if each)
    return subprocess.Popen(  # noqa: S603 - modules that backends name
        [sys.executable, "-P", "-m", module],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env={**os.environ, "PYTHONPATH": path},
    )
