"""The assembler in a process of its own.

LLVM ends its process for some texts, and for others it takes all memory that there is
(``.rept``). In a process of our own, IREE also finds the linker that we give it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wave_backend_asm.assemble.messages import AssemblerError
from wave_backend_asm.assemble.serve import CODE
from wave_core.backends.options import LIMITS, MEMORY_LIMIT, TIME_LIMIT
from wave_core.backends.process import CompilerProcess
from wave_core.backends.process.endings import ended

if TYPE_CHECKING:
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target


class Assembler(CompilerProcess):
    """The process that assembles; started with the first text, or by `start`."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        super().__init__("wave_backend_asm.assemble.serve")

    def code(
        self, text: str, graph: Graph, target: Target, options: WaveCompileOptions
    ) -> bytes:
        """The code object of a text.

        Raises:
            AssemblerError: where it is refused.
            UserError: WV0606 where the process crashes or reaches a limit.
        """
        seconds, mib = (
            options.plugin_options.get(name, LIMITS[name])
            for name in (TIME_LIMIT, MEMORY_LIMIT)
        )
        assert isinstance(seconds, int), "checked with the options"
        assert isinstance(mib, int), "checked with the options"
        found = self.ask(json.dumps([text, target.name]).encode(), seconds, mib)
        if isinstance(found, str):
            raise ended(f"the assembler of `{graph.name}` {found}", graph, text, ".s")
        if found.startswith(CODE):
            return found[len(CODE) :]
        raise AssemblerError(found[len(CODE) :].decode(errors="replace"))
