"""The compiler's process: answers requests on its standard input until it closes."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from wave_core.backends.process.frames import LIMIT, receive, send

if sys.platform != "win32":
    import resource


LOOK_S = 2.0
"""Seconds between two looks whether the caller still lives."""

LOOK_AT_MEMORY_S = 0.02
"""Seconds between two looks at the memory of this process."""

STATM = Path("/proc/self/statm")
"""Pages of this process: all, then those in memory. Source: proc(5); Linux alone."""

OUT_OF_MEMORY = "out of memory"
"""The last words of this process where it ends for that reason."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Source: mallopt(3)."""

_KEPT_BYTES = 1 << 29
_MAPPED_BYTES = 1 << 25
"""The most that mallopt(3) takes."""


def serve(load: Callable[[], Callable[[bytes], bytes]]) -> None:
    """Answer until the caller is gone.

    Args:
        load: Loads the compiler, and gives what answers a request.
    """
    caller = os.getppid()
    # An interrupt at the keyboard is for the caller, who then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The compiler prints to the standard output; answers go to a copy of it.
    answers = os.dup(1)
    os.dup2(2, 1)
    _keep_memory()
    # Loaded before the first request, while the caller is still tracing.
    answer = load()
    while (data := _next(caller)) is not None:
        (mib,) = LIMIT.unpack_from(data)
        with _limited(mib):
            found = answer(data[LIMIT.size :])
        send(answers, found)


def _keep_memory() -> None:
    """Keep what a kernel took for the next one.

    Otherwise the system takes it back and clears it for each: 470 pages of a small
    kernel, a millisecond. Of the C libraries, glibc gives memory back and can be told.
    """
    if sys.platform == "win32":
        return
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    if choose is not None:
        choose(_TRIM_THRESHOLD, _KEPT_BYTES)
        choose(_MMAP_THRESHOLD, _MAPPED_BYTES)


def _next(caller: int) -> bytes | None:
    """The next request; ``None`` where none can come.

    A fork of the caller may hold the pipe open after the caller has ended.
    """
    if sys.platform != "win32":
        while not select.select([0], [], [], LOOK_S)[0]:
            if os.getppid() != caller:
                return None
    return receive(0)


@contextmanager
def _limited(mib: int) -> Generator[None]:
    """End this process where it holds more memory than ``mib``.

    The system's own limit is wider. What the compiler does at that one is not sure:
    it says so, or uses memory that it did not get.
    """
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = (2 * mib + 1024) << 20
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(mib, done), daemon=True)
    if STATM.exists():
        watch.start()
    yield
    done.set()


def _watch(mib: int, done: threading.Event) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    while int(STATM.read_text().split()[1]) * page <= mib << 20:
        if done.wait(LOOK_AT_MEMORY_S):
            return
    os.write(2, OUT_OF_MEMORY.encode())
    os._exit(1)
