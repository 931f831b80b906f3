"""Assembly of the user's in place of ours: assembled apart, and checked for the launch.

LLVM ends its process for some texts, and for others it takes all memory that there is
(``.rept``): users' texts are assembled in a process of its own, under limits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wave_backend_asm.assemble.contents import Row, kernels_of
from wave_backend_asm.assemble.messages import AssemblerError
from wave_backend_asm.assemble.serve import CODE
from wave_core.backends.options import LIMITS, MEMORY_LIMIT, TIME_LIMIT
from wave_core.backends.process import CompilerProcess
from wave_core.backends.process.endings import ended
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_backend_asm.assemble.document import Kernel
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target

OPTION = "override_asm"
"""The option that puts assembly of the user in place of ours."""

_HELP = "`wave compile --via asm --emit asm` shows the assembly that Wave writes"


class Worker(CompilerProcess):
    """The process that assembles; started with the first text."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        super().__init__("wave_backend_asm.assemble.serve")

    def code(
        self, text: str, graph: Graph, target: Target, options: WaveCompileOptions
    ) -> bytes:
        """The code object of a text.

        Raises:
            UserError: WV0604 where the assembler refuses it, at its line; WV0606 where
                it crashes or reaches a limit.
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
        said = found[len(CODE) :].decode(errors="replace")
        raise _refused(AssemblerError(said), text, graph)


def _refused(error: AssemblerError, text: str, graph: Graph) -> Exception:
    """What the assembler says of a text, with the lines of the text."""
    rows = text.split("\n")
    messages = [each for each in error.messages if each.line <= len(rows)]
    first = messages[0] if messages else None
    said = error.said.strip().splitlines() or ["no reason given"]
    notes = [
        f"line {each.line}, column {each.column}: {rows[each.line - 1].strip()}"
        f"{'' if each is first else f': {each.why}'}"
        for each in messages[:4]
    ]
    return user_error(
        "WV0604",
        f"the assembly of `{graph.name}` is malformed: "
        f"{first.why if first else said[0]}",
        at=graph.location,
        label="this kernel",
        notes=notes,
        help=_HELP,
        line=first and first.line,
        column=first and first.column,
    )


def checked(data: bytes, kernel: Kernel, graph: Graph, target: Target) -> Row:
    """See that a code object has the kernel, as a launch of it needs it.

    Raises:
        UserError: WV0604 where it lacks the kernel, or takes other arguments or more
            or fewer threads; WV0605 where it needs more LDS than there is.
    """
    try:
        found = kernels_of(data)
    except ValueError as error:
        raise _unfit(f"has metadata that cannot be read: {error}", graph) from None
    row = found.get(kernel.name)
    if row is None:
        known = ", ".join(f"`{name}`" for name in sorted(found)) or "none"
        raise _unfit(f"has no kernel `{kernel.name}`; it has: {known}", graph)
    _check_arguments(row, kernel, graph)
    if row.max_flat_workgroup_size != kernel.threads:
        has, gives = row.max_flat_workgroup_size, kernel.threads
        raise _unfit(f"is for {has} threads, and a launch has {gives}", graph)
    if row.group_segment_fixed_size > target.memory.lds_bytes:
        raise user_error(
            "WV0605",
            f"the assembly given for `{graph.name}` needs "
            f"{row.group_segment_fixed_size} bytes of LDS",
            at=graph.location,
            label="this kernel",
            notes=f"{target.name} has {target.memory.lds_bytes}",
        )
    return row


def _check_arguments(row: Row, kernel: Kernel, graph: Graph) -> None:
    """A device reads as many arguments as the code asks for, given or not."""
    if len(row.args) != len(kernel.arguments):
        has, gives = len(row.args), len(kernel.arguments)
        raise _unfit(f"takes {has} arguments, and a launch gives {gives}", graph)
    rows = zip(row.args, kernel.arguments, kernel.offsets, strict=True)
    for number, (has, given, offset) in enumerate(rows):
        pointer = has.value_kind == "global_buffer"
        if (has.offset, has.size, pointer) != (offset, given.size, given.pointer):
            what = "a pointer" if given.pointer else "a number"
            raise _unfit(
                f"has argument {number} as {has.value_kind} of {has.size} bytes at "
                f"{has.offset}; a launch gives {what} of {given.size} at {offset}",
                graph,
            )


def _unfit(how: str, graph: Graph) -> Exception:
    return user_error(
        "WV0604",
        f"the assembly given for `{graph.name}` {how}",
        at=graph.location,
        label="this kernel",
        help=_HELP,
    )
