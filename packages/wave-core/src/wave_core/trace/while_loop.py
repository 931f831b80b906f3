"""Loops that run as long as a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops.constant import Scalar
from wave_core.ops.control import SetSymbol, While
from wave_core.symbols import Facts, as_expr
from wave_core.trace.body import results_of
from wave_core.trace.operands import ITER_ARG, as_op
from wave_core.types import DTYPES, RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.trace.body import Results, TracedBody
    from wave_core.trace.tracer import Tracer


class TracedWhile:
    """A while loop being traced.

    Attributes:
        named: The values that the condition uses, by the symbols that name them.
        positions: Which of the author's values each of them is; ``None`` for where
            the loop stands along its axis.
    """

    def __init__(
        self,
        tracer: Tracer,
        body: TracedBody,
        axis: Expr | None,
        inits: tuple[Op, ...],
    ) -> None:
        """Prepare the loop over ``axis`` that carries ``inits``."""
        self.tracer = tracer
        self.body = body
        self.axis = axis
        self.inits = inits
        self.location = body.location
        self.where, self._name = tracer.loop_symbols(axis)
        self.named: dict[Expr, Op] = {}
        self.positions: list[int | None] = []
        self._stands = self.where

    def emit(self, start: Any, condition: Any, tags: frozenset[str]) -> Results:
        """Trace the body; the loop's results."""
        if self.axis is not None:
            self._add(self.where, self._first(0 if start is None else start), None)
        relation = self._relation(condition)
        first = tuple(self.named.values())
        region = self.body.region_for(self.inits, first)
        op = While(
            inits=(*first, *self.inits),
            captures=(),
            condition=relation,
            symbols=tuple(self.named),
            axis=self.axis,
            body=region,
        )
        tracer, at = self.tracer, self.location
        tracer.emit(op, at, tags)
        own = region.arguments[len(first) :]
        with tracer.along(self.axis, self.where, region, at):
            self.body.trace(region, self.inits, own, self._next(region))
        self._check_end(op, relation)
        return results_of(tracer, op, range(len(first), len(op.inits)), at)

    def _add(self, symbol: Expr, value: Op, position: int | None) -> None:
        self.named[symbol] = value
        self.positions.append(position)

    def _first(self, start: Any) -> Op:
        """Where the loop starts, as a scalar."""
        tracer, at = self.tracer, self.location
        op = as_op(tracer, start, DTYPES["i32"], "`start` of `iterate`", at)
        return self._scalar(op, "`start`")

    def _scalar(self, op: Op, role: str) -> Op:
        kind = op.type
        if isinstance(kind, RegisterType) and kind.dtype.is_integer and not kind.shape:
            return op
        raise user_error(
            "WV0141",
            f"{role} of a while loop is no integer scalar",
            at=self.location,
            label="one number decides for the whole wave",
            secondary=((op.location, f"this is {kind}"),),
            help=(
                "write `scalar(value, i32)`, or `cast` a scalar to i32",
                "from a tile: `set_symbol(sym.X, tile)`, then `scalar(sym.X, i32)`",
            ),
        )

    def _relation(self, condition: Any) -> Expr:
        """The condition, in terms of the loop's own symbols."""
        expr = self.tracer.expression(condition, self.location)
        own: dict[Expr, Expr | int] = {}
        for used in sorted(expr.free_symbols, key=str):
            if used.name.startswith(ITER_ARG):
                own[used] = self._carried(int(used.name.removeprefix(ITER_ARG)))
            elif used is self.axis:
                own[used] = self.where
        return self.tracer.number(expr.subs(own), self.location)

    def _carried(self, position: int) -> Expr:
        if position >= len(self.inits):
            raise user_error(
                "WV0141",
                f"`GET_ITER_ARG({position})` of a loop that carries "
                f"{len(self.inits)} values",
                at=self.location,
                label="counted from 0, in the order of `init_args`",
                help="give the value in `init_args`, and return its next one",
            )
        value = self._scalar(self.inits[position], f"`GET_ITER_ARG({position})`")
        self._add(self._name(position), value, position)
        return self._name(position)

    def _next(self, region: Region) -> Callable[[tuple[Op, ...]], Sequence[Op]]:
        """The next named values, from the values that the body returns."""

        def found(results: tuple[Op, ...]) -> Sequence[Op]:
            return [
                self._stands_next(region) if position is None else results[position]
                for position in self.positions
            ]

        return found

    def _stands_next(self, region: Region) -> Op:
        """Where the loop stands after an iteration."""
        argument = region.arguments[0]
        following = self.tracer.number(self.axis, self.location)
        last = [
            op
            for op in region.ops
            if isinstance(op, SetSymbol) and op.symbol is following
        ]
        if not last:
            return argument
        dtype, given = argument.register_type.dtype, last[-1].value.register_type.dtype
        if given.bits > dtype.bits:
            raise user_error(
                "WV0109",
                f"the next `{self.axis}` is {given}, the first one {dtype}",
                at=last[-1].location,
                label=f"this is {given}",
                secondary=((self.location, f"starts with {dtype}"),),
                help=f"start with `scalar(0, {given})`, or `cast` the next to {dtype}",
            )
        known = _expression(last[-1].value)
        self._stands = following if known is None else known
        return self.tracer.emit(Scalar(following, dtype), self.location)

    def _check_end(self, op: While, relation: Expr) -> None:
        """Refuse a loop whose condition stays as it is.

        Raises:
            UserError: WV0140.
        """
        arguments, first = op.body.arguments, len(op.symbols)
        now = [
            arguments[0 if position is None else first + position]
            for position in self.positions
        ]
        rows = zip(op.symbols, now, op.body.end.operands, strict=False)
        changed = {symbol: new for symbol, old, new in rows if new is not old}
        never = relation.is_constant and not relation.constant_value
        moved = not relation.free_symbols.isdisjoint(changed)
        if (never and op.symbols) or (moved and not self._goes_on(relation, changed)):
            return
        axis = "" if self.axis is None else f"`set_symbol({self.axis}, next)`, or "
        what = "ends its condition" if moved else "changes its condition"
        raise user_error(
            "WV0140",
            f"a while loop cannot end: no iteration {what}",
            at=self.location,
            label="holds for ever, if it holds once",
            secondary=(
                (
                    self.body.where,
                    "after this body it holds again"
                    if moved
                    else "this body changes nothing in it",
                ),
            ),
            notes=_ALWAYS if relation.is_constant else (),
            help=f"{axis}return another value for what `GET_ITER_ARG` names",
        )

    def _goes_on(self, relation: Expr, changed: Mapping[Expr, Op]) -> bool:
        """Whether the condition provably holds after any iteration it held before."""
        following: dict[Expr, Expr | int] = {}
        for symbol, op in changed.items():
            found = self._stands if symbol is self.where else _expression(op)
            if found is None:
                return False
            following[symbol] = found
        known = Facts().with_assumption(relation)
        return known.prove(relation.subs(following))


def _expression(op: Op) -> Expr | None:
    """The number that a scalar is, as far as the trace knows it."""
    if not isinstance(op, Scalar) or isinstance(op.value, float):
        return None
    return as_expr(op.value)


_ALWAYS = ("the condition is a constant: symbols such as `sym.X` are never negative",)
