"""Python's search for garbage waits while a kernel is compiled.

A graph is many small objects that live until the kernel is done, so that searches come
often and find little, and each of the full ones goes through all that was imported:
together a sixth of the time before machine code. What is in cycles goes with the first
search behind the compilation; all else is freed at once, as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def garbage_waits() -> Generator[None]:
    """Search for no garbage meanwhile, in any thread.

    Where the author has turned searching off, it stays off. Of compilations that
    overlap, the first to end turns it on again.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
