"""What allocation and order ask of machine code: operations on values, in blocks.

A value may be defined more than once: what a loop carries is one value, defined before
the loop and in it. An operand that has to be the register of the result is a value that
the operation both uses and defines; a copy in front of it keeps the old one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

UNNAMED = "a value"
"""The text of a value that nobody has named."""


class Value(Hashable, Protocol):
    """Consecutive registers that hold one thing.

    Attributes:
        files: where it may live, by preference: ``"v"``, ``"a"``, ``"s"``.
        width: registers.
        align: the number of its first register is a multiple of this.
    """

    @property
    def files(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def width(self) -> int: ...  # noqa: D102
    @property
    def align(self) -> int: ...  # noqa: D102


class Part(NamedTuple):
    """Some registers of a value."""

    value: Value
    first: int
    width: int


Register = tuple[Value, int]
"""One register of a value, by its number."""


def registers_of(parts: Iterable[Part]) -> list[Register]:
    """The registers of some parts, one by one."""
    return [
        (value, number)
        for value, first, width in parts
        for number in range(first, first + width)
    ]


def whole(value: Value) -> Part:
    """All of a value."""
    return Part(value, 0, value.width)


class Operation(Protocol):
    """One instruction before registers are known.

    Attributes:
        defines: what it writes.
        uses: what it reads.
        copies: it does nothing but define its first result as its first operand.
        early: it writes results before it has read its operands, as products do.
        source: the line of the author, for messages.
    """

    @property
    def defines(self) -> Sequence[Part]: ...  # noqa: D102
    @property
    def uses(self) -> Sequence[Part]: ...  # noqa: D102
    @property
    def copies(self) -> bool: ...  # noqa: D102
    @property
    def early(self) -> bool: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Block:
    """Operations that run one after the other.

    Attributes:
        operations: in their order.
        following: numbers of the blocks that may come next.
        depth: loops around it.
    """

    operations: tuple[Operation, ...]
    following: tuple[int, ...] = ()
    depth: int = 0
