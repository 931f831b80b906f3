"""Several iterations of a loop in one trip, and a loop for what is left over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.symbol_uses import mentions
from wave_core.ir import (
    capture,
    captured_value,
    clone_into,
    clone_op,
    region_of,
    set_attributes,
    set_operands,
    walk_op,
)
from wave_core.ir.rewrite import carry, end_region
from wave_core.ops.control import Iterate, symbols_set_by
from wave_core.symbols import as_expr, floordiv, mod
from wave_passes_scheduling.rebuild.shift import results_of, retire, substitute_symbols

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts


@dataclass(frozen=True)
class UnrolledLoop:
    """The result of rebuilding a loop.

    Attributes:
        loop: The loop whose trips do several iterations each.
        copies: For each of these iterations, by op of the old body its copy.
        remainder: The loop that does the iterations that fill no trip; ``None`` where
            there surely are none.
    """

    loop: Iterate
    copies: tuple[Mapping[Op, Op], ...]
    remainder: Iterate | None


def unroll_loop(loop: Iterate, factor: int, facts: Facts) -> UnrolledLoop | None:
    """Replace a loop by one whose trips do ``factor`` iterations each.

    Iterations keep their order, so this is right for every loop in which none sees a
    symbol that the one before has set. The new loop counts its trips from 0. Where
    ``facts`` do not prove that ``factor`` divides the number of iterations, a copy of
    the loop follows and does the rest.

    Returns:
        What the loop became; ``None`` where it surely fills no trip, where ``factor``
        is 1, or where there is a `symbol_from_before`: then nothing happens.
    """
    assert loop.count is not None, "loops are numbered"
    assert loop.induction is not None, "loops are numbered"
    count = as_expr(loop.count)
    if factor == 1 or facts.prove_nonnegative(factor - 1 - count):
        return None
    if symbol_from_before(loop) is not None:
        return None
    trips = floordiv(count, factor)
    unrolled, copies = _unrolled(loop, loop.induction, factor, trips)
    results, remainder = results_of(unrolled, loop), None
    if not facts.prove_divisible(count, factor):
        remainder = _remainder(loop, results, trips * factor, mod(count, factor))
        results = results_of(remainder, loop)
    retire(loop, results)
    return UnrolledLoop(unrolled, copies, remainder)


def symbol_from_before(loop: Iterate) -> Expr | None:
    """A symbol that a body uses as it is before the loop, and then sets for itself."""
    graph, ops = region_of(loop).graph, [*loop.body.ops]
    for at, op in enumerate(ops):
        for symbol in symbols_set_by(op):
            inside = (each for before in ops[:at] for each in walk_op(before))
            if any(mentions(graph, each, frozenset({symbol})) for each in inside):
                return symbol
    return None


def _unrolled(
    loop: Iterate, induction: Expr, factor: int, trips: Expr
) -> tuple[Iterate, tuple[Mapping[Op, Op], ...]]:
    body = region_of(loop).graph.region()
    attributes = {**loop.attributes, "count": trips, "start": 0, "step": 1}
    made = Iterate.build(((), ()), attributes, (body,))
    made.location, made.tags = loop.location, loop.tags
    region_of(loop).insert_before(loop, made)
    arguments = loop.body.arguments[: len(loop.inits)]
    carried: Sequence[Op] = [carry(body, argument) for argument in arguments]
    copies: list[Mapping[Op, Op]] = []
    for number in range(factor):
        value = (induction * factor + number) * loop.step + loop.start
        carried, copy = _iteration(loop, body, carried, {induction: value})
        copies.append(copy)
    end_region(body, carried, loop)
    set_operands(made, (tuple(loop.inits), made.captures))
    return made, tuple(copies)


def _iteration(
    loop: Iterate, body: Region, carried: Sequence[Op], value: Mapping[Expr, Expr | int]
) -> tuple[list[Op], dict[Op, Op]]:
    """Append one iteration; what it yields, and the copies of its ops."""
    old = loop.body
    outer = old.arguments[len(carried) :]
    values: dict[Op, Op] = dict(zip(old.arguments, carried, strict=False))
    values |= {each: capture(body, captured_value(loop, each)) for each in outer}
    copies: dict[Op, Op] = {}
    for op in old.ops:
        if op is not old.terminator:
            copies[op] = clone_into(op, values, body)
            substitute_symbols(copies[op], value)
    return [values[value] for value in old.end.operands], copies


def _remainder(loop: Iterate, inits: Sequence[Op], done: Expr, count: Expr) -> Iterate:
    """A copy of the loop that starts after ``done`` iterations."""
    region = region_of(loop)
    copy = clone_op(loop, {}, region)
    region.insert_before(loop, copy)
    set_operands(copy, (tuple(inits), loop.captures))
    set_attributes(copy, start=loop.start + done * loop.step, count=count)
    return copy
