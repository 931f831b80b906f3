"""Removes what nothing uses; what an op does to memory decides, not its users alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeGuard

from wave_core.ir.graph import Region, captured_value, region_of
from wave_core.ir.rewrite import erase, set_attributes, set_operands
from wave_core.ops import EffectKind, Op, Trait
from wave_core.ops.control import Conditional, Iterate, Loop, While
from wave_core.ops.structure import Argument, GetResult

if TYPE_CHECKING:
    from wave_core.ir.graph import Graph

_HARMLESS = frozenset({EffectKind.READ, EffectKind.ALLOCATE})


def eliminate_dead_code(graph: Graph) -> int:
    """Remove what nothing needs; the number of ops, arguments included."""
    live = _Liveness(graph.body)
    return _sweep(graph.body, live)


def is_removable(op: Op) -> bool:
    """Whether an op without regions may go when nobody uses its value."""
    if op.has(Trait.PURE):
        return True
    if op.has(Trait.ORDERED) or op.has(Trait.TERMINATOR):
        return False
    effects = op.effects()
    return bool(effects) and all(effect.kind in _HARMLESS for effect in effects)


class _Liveness:
    """Everything that effects need, directly or not."""

    def __init__(self, body: Region) -> None:
        self.ops: set[Op] = set()
        self.positions: set[tuple[Op, int]] = set()
        """Results of ops with regions that are needed, by position."""
        self._work: list[Op] = []
        self._add_roots(body)
        while self._work:
            self._needed_by(self._work.pop())

    def _add_roots(self, region: Region) -> bool:
        found = False
        for op in region.ops:
            if op.has(Trait.TERMINATOR) and region.parent is not None:
                # The terminator of a dead loop keeps nothing alive.
                continue
            nested = [self._add_roots(inner) for inner in op.regions]
            if any(nested) if op.regions else not is_removable(op):
                self._need(op)
                found = True
        return found

    def _need(self, op: Op) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self._work.append(op)

    def _needed_by(self, op: Op) -> None:
        if isinstance(op, GetResult):
            self._need(op.source)
            if is_structured(op.source):
                self._need_result(op.source, op.position)
        elif isinstance(op, Argument):
            self._need_argument(op)
        elif is_structured(op):
            if isinstance(op, Conditional) and op.condition is not None:
                self._need(op.condition)
            if isinstance(op, While):
                for position in range(len(op.symbols) or op.by_lane):
                    self._need_result(op, position)
            self._need_terminators(op)
        elif op.has(Trait.TERMINATOR) and is_structured(region_of(op).parent):
            # Its operands are needed position by position.
            return
        else:
            for value in op.operands:
                self._need(value)
            self._need_terminators(op)

    def _need_terminators(self, op: Op) -> None:
        for region in op.regions:
            if region.terminator is not None:
                self._need(region.terminator)

    def _need_argument(self, argument: Argument) -> None:
        parent = region_of(argument).parent
        if parent is None:
            return
        self._need(parent)
        if argument.role == "capture":
            self._need(captured_value(parent, argument))
        elif is_structured(parent):
            self._need_result(parent, region_of(argument).arguments.index(argument))

    def _need_result(self, op: Op, position: int) -> None:
        if (op, position) in self.positions:
            return
        self.positions.add((op, position))
        terminator = op.regions[0].terminator
        if terminator is not None:
            self._need(terminator.operands[position])
        if isinstance(op, Iterate | While):
            self._need(op.inits[position])
            # The next iteration starts from it.
            self._need(op.regions[0].arguments[position])
        elif isinstance(op, Conditional):
            self._need(op.else_values[position])


def is_structured(op: Op | None) -> TypeGuard[Loop | Conditional]:
    """Whether the results of ``op`` are needed one by one."""
    return isinstance(op, Iterate | While | Conditional)


def _sweep(region: Region, live: _Liveness) -> int:
    removed = 0
    for op in reversed(list(region.ops)):
        if op not in live.ops:
            erase(op)
            removed += 1
            continue
        if is_structured(op):
            # The yielded values that go may be the last users of ops inside.
            removed += _drop_results(op, live)
        for nested in op.regions:
            removed += _sweep(nested, live)
        if is_structured(op):
            removed += _drop_arguments(op, live)
    return removed


def _drop_results(op: Loop | Conditional, live: _Liveness) -> int:
    region = op.regions[0]
    terminator = region.terminator
    if terminator is None:
        return 0
    values = terminator.operands
    kept = [i for i in range(len(values)) if (op, i) in live.positions]
    if len(kept) == len(values):
        return 0
    set_operands(terminator, (_pick(values, kept),))
    if isinstance(op, Conditional):
        _set_operand(op, "else_values", _pick(op.else_values, kept))
    for user in op.users:
        if isinstance(user, GetResult):
            set_attributes(user, position=kept.index(user.position))
    return len(values) - len(kept)


def _drop_arguments(op: Loop | Conditional, live: _Liveness) -> int:
    """Drop carried values that are not needed and captures that nobody uses."""
    region = op.regions[0]
    arguments = region.arguments
    carried = [a for a in arguments if a.role == "carried"]
    captures = [a for a in arguments if a.role == "capture"]
    if isinstance(op, Iterate | While):
        kept = [i for i in range(len(carried)) if (op, i) in live.positions]
        _set_operand(op, "inits", _pick(op.inits, kept))
    kept = [i for i, argument in enumerate(captures) if argument.users]
    _set_operand(op, "captures", _pick(op.captures, kept))
    dropped = [i for i, a in enumerate(arguments) if not _stays(a, op, i, live)]
    for position in reversed(dropped):
        region.remove_argument(position)
    return len(dropped)


def _stays(
    argument: Argument, op: Loop | Conditional, position: int, live: _Liveness
) -> bool:
    if argument.role == "capture":
        return bool(argument.users)
    return (op, position) in live.positions


def _set_operand(op: Op, name: str, values: tuple[Op, ...]) -> None:
    position = [f.name for f in op.operand_fields].index(name)
    slots = list(op.slots)
    if slots[position] != values:
        slots[position] = values
        set_operands(op, slots)


def _pick(values: tuple[Op, ...], positions: Iterable[int]) -> tuple[Op, ...]:
    return tuple([values[position] for position in positions])
