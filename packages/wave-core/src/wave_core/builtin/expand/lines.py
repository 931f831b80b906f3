"""What ops that go along a dimension have in common: the pieces of one line.

A line is what differs in the index along the dimension alone. The index is a sum of
digits, each of the register (or the step), of the lane or of the wave; each slot, the
registers of one offset, is a vector of its own, whose lanes hold the other digits.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from wave_core.builtin.distribute.placements import ids_of, project, restrict, starts
from wave_core.diagnostics import internal_error
from wave_core.ir import PLACEMENT, Placement, clone_op
from wave_core.ops.compare import Select
from wave_core.ops.constant import LaneExpr, Splat
from wave_core.ops.reduce import Shuffle
from wave_core.ops.shape import Assemble
from wave_core.ops.structure import GetResult, Yield
from wave_core.symbols import Layout
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ops.base import Op
    from wave_core.ops.scan import Along
    from wave_core.symbols import Digit, Expr

Values: TypeAlias = "tuple[Op, ...]"
"""A vector for each source; where elements may not exist, one more that says so."""

_BOOL = DTYPES["bool"]


def lines_of(expander: Expander, op: Along) -> list[list[Ids]]:
    """The pieces that follow one another along the dim, for each other step."""
    whole = expander.placement(op.sources[0])
    kept = project(whole, set(op.sources[0].register_type.dims) - {str(op.dim)})
    lines: dict[Ids, list[Ids]] = {}
    for ids in ids_of(whole):
        lines.setdefault(restrict(ids, whole, kept), []).append(ids)
    return list(lines.values())


class Line:
    """The pieces of one line, and ops on them."""

    def __init__(
        self, expander: Expander, op: Along, line: list[Ids], scope: Scope
    ) -> None:
        self._expander, self._op, self._scope = expander, op, scope
        self._geometry = expander.geometry
        self._dim = str(op.dim)
        self._line = line
        self._whole = expander.placement(op.sources[0])
        self._layout = self._whole.layout
        self._row = Placement(self._layout.drop((self._dim,)))
        self._conditions: dict[Expr, Op] = {}

    def _pieces(self) -> list[Values]:
        """The vectors of each piece, and where its elements may not exist."""
        op, expander, scope = self._op, self._expander, self._scope
        if op.identity:
            filled = list(zip(op.sources, op.identity, strict=True))
            return [
                tuple(
                    expander.masked_piece(op, value, ids, (self._dim,), filler, scope)
                    for value, filler in filled
                )
                for ids in self._line
            ]
        masks = [self._mask(ids) for ids in self._line]
        found = [
            tuple(expander.piece(value, ids, scope) for value in op.sources)
            for ids in self._line
        ]
        if any(mask is not None for mask in masks):
            rows = zip(found, masks, strict=True)
            found = [(*values, self._existing(mask)) for values, mask in rows]
        return found

    def _mask(self, ids: Ids) -> Expr | None:
        expander, source = self._expander, self._op.sources[0]
        placement = expander.piece_placement(source, ids, self._scope)
        return expander.existence.mask(placement, (self._dim,), self._scope)

    def _existing(self, mask: Expr | None) -> Op:
        shape = self._op.sources[0].register_type.shape
        exists = Splat(shape, _BOOL, value=True)
        if mask is not None:
            exists = LaneExpr(mask, shape, _BOOL)
        return self._emit(exists, Placement(self._layout))

    def _slots(self) -> dict[int, list[tuple[int, int]]]:
        """By offset along the dim the elements that have it: piece and register."""
        slots: dict[int, list[tuple[int, int]]] = {}
        for number, ids in enumerate(self._line):
            start = starts(self._whole, ids).get(self._dim, 0)
            for register in range(self._layout.registers):
                at = start + self._layout.offset(self._dim, 0, register)
                slots.setdefault(at, []).append((number, register))
        return slots

    def _elements(self) -> dict[int, Values]:
        """By offset along the dim a vector of the registers that have it."""
        pieces = self._pieces()
        return {
            at: tuple(
                self._emit(
                    Assemble(
                        (value,),
                        tuple((0, register) for _, register in where),
                        value.register_type.shape,
                    )
                )
                for value in pieces[where[0][0]]
            )
            for at, where in self._slots().items()
        }

    def _filled(self) -> Values:
        """Vectors of the numbers that stand for no element."""
        kinds = [source.register_type for source in self._op.sources]
        return tuple(
            self._emit(Splat(kind.shape, kind.dtype, number))
            for kind, number in zip(kinds, self._op.identity, strict=True)
        )

    def _levels(self) -> list[tuple[int, int | Digit]]:
        """The digits of the dim; of registers and steps their count is enough."""
        levels: list[tuple[int, int | Digit]] = [
            (part.coeff, part if part.source == "lane" else part.mod)
            for digit in self._layout.digits(self._dim)
            for part in self._cut(digit)
        ]
        levels += [
            (extent, count)
            for dim, count, extent in self._whole.steps
            if dim == self._dim
        ]
        levels.sort(key=itemgetter(0))
        reach = 1
        for coefficient, digit in levels:
            if coefficient < reach:
                raise internal_error("WV9903", f"elements of `{self._dim}` overlap")
            reach += coefficient * (
                (digit if isinstance(digit, int) else digit.mod) - 1
            )
        return levels

    def _cut(self, digit: Digit) -> tuple[Digit, ...]:
        """A digit of lanes as that of those a shuffle reaches, and the others."""
        lanes = digit.source == "lane"
        return digit.cut(self._geometry.in_reach) if lanes else (digit,)

    def _define(self, elements: Mapping[int, Values]) -> None:
        """Put the elements back into the vectors of the pieces."""
        place = {
            item: (at, number)
            for at, where in self._slots().items()
            for number, item in enumerate(where)
        }
        results = [user for user in self._op.users if isinstance(user, GetResult)]
        for number, ids in enumerate(self._line):
            found = [place[number, r] for r in range(self._layout.registers)]
            used = list(dict.fromkeys(at for at, _ in found))
            picks = tuple((used.index(at), register) for at, register in found)
            for result in results:
                shape = result.register_type.shape
                vectors = tuple(elements[at][result.position] for at in used)
                vector = self._emit(
                    Assemble(vectors, picks, shape), Placement(self._layout)
                )
                self._expander.define(result, ids, vector, self._scope)

    def _inlined(self, elements: Values) -> Values:
        """What the body of the op yields for these vectors."""
        body, given = self._op.body, iter(elements)
        known: dict[Op, Op] = {}
        for argument in body.arguments:
            captured = argument.role == "capture"
            known[argument] = (
                self._expander.piece(argument, (), self._scope)
                if captured
                else next(given)
            )
        for op in body.ops:
            if isinstance(op, Yield):
                return tuple(known[value] for value in op.values)
            new = clone_op(op, known, self._scope.region)
            row = self._row if op.register_type.dims else self._uniform
            known[op] = self._emit(new, row)
        raise internal_error("WV9903", "a body has no end")

    def _moved(self, values: Values, offset: int, mode: str) -> Values:
        near = self._geometry.in_reach
        width = near if offset < near else self._geometry.lanes
        return tuple(self._emit(Shuffle(v, offset, width, mode)) for v in values)

    def _where(self, condition: Expr, yes: Values, no: Values) -> Values:
        if condition.is_constant:
            return yes if condition.constant_value else no
        if condition not in self._conditions:
            self._conditions[condition] = self._emit(
                LaneExpr(condition, (), _BOOL), self._uniform
            )
        chosen = self._conditions[condition]
        return tuple(
            self._emit(Select(chosen, one, other))
            for one, other in zip(yes, no, strict=True)
        )

    @property
    def _uniform(self) -> Placement:
        """The placement of a value without dims."""
        return Placement(Layout.make(self._layout.lanes, 1, {}))

    def _emit(self, op: Op, row: Placement | None = None) -> Op:
        self._expander.emit(self._op, op, self._scope)
        self._expander.graph.facts.put(PLACEMENT, op, row or self._row)
        return op


def doubling(count: int) -> Iterator[int]:
    """1, 2, 4, ... below ``count``."""
    distance = 1
    while distance < count:
        yield distance
        distance *= 2
