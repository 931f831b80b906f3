"""Tables of machine code side by side, for terminals of 80 columns."""

from __future__ import annotations

import linecache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wave_view.compare import Line, Side

    Table = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]

_TITLE = 24
"""Letters of the name of a side."""
_TEXT = 30
"""Letters of a line of the author's."""
_BLOCKS = 12
"""Blocks of each code that are listed, the largest."""


def totals(sides: Sequence[Side]) -> Table:
    """Whole kernels and their hot loops, a column for each code."""
    shown = [side.found for side in sides if side.found]
    rows = [
        (title, *cells)
        for title, cell in _TOTALS
        if any(cells := [_cell(cell, found) for found in shown])
    ]
    return ("what", *map(title_of, sides)), rows


def title_of(side: Side) -> str:
    """The name of a side, cut where it is long."""
    return side.name if len(side.name) <= _TITLE else side.name[: _TITLE - 3] + "..."


def _cell(cell: Callable[[Mapping[str, Any]], object], found: Mapping[str, Any]) -> str:
    try:
        value = cell(found)
    except (KeyError, TypeError):  # there is no such loop, or nothing was modelled
        return ""
    return value if isinstance(value, str) else f"{value:,.4g}"


def _number(text: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda found: f"{found['resources'][text]:,}"


_TOTALS: tuple[tuple[str, Callable[[Mapping[str, Any]], object]], ...] = (
    ("instructions", lambda found: f"{found['whole']['instructions']:,}"),
    ("vector registers", _number("vgprs")),
    ("of them AGPRs", _number("agprs")),
    ("scalar registers", _number("sgprs")),
    ("spilled vectors", _number("vgpr_spills")),
    ("spilled scalars", _number("sgpr_spills")),
    ("scratch, bytes", _number("scratch_bytes")),
    ("LDS, bytes", _number("lds_bytes")),
    ("waves on a SIMD", lambda found: f"{found['resources']['waves_per_simd']:g}"),
    ("cycles of a workgroup", lambda found: f"{found['cycles']['per_workgroup']:,.0f}"),
    ("matrix units busy", lambda found: f"{found['cycles']['mfma_utilisation']:.1%}"),
    ("hot loop", lambda found: f"{found['hot']['pc']:#x}"),
    ("- instructions", lambda found: f"{found['hot']['instructions']:,}"),
    ("- matrix instructions", lambda found: f"{found['hot']['units']['mfma']:,}"),
    ("- others per kFLOP", lambda found: f"{found['hot']['others_per_kflop']:.3g}"),
    ("- least cycles of a turn", lambda found: f"{found['hot']['least_cycles']:,}"),
)  # fmt: skip


def by_line(sides: Sequence[Side], lines: Sequence[Line]) -> Table:
    """A row for each line of the author's, and one for all."""
    names = [title_of(side) for side in sides if side.found]
    modelled = any(cycles for line in lines for cycles in line.cycles)
    author = sides[0].author
    titles = [
        "line",
        *(f"count {name}" for name in names),
        *(f"cycles {name}" for name in names if modelled),
        *(("code",) if author else ()),
    ]
    rows = [
        (line.short, *_numbers(line, modelled), *_text(line, author)) for line in lines
    ]
    return tuple(titles), rows


def _numbers(line: Line, modelled: bool) -> Iterator[str]:  # noqa: FBT001 - one column more
    yield from (f"{count:,}" for count in line.counts)
    if modelled:
        yield from ("" if c is None else f"{c:,.0f}" for c in line.cycles)


def _text(line: Line, author: str) -> Iterator[str]:
    """The author's line, where it is of the kernel's file."""
    if not author:
        return
    name, _, number = line.source.rpartition(":")
    same = PurePath(name).name == PurePath(author).name
    text = linecache.getline(author, int(number)).strip() if same else ""
    yield text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."


def by_block(sides: Sequence[Side]) -> Table:
    """The largest blocks of each code, where no lines connect them."""
    titles = ("code", "block", "loops around", "count", "matrix", "least cycles")
    rows: list[tuple[str, ...]] = []
    for side in sides:
        blocks: list[Mapping[str, Any]] = side.found["blocks"] if side.found else []
        largest = sorted(blocks, key=_size)[-_BLOCKS:]
        rows += [
            (title_of(side), f"{row['pc']:#x}", str(row["depth"]),
             f"{row['instructions']:,}", f"{row['units'].get('mfma', 0):,}",
             f"{row['least_cycles']:,}")
            for row in blocks
            if row in largest
        ]  # fmt: skip
    return titles, rows


def _size(block: Mapping[str, Any]) -> tuple[int, int]:
    """What makes a block large; of equal ones the first is larger."""
    return block["instructions"], -block["pc"]
