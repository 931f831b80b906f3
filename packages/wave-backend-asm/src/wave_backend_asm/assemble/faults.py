"""Text that we made and the assembler refuses: whose fault that is, and at which line.

Rules of plugins say instructions too, and which of them a chip has is known to the
assembler alone. The line tells the op that an instruction was made for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wave_core.diagnostics import PluginError, internal_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wave_backend_asm.assemble.messages import AssemblerError
    from wave_core.backends import LoweringTable
    from wave_core.backends.lowering import AnyLowering
    from wave_core.ir import Graph
    from wave_core.ops.base import Op

_FILE = re.compile(r'\s*\.file (\d+) "(.*)"')
_PLACE = re.compile(r"\s*\.loc (\d+) (\d+) (\d+)")

_SHOWN = 4
"""Messages in one diagnostic."""


def fault(
    error: AssemblerError, text: str, graph: Graph, table: LoweringTable
) -> Exception:
    """The error for a text of ours that does not assemble.

    WV0819 of the plugin whose rule has made the line, else WV9905.
    """
    lines = text.splitlines()
    messages = error.messages[:_SHOWN]
    rows = [f"{lines[each.line - 1]}: {each.why}" for each in messages]
    for message, row in zip(messages, rows, strict=True):
        for op, rule in _made(_place(lines, message.line), graph, table):
            return _of_plugin(op, rule, row)
    return internal_error(
        "WV9905",
        f"the assembler refuses the code of `{graph.name}`",
        at=graph.location,
        notes=rows or error.said,
    )


def _of_plugin(op: Op, rule: AnyLowering, row: str) -> Exception:
    assert rule.blamed is not None, "it is of a plugin"
    try:
        with rule.blamed(op):
            raise ValueError(f"the assembler refuses {row}")
    except PluginError as found:
        return found


def _place(lines: Sequence[str], number: int) -> tuple[str, int, int]:
    """File, line and column of the author's that a line of the text comes from."""
    files = {m[1]: m[2] for line in lines if (m := _FILE.fullmatch(line))}
    for line in reversed(lines[:number]):
        if place := _PLACE.match(line):
            return files.get(place[1], ""), int(place[2]), int(place[3])
    return "", 0, 0


def _made(
    place: tuple[str, int, int], graph: Graph, table: LoweringTable
) -> Iterator[tuple[Op, AnyLowering]]:
    """Ops of a place that a rule of a plugin lowers, with the rules."""
    for op in graph.walk():
        at = op.location
        if at is None or (at.file, at.line, max(at.column, 1)) != place:
            continue
        rule = table.find(op)
        if rule is not None and rule.blamed is not None:
            yield op, rule
