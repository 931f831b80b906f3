"""The compiler's process, started by `worker.Worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wave_backend_amdgpu.compile.request import Request
from wave_core.backends.process import serve
from wave_isa_amdgcn.link import Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable


def load() -> Callable[[bytes], bytes]:
    """The compiler, as what answers requests."""
    toolbox = Toolbox.found()
    from wave_backend_amdgpu.compile.inprocess import InProcess  # noqa: PLC0415

    compiler = InProcess(toolbox)

    def answer(data: bytes) -> bytes:
        request = msgspec.msgpack.decode(data, type=Request)
        return msgspec.msgpack.encode(compiler.run(request))

    return answer


if __name__ == "__main__":
    serve(load)
