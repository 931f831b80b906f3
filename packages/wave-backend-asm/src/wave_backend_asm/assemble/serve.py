"""The assembler's process, started by `apart.Assembler`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wave_backend_asm.assemble.messages import AssemblerError
from wave_core.backends.process import serve
from wave_isa_amdgcn.link import LinkError, Toolbox, linked

if TYPE_CHECKING:
    from collections.abc import Callable

CODE, REFUSAL = b"c", b"r"
"""How an answer begins: with a code object, or with what the assembler said."""


def load() -> Callable[[bytes], bytes]:
    """The assembler, as what answers requests."""
    toolbox = Toolbox.found()
    from wave_backend_asm.bindings import assemble  # noqa: PLC0415 - it loads LLVM

    def answer(data: bytes) -> bytes:
        text, chip = json.loads(data)
        try:
            return CODE + linked(toolbox, lambda: assemble(text, chip, log=True))
        except AssemblerError as error:
            return REFUSAL + error.said.encode()
        except LinkError as error:
            return REFUSAL + str(error).encode()

    return answer


if __name__ == "__main__":
    serve(load)
