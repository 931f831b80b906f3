"""Assembly of the user's in place of ours: refused at its line, fit for the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.assemble.beyond import first_beyond
from wave_backend_asm.assemble.contents import descriptor_of, kernels_of
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_backend_asm.assemble.beyond import Beyond
    from wave_backend_asm.assemble.contents import Descriptor, Row
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


def checked(
    data: bytes, text: str, kernel: Kernel, graph: Graph, target: Target
) -> Row:
    """See that a code object has the kernel, as a launch of it needs it.

    Raises:
        UserError: WV0604 where it lacks the kernel, or takes other arguments or more
            or fewer threads, where its descriptor and its metadata differ, or where
            the text names more registers than it asks for; WV0605 where it needs more
            LDS than there is.
    """
    try:
        found = kernels_of(data)
    except ValueError as error:
        raise _unfit(f"has metadata that cannot be read: {error}", graph) from None
    row = found.get(kernel.name)
    if row is None:
        known = ", ".join(f"`{name}`" for name in sorted(found)) or "none"
        raise _unfit(
            f"has no kernel `{kernel.name}`; it has: {known}",
            graph,
            "a kernel is a label, `.amdhsa_kernel` and a row of `.amdgpu_metadata`",
        )
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
    asked = descriptor_of(data, row.symbol)
    _check_alike(row, asked, graph)
    found_beyond = first_beyond(text, kernel.name, asked.registers)
    if found_beyond is not None:
        raise _beyond(found_beyond, asked, text, graph)
    return row


def _check_alike(row: Row, asked: Descriptor, graph: Graph) -> None:
    """The launch goes by the metadata, and the machine by the descriptor."""
    for what, one, other in (
        ("bytes of LDS", asked.lds_bytes, row.group_segment_fixed_size),
        ("bytes of scratch", asked.scratch_bytes, row.private_segment_fixed_size),
        ("bytes of arguments", asked.argument_bytes, row.kernarg_segment_size),
        ("lanes in a wave", asked.lanes, row.wavefront_size),
    ):
        if one != other:
            raise _unfit(
                f"has {one} {what} in its descriptor and {other} in its metadata", graph
            )


_ASKED_BY = {
    "v": "`.amdhsa_next_free_vgpr` and `.amdhsa_accum_offset` say",
    "a": "`.amdhsa_next_free_vgpr`, less `.amdhsa_accum_offset`, says",
    "s": "`.amdhsa_next_free_sgpr` says",
}


def _beyond(found: Beyond, asked: Descriptor, text: str, graph: Graph) -> Exception:
    file = found.name[0]
    count = asked.registers[file]
    has = f"{file}0 to {file}{count - 1}" if count else "none of its kind"
    row = text.split("\n")[found.line - 1]
    return user_error(
        "WV0604",
        f"the assembly given for `{graph.name}` uses {found.name}, and its descriptor "
        f"asks for {has}",
        at=graph.location,
        label="this kernel",
        notes=f"line {found.line}, column {found.column}: {_shown(row)}",
        help=f"{_ASKED_BY[file]} how many registers a wave gets",
        line=found.line,
        column=found.column,
    )


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


def _unfit(how: str, graph: Graph, *notes: str) -> Exception:
    return user_error(
        "WV0604",
        f"the assembly given for `{graph.name}` {how}",
        at=graph.location,
        label="this kernel",
        notes=notes,
        help=_HELP,
    )
