"""Names of values: the variables that the user's lines assign to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wave_core.diagnostics.source import source_line

if TYPE_CHECKING:
    from wave_core.ops.base import Op

_ASSIGNED = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:=(?!=)|:(?!=))")
_DECLARED = re.compile(r"\s*def\s+(\w+)")
_KEYWORDS = frozenset({"else", "try", "finally", "lambda"})


def name_of(op: Op) -> str:
    """A tag, the variable, or the function that the op's line is about."""
    if op.tags:
        return min(op.tags)
    at = op.location
    if at is None or not at.is_known:
        return f"an unnamed {op.op_name}"
    line = source_line(at.file, at.line) or ""
    for pattern in (_ASSIGNED, _DECLARED):
        found = pattern.match(line)
        if found is not None and found.group(1) not in _KEYWORDS:
            return f"`{found.group(1)}`"
    return f"{op.op_name} at line {at.line}"
