"""Assembly of the user's in place of ours: refused at its line, fit for the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.assemble.contents import Row, kernels_of
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_backend_asm.assemble.document import Kernel
    from wave_backend_asm.assemble.messages import AssemblerError
    from wave_core.ir import Graph
    from wave_core.targets import Target

OPTION = "override_asm"
"""The option that puts assembly of the user in place of ours."""

_MOST_SHOWN = 200
"""Characters of a line in a note."""

_HELP = "`wave compile --via asm --emit asm` shows the assembly that Wave writes"


def refused(error: AssemblerError, text: str, graph: Graph) -> Exception:
    """The error WV0604: what the assembler says of a text, with the text's lines."""
    rows = text.split("\n")
    messages = [each for each in error.messages if each.line <= len(rows)]
    first = messages[0] if messages else None
    said = error.said.strip().splitlines() or ["no reason given"]
    notes = [
        f"line {each.line}, column {each.column}: {_shown(rows[each.line - 1])}"
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


def _shown(row: str) -> str:
    """A line of the text, or its beginning."""
    row = row.strip()
    return row if len(row) <= _MOST_SHOWN else f"{row[:_MOST_SHOWN]}..."


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
