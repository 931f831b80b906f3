"""Lane layouts that the rows of matrix instructions share.

Lane ``l``, register ``r``; ``rows`` is 16 or 32. An operand has its row in the lanes
and its share of K in registers; an accumulator has its column in the lanes.
"""

from __future__ import annotations

from wave_core.symbols import Digit, Layout


def _tile(
    size: tuple[int, int], dim: str, rows: int, other: str, *digits: Digit
) -> Layout:
    """Of so many lanes and registers: ``dim`` is ``l % rows``, ``other`` the digits."""
    table = {dim: [Digit(1, "lane", 1, rows)], other: digits}
    return Layout.make(*size, table)


def operand(dim: str, lanes: int, rows: int, registers: int) -> Layout:
    """Row ``l % rows``, K ``registers * (l // rows) + r``."""
    group = Digit(registers, "lane", rows, lanes // rows)
    own = Digit(1, "reg", 1, registers)
    return _tile((lanes, registers), dim, rows, "K", group, own)


def interleaved(dim: str, lanes: int, rows: int, registers: int, piece: int) -> Layout:
    """As `operand`, with K cut into pieces that go around the lane groups.

    K is ``piece * groups * (r // piece) + piece * (l // rows) + r % piece``: what a
    lane holds of an accumulator is then what it needs as an operand.
    """
    groups = lanes // rows
    group, own = Digit(piece, "lane", rows, groups), Digit(1, "reg", 1, piece)
    further = Digit(piece * groups, "reg", piece, registers // piece)
    return _tile((lanes, registers), dim, rows, "K", group, own, further)


def halved_blocks(dim: str, lanes: int, rows: int, issues: int) -> Layout:
    """Row ``l % rows``; blocks of 32 along K, each of two neighbouring lane groups.

    For each of ``issues`` instructions a lane holds two pieces of 16. An instruction
    takes every ``issues``-th block, so that the scales of a lane for all of them lie
    side by side, see `scales`.
    """
    stride, groups = 32 * issues, lanes // rows
    half, block = (
        Digit(16, "lane", rows, 2),
        Digit(stride, "lane", 2 * rows, groups // 2),
    )
    own, issue = Digit(1, "reg", 1, 16), Digit(32, "reg", 32, issues)
    further = Digit(stride * groups // 2, "reg", 16, 2)
    size = lanes, 32 * issues
    return _tile(size, dim, rows, "K", half, block, own, further, issue)


def replicated(dim: str, lanes: int, rows: int, registers: int) -> Layout:
    """Row ``l % rows``, K ``r``: every group of lanes holds the same."""
    own = Digit(1, "reg", 1, registers)
    return _tile((lanes, registers), dim, rows, "K", own)


def accumulator(lanes: int, columns: int, registers: int) -> Layout:
    """M ``registers * (l // columns) + r``, N ``l % columns``."""
    group = Digit(registers, "lane", columns, lanes // columns)
    own = Digit(1, "reg", 1, registers)
    return _tile((lanes, registers), "N", columns, "M", group, own)


def accumulator_32() -> Layout:
    """M ``8 * (r // 4) + 4 * (l // 32) + r % 4``, N ``l % 32``; wave64."""
    group, own = Digit(4, "lane", 32, 2), Digit(1, "reg", 1, 4)
    return _tile((64, 16), "N", 32, "M", group, own, Digit(8, "reg", 4, 4))


def strided_accumulator(lanes: int, columns: int, registers: int) -> Layout:
    """M ``(l // columns) + groups * r``, N ``l % columns``."""
    groups = lanes // columns
    group, own = Digit(1, "lane", columns, groups), Digit(groups, "reg", 1, registers)
    return _tile((lanes, registers), "N", columns, "M", group, own)


def scales(dim: str, lanes: int, rows: int, blocks: int) -> Layout:
    """Row ``l % rows``, block of K ``l // rows``: one scale a lane."""
    if lanes // rows < blocks:
        return replicated(dim, lanes, rows, blocks)
    return _tile((lanes, 1), dim, rows, "K", Digit(1, "lane", rows, blocks))
