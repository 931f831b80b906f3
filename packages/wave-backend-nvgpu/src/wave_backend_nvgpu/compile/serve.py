"""The code generator's process, started by `worker.Worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wave_backend_nvgpu.compile.request import Request
from wave_core.backends.process import serve

if TYPE_CHECKING:
    from collections.abc import Callable


def load() -> Callable[[bytes], bytes]:
    """The code generator, as what answers requests."""
    from wave_backend_nvgpu.compile.inprocess import InProcess  # noqa: PLC0415

    compiler = InProcess()

    def answer(data: bytes) -> bytes:
        request = msgspec.msgpack.decode(data, type=Request)
        return msgspec.msgpack.encode(compiler.run(request))

    return answer


if __name__ == "__main__":
    serve(load)
