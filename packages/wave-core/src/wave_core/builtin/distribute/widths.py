"""Layouts of one register read as elements of two widths.

Elements that are cut or joined lie side by side in the registers of one lane, so the
register digits of the last dimension change, and what counts in them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from wave_core.ir import Placement
from wave_core.symbols import Digit, Layout

if TYPE_CHECKING:
    from wave_core.ops.shape import Bitcast


def result_of(op: Bitcast, value: Placement) -> Placement | None:
    """Where the result of ``op`` sits when its operand sits at ``value``."""
    dims = op.value.register_type.dims[-1:] + op.register_type.dims[-1:]
    return _rescaled(value, dims, Fraction(*op.ratio))


def operand_of(op: Bitcast, result: Placement) -> Placement | None:
    """Where the operand of ``op`` sits when its result sits at ``result``.

    ``None`` where a lane then holds a part of an element only.
    """
    dims = op.register_type.dims[-1:] + op.value.register_type.dims[-1:]
    return _rescaled(result, dims, 1 / Fraction(*op.ratio))


def _rescaled(
    placement: Placement, dims: tuple[str, ...], ratio: Fraction
) -> Placement | None:
    """``placement`` with ``ratio`` elements of the second dim for one of the first."""
    if ratio == 1:
        return placement
    old, new = dims
    layout = placement.layout
    run = next((d.mod for d in layout.digits(old) if _is_innermost(d)), 1) * ratio
    registers = layout.registers * ratio
    steps = [
        (new, count, extent * ratio) if dim == old else (dim, count, Fraction(extent))
        for dim, count, extent in placement.steps
    ]
    rows = {
        new if dim == old else dim: _scaled(digits, ratio, along=dim == old)
        for dim, digits in layout.table
    }
    factors = [factor for row in rows.values() for _, *pair in row for factor in pair]
    if not all(map(_is_whole, (run, registers, *factors, *_last(steps)))):
        return None
    found = {
        dim: [Digit(int(coeff), d.source, int(div), d.mod) for d, coeff, div in row]
        for dim, row in rows.items()
    }
    found.setdefault(new, []).append(Digit(1, "reg", 1, int(run)))
    made = Layout.make(layout.lanes, int(registers), found)
    return Placement(made, tuple(sorted((d, c, int(extent)) for d, c, extent in steps)))


def _is_whole(number: Fraction) -> bool:
    return number.denominator == 1


def _is_innermost(digit: Digit) -> bool:
    return (digit.source, digit.div, digit.coeff) == ("reg", 1, 1)


def _scaled(
    digits: tuple[Digit, ...], ratio: Fraction, *, along: bool
) -> list[tuple[Digit, Fraction, Fraction]]:
    """The digits but the innermost one, each with its new ``coeff`` and ``div``."""
    return [
        (
            digit,
            digit.coeff * (ratio if along else Fraction(1)),
            digit.div * (ratio if digit.source == "reg" else Fraction(1)),
        )
        for digit in digits
        if not (along and _is_innermost(digit))
    ]


def _last(steps: list[tuple[str, int, Fraction]]) -> list[Fraction]:
    return [extent for _, _, extent in steps]
