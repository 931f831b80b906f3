"""The compiler's process, started by `worker.Worker`."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import msgspec

from wave_backend_amdgpu.compile.request import Request
from wave_backend_amdgpu.link import Toolbox
from wave_core.backends.process import serve

if TYPE_CHECKING:
    from collections.abc import Callable


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Source: mallopt(3)."""

_KEPT_BYTES = 1 << 29
_MAPPED_BYTES = 1 << 25
"""The most that mallopt(3) takes."""


def load() -> Callable[[bytes], bytes]:
    """The compiler, as what answers requests."""
    _keep_memory()
    toolbox = Toolbox.found()
    from wave_backend_amdgpu.compile.inprocess import InProcess  # noqa: PLC0415

    compiler = InProcess(toolbox)

    def answer(data: bytes) -> bytes:
        request = msgspec.msgpack.decode(data, type=Request)
        return msgspec.msgpack.encode(compiler.run(request))

    return answer


def _keep_memory() -> None:
    """Keep what a kernel took for the next one.

    Otherwise the system takes it back and clears it for each: 470 pages of a small
    kernel, a millisecond. Of the C libraries, glibc gives memory back and can be told.
    """
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    if choose is not None:
        choose(_TRIM_THRESHOLD, _KEPT_BYTES)
        choose(_MMAP_THRESHOLD, _MAPPED_BYTES)


if __name__ == "__main__":
    serve(load)
