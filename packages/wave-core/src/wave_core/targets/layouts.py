"""Lane layouts that the rows of matrix instructions share.

Lane ``l``, register ``r``; ``rows`` is 16 or 32. An operand has its row in the lanes
and its share of K in registers; an accumulator has its column in the lanes.
"""

from __future__ import annotations

from wave_core.symbols import Digit, Layout


def operand(dim: str, lanes: int, rows: int, registers: int) -> Layout:
    """Row ``l % rows``, K ``registers * (l // rows) + r``."""
    groups = lanes // rows
    return Layout.make(
        lanes,
        registers,
        {
            dim: [Digit(1, "lane", 1, rows)],
            "K": [
                Digit(registers, "lane", rows, groups),
                Digit(1, "reg", 1, registers),
            ],
        },
    )


def interleaved(dim: str, lanes: int, rows: int, registers: int, piece: int) -> Layout:
    """As `operand`, with K cut into pieces that go around the lane groups.

    K is ``piece * groups * (r // piece) + piece * (l // rows) + r % piece``: what a
    lane holds of an accumulator is then what it needs as an operand.
    """
    groups = lanes // rows
    return Layout.make(
        lanes,
        registers,
        {
            dim: [Digit(1, "lane", 1, rows)],
            "K": [
                Digit(piece, "lane", rows, groups),
                Digit(1, "reg", 1, piece),
                Digit(piece * groups, "reg", piece, registers // piece),
            ],
        },
    )


def replicated(dim: str, lanes: int, rows: int, registers: int) -> Layout:
    """Row ``l % rows``, K ``r``: every group of lanes holds the same."""
    return Layout.make(
        lanes,
        registers,
        {dim: [Digit(1, "lane", 1, rows)], "K": [Digit(1, "reg", 1, registers)]},
    )


def accumulator(lanes: int, columns: int, registers: int) -> Layout:
    """M ``registers * (l // columns) + r``, N ``l % columns``."""
    groups = lanes // columns
    return Layout.make(
        lanes,
        registers,
        {
            "M": [
                Digit(registers, "lane", columns, groups),
                Digit(1, "reg", 1, registers),
            ],
            "N": [Digit(1, "lane", 1, columns)],
        },
    )


def accumulator_32() -> Layout:
    """M ``8 * (r // 4) + 4 * (l // 32) + r % 4``, N ``l % 32``; wave64."""
    return Layout.make(
        64,
        16,
        {
            "M": [
                Digit(4, "lane", 32, 2),
                Digit(1, "reg", 1, 4),
                Digit(8, "reg", 4, 4),
            ],
            "N": [Digit(1, "lane", 1, 32)],
        },
    )


def strided_accumulator(lanes: int, columns: int, registers: int) -> Layout:
    """M ``(l // columns) + groups * r``, N ``l % columns``."""
    groups = lanes // columns
    return Layout.make(
        lanes,
        registers,
        {
            "M": [
                Digit(1, "lane", columns, groups),
                Digit(groups, "reg", 1, registers),
            ],
            "N": [Digit(1, "lane", 1, columns)],
        },
    )


def scales(dim: str, lanes: int, rows: int, blocks: int) -> Layout:
    """Row ``l % rows``, block of K ``l // rows``: one scale a lane."""
    groups = lanes // rows
    if groups >= blocks:
        column = [Digit(1, "lane", rows, blocks)]
        return Layout.make(lanes, 1, {dim: [Digit(1, "lane", 1, rows)], "K": column})
    return Layout.make(
        lanes,
        blocks,
        {dim: [Digit(1, "lane", 1, rows)], "K": [Digit(1, "reg", 1, blocks)]},
    )
