"""Contracted elements may come in any order, as long as both operands agree.

Where one operand of a matrix op already sits in a layout that differs from what the
instruction asks for only in the order of the contracted dimension, and the other
operand can be had in any layout, the order is pushed into that one: nothing moves.
(The scores of attention feed its second product this way.)
"""

from __future__ import annotations

from dataclasses import replace
from math import lcm, prod
from typing import TYPE_CHECKING

from wave_core.ir import Placement
from wave_core.symbols import Digit, Layout

if TYPE_CHECKING:
    from wave_core.builtin.distribute.matrix import MatrixPlacements

Run = tuple[int, int]
"""A stretch of registers: the step between elements, and how many there are."""


def permuted(rows: MatrixPlacements, have: Placement) -> MatrixPlacements | None:
    """The demands of a matrix op with K in the order of ``have``.

    ``have`` is the placement that lhs or rhs sits in. ``None`` where it differs
    from the demand in more than the order of K.
    """
    k = rows.roles.k
    if k not in have.layout.dims:
        return None
    want = rows.rhs if rows.roles.n in have.layout.dims else rows.lhs
    lanes = _lane_order(want.layout, have.layout, k)
    inner = prod(d.mod for d in want.layout.reg_digits(k))
    order = _split(_register_runs(have, k), inner)
    if lanes is None or order is None or not _same_elsewhere(want, have, k):
        return None
    runs, step = order
    return replace(
        rows,
        lhs=_reordered(rows.lhs, k, lanes, runs, step),
        rhs=_reordered(rows.rhs, k, lanes, runs, step),
    )


def in_runs(rows: MatrixPlacements, least: int) -> MatrixPlacements | None:
    """The demands of a matrix op with all that a lane has of K side by side.

    Steps are added until that is a multiple of ``least`` elements. ``None`` where lhs
    and rhs do not have K in the same digits.
    """
    k = rows.roles.k
    step, order = _run_order(rows.lhs, k, least)
    if (step, order) != _run_order(rows.rhs, k, least):
        return None
    lhs, rhs = (_recounted(want, k, step, order) for want in (rows.lhs, rows.rhs))
    return replace(rows, lhs=lhs, rhs=rhs)


def _run_order(
    want: Placement, k: str, least: int
) -> tuple[Run, dict[tuple[str, int], int]]:
    """The run of the steps of K, and what each digit counts by source and old count."""
    weights: dict[tuple[str, int], int] = {}
    weight = 1
    for digit in want.layout.reg_digits(k):
        weights[digit.source, digit.coeff] = weight
        weight *= digit.mod
    most = next((count for dim, count, _ in want.steps if dim == k), 1)
    whole = lcm(weight, least) // weight
    step = weight, -(-most // whole) * whole
    weight = prod(step)
    for digit in want.layout.lane_digits(k):
        weights[digit.source, digit.coeff] = weight
        weight *= digit.mod
    return step, weights


def _recounted(
    want: Placement, k: str, step: Run, order: dict[tuple[str, int], int]
) -> Placement:
    layout = want.layout
    digits = {dim: list(row) for dim, row in layout.table}
    digits[k] = [
        Digit(order[d.source, d.coeff], d.source, d.div, d.mod)
        for d in layout.digits(k)
    ]
    made = Layout.make(layout.lanes, layout.registers, digits)
    return Placement(made, _steps(want, k, step))


def _steps(want: Placement, k: str, step: Run) -> tuple[tuple[str, int, int], ...]:
    """The steps of ``want``, with others along K."""
    extent, count = step
    own = [(k, count, extent)] if count > 1 else []
    return tuple(sorted([*(row for row in want.steps if row[0] != k), *own]))


def _lane_order(
    want: Layout, have: Layout, k: str
) -> dict[tuple[int, int], int] | None:
    """For each lane digit of K the coefficient that ``have`` gives it."""
    wanted = {(d.div, d.mod) for d in want.lane_digits(k)}
    found = {(d.div, d.mod): d.coeff for d in have.lane_digits(k)}
    return found if wanted == found.keys() else None


def _register_runs(have: Placement, k: str) -> list[Run]:
    """The registers of K in ``have``, through all steps, innermost first.

    A stretch that goes on where another ends is one with it.
    """
    runs = [(d.coeff, d.mod) for d in have.layout.reg_digits(k)]
    runs += [(extent, count) for dim, count, extent in have.steps if dim == k]
    joined: list[Run] = []
    for step, count in sorted(runs):
        if joined and prod(joined[-1]) == step:
            before, others = joined.pop()
            joined.append((before, others * count))
        else:
            joined.append((step, count))
    return joined


def _split(runs: list[Run], inner: int) -> tuple[list[Run], Run | None] | None:
    """The runs of one step of ``inner`` registers, and the run of the steps."""
    taken: list[Run] = []
    rest = list(runs)
    while inner > 1:
        if not rest:
            return None
        step, count = rest.pop(0)
        part = min(count, inner)
        if count % part or inner % part:
            return None
        taken.append((step, part))
        inner //= part
        if count > part:
            rest.insert(0, (step * part, count // part))
    if len(rest) > 1:
        return None
    return taken, rest[0] if rest else None


def _same_elsewhere(want: Placement, have: Placement, k: str) -> bool:
    """Whether the lanes hold the same elements of the other dimensions."""
    dims = {*want.layout.dims, *have.layout.dims} - {k}
    return all(
        dim in want.layout.dims
        and dim in have.layout.dims
        and want.layout.lane_digits(dim) == have.layout.lane_digits(dim)
        for dim in dims
    )


def _reordered(
    want: Placement,
    k: str,
    lanes: dict[tuple[int, int], int],
    runs: list[Run],
    step: Run | None,
) -> Placement:
    layout = want.layout
    digits = {dim: list(layout.digits(dim)) for dim in layout.dims if dim != k}
    digits[k] = [Digit(coeff, "lane", div, mod) for (div, mod), coeff in lanes.items()]
    digits[k] += _placed(runs, [(d.div, d.mod) for d in layout.reg_digits(k)])
    reordered = Layout.make(layout.lanes, layout.registers, digits)
    return Placement(reordered, _steps(want, k, step or (1, 1)))


def _placed(runs: list[Run], slots: list[tuple[int, int]]) -> list[Digit]:
    """Digits of registers for runs, in the places that the digits of K have.

    ``slots`` are those places, innermost first: where each starts, and its extent.
    """
    found: list[Digit] = []
    rest = list(runs)
    for start, extent in sorted(slots):
        position = start
        while position < start * extent:
            coeff, count = rest.pop(0)
            part = min(count, start * extent // position)
            found.append(Digit(coeff, "reg", position, part))
            position *= part
            if count > part:
                rest.insert(0, (coeff * part, count // part))
    return found
