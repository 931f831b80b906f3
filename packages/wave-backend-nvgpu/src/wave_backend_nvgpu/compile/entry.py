"""Sees that text of the user has the kernel, with the arguments that a launch gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.module import Generated
    from wave_core.ir import Graph

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

_PARAMETER = re.compile(r"\s*\.param\b(?P<rest>.*)", re.DOTALL)

_TYPE = re.compile(r"\.[busf](8|16|32|64|128)\b")
"""Types that a parameter may have. Source: PTX ISA, "Fundamental Types"."""

_LENGTH = re.compile(r"\[\s*(\d+)\s*\]\s*$")

POINTER_BYTES, WORD_BYTES, MAP_BYTES = 8, 4, 128
"""What a launch gives: addresses, words of numbers, descriptions of memories.
Source: CUDA driver, CUtensorMap."""


def check_entry(ptx: str, code: Generated, graph: Graph, form: str) -> None:
    """See that PTX has the kernel with the arguments of a launch.

    A driver reads as many bytes as the code declares, given or not.

    Args:
        ptx: The PTX, given by the user or made of what was given.
        code: The interface that a launch serves.
        graph: The kernel, for messages.
        form: What was given: ``ptx`` or ``llvm``.

    Raises:
        UserError: WV0604 where it lacks the kernel, or takes other arguments.
    """
    lacks = _misfit(_COMMENT.sub(" ", ptx), code)
    if not lacks:
        return
    what = {"ptx": "PTX", "llvm": "LLVM IR"}[form]
    raise user_error(
        "WV0604",
        f"the {what} given for `{graph.name}` {lacks}",
        at=graph.location,
        label="this kernel",
        help=f"`wave compile --emit {form}` shows what it stands in for",
    )


def _misfit(ptx: str, code: Generated) -> str:
    """What is wrong with the kernel of PTX without comments; empty where it fits."""
    entry = rf"\.entry\s+{re.escape(code.symbol)}(?![\w$])\s*(?:\(([^)]*)\))?"
    found = re.search(entry, ptx)
    if found is None:
        return f"has no kernel `{code.symbol}`"
    listed = found[1] or ""
    has = [_bytes_of(each) for each in listed.split(",")] if listed.strip() else []
    wanted = [POINTER_BYTES] * len(code.bindings)
    wanted += [WORD_BYTES] * sum(row.words for row in code.constants)
    wanted += [MAP_BYTES] * len(code.boxed)
    if len(has) != len(wanted):
        return f"takes {len(has)} arguments, and a launch gives {len(wanted)}"
    for number, (mine, given) in enumerate(zip(has, wanted, strict=True)):
        if mine != given:
            size = "an unknown size" if mine is None else f"{mine} bytes"
            return f"has argument {number} of {size}; a launch gives {given} bytes"
    return ""


def _bytes_of(declared: str) -> int | None:
    """The size of a declared parameter; ``None`` for what is none."""
    parameter = _PARAMETER.fullmatch(declared)
    kind = parameter and _TYPE.search(parameter["rest"])
    if parameter is None or kind is None:
        return None
    length = _LENGTH.search(parameter["rest"])
    if length is None:
        return int(kind[1]) // 8
    # Longer than any parameter may be: not read, as Python reads no 5,000 digits.
    return int(length[1]) * int(kind[1]) // 8 if len(length[1]) < 10 else None
