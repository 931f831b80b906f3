"""What the assembler says of a kernel: resources, spills, and what went wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ERROR = re.compile(r"ptxas .*?, line (\d+); (?:error|fatal)\s*: (.*)")
_FATAL = re.compile(r"ptxas (?:error|fatal)\s*: (.*)")
_LOST = re.compile(r"\(C75\d\d\)\s*(.*)")
"""Speed is lost: products are serialized, or registers are not handed over. These are
not printed as errors."""

_WARNING = re.compile(r"ptxas(?: .*?, line \d+;)? warning\s*: (.*)")
_SPILLS = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_REGISTERS = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")

_SAID_TOO = "Ptx assembly aborted"


@dataclass(frozen=True)
class Remarks:
    """What the assembler said.

    Attributes:
        errors: Why it refused.
        line: The line of the first error in the text of the PTX, from 1.
        lost: What the machine code does not do though the PTX says so.
        warnings: The other warnings.
        registers: Of a thread.
        stack_bytes: Local memory of a thread.
        spill_store_bytes: Written to local memory, in the text of the machine code.
        spill_load_bytes: Read back.
        barriers: That the code uses.
        static_shared_bytes: Shared memory of a workgroup that no launch asks for.
    """

    errors: tuple[str, ...] = ()
    line: int | None = None
    lost: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    registers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    barriers: int = 0
    static_shared_bytes: int = 0

    @property
    def spilled_bytes(self) -> int:
        """Bytes that go to local memory and back."""
        return self.spill_store_bytes + self.spill_load_bytes


def read_remarks(text: str) -> Remarks:
    """Read what ``ptxas --verbose`` prints."""
    rows = text.splitlines()
    placed = [found for row in rows if (found := _ERROR.search(row))]
    others = [found[1].strip() for row in rows if (found := _FATAL.search(row))]
    others = [row for row in others if not (placed and _SAID_TOO in row)]
    spills = _numbers(_SPILLS, text, 3)
    return Remarks(
        errors=tuple(dict.fromkeys([*(row[2].strip() for row in placed), *others])),
        line=int(placed[0][1]) if placed else None,
        lost=tuple(row.strip() for row in rows if _LOST.search(row)),
        warnings=tuple(
            found[1].strip()
            for row in rows
            if (found := _WARNING.search(row)) and not _LOST.search(row)
        ),
        registers=_numbers(_REGISTERS, text, 1)[0],
        stack_bytes=spills[0],
        spill_store_bytes=spills[1],
        spill_load_bytes=spills[2],
        barriers=_numbers(_BARRIERS, text, 1)[0],
        static_shared_bytes=_numbers(_SHARED, text, 1)[0],
    )


def _numbers(pattern: re.Pattern[str], text: str, count: int) -> list[int]:
    """The numbers of the row with the largest ones; zeros where there is no row."""
    rows = [list(map(int, found.groups())) for found in pattern.finditer(text)]
    return max(rows, default=[0] * count)
