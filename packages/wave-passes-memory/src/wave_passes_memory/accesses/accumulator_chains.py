"""Accumulator chains: the values that the sum of a matrix op runs through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import captured_value, region_of
from wave_core.ops.constant import Splat
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read, Write
from wave_core.ops.structure import Argument, GetResult, Yield
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


class AccumulatorChain:
    """Values that must have one order of dims, because one becomes the other.

    Attributes:
        dims: Rows and columns of the matrix op that the chain was found from.
        values: All values of the chain.
        writes: The writes of some of them.
        closed: Whether nothing else uses a value, or makes one.
    """

    def __init__(self, start: Mma) -> None:
        roles = start.contraction()
        self.dims: tuple[Expr, Expr] = (roles.m, roles.n)
        self.values: dict[Op, None] = {}
        self.writes: dict[Write, None] = {}
        self.closed = True
        waiting: list[Op] = [start]
        while waiting and self.closed:
            value = waiting.pop()
            if value not in self.values:
                self.values[value] = None
                waiting.extend(self._sources(value))
                for user in value.users:
                    waiting.extend(self._beyond(value, user))

    def _sources(self, value: Op) -> Iterator[Op]:
        """The values of the chain that one is made from."""
        if isinstance(value, Mma):
            yield value.acc
        elif isinstance(value, GetResult):
            yield from self._carried(value.source, value.position)
        elif isinstance(value, Argument):
            yield from self._entering(value)
        elif value.has(Trait.ELEMENTWISE):
            yield from self._operands(value)
        elif not isinstance(value, Splat | Read):
            self.closed = False

    def _beyond(self, value: Op, user: Op) -> Iterator[Op]:
        """The values of the chain that ``user`` makes of one."""
        if isinstance(user, Write):
            self.writes[user] = None
        elif isinstance(user, Mma):
            self.closed = self.closed and value not in (user.lhs, user.rhs)
            yield user
        elif isinstance(user, Yield):
            yield from self._yielded(value, user)
        elif isinstance(user, Iterate):
            for position, init in enumerate(user.inits):
                if init is value:
                    yield from self._carried(user, position)
            yield from self._captures(value, user)
        elif user.has(Trait.ELEMENTWISE):
            yield user
        else:
            self.closed = False

    def _operands(self, op: Op) -> Iterator[Op]:
        """The operands that are tiles of both dims; others must be free to follow."""
        for value in op.operands:
            kind = value.register_type
            if set(self.dims) <= set(kind.shape):
                yield value
            elif kind.shape and not isinstance(value, Read):
                self.closed = False

    def _carried(self, loop: Op, position: int) -> Iterator[Op]:
        """All that stands for one carried value of a loop."""
        if not isinstance(loop, Iterate):
            self.closed = False
            return
        yield loop.inits[position]
        body = loop.body
        yield list(body.arguments)[position]
        yield body.end.operands[position]
        for user in loop.users:
            if isinstance(user, GetResult) and user.position == position:
                yield user

    def _yielded(self, value: Op, end: Yield) -> Iterator[Op]:
        parent = region_of(end).parent
        assert parent is not None, "a kernel yields nothing"
        for position, found in enumerate(end.values):
            if found is value:
                yield from self._carried(parent, position)

    def _captures(self, value: Op, loop: Iterate) -> Iterator[Op]:
        body = loop.body
        for argument in body.arguments:
            if argument.role == "capture" and captured_value(loop, argument) is value:
                yield argument

    def _entering(self, argument: Argument) -> Iterator[Op]:
        region = region_of(argument)
        parent = region.parent
        if not isinstance(parent, Iterate):
            self.closed = False
        elif argument.role == "capture":
            yield captured_value(parent, argument)
        else:
            yield from self._carried(parent, list(region.arguments).index(argument))
