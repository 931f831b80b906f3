"""What a rule says to a code generator: one instruction at a time, in no one's text.

A backend implements `Instructions` in the text of its compiler. The words are those of
MLIR's dialects `arith` and `math`, whose meaning is written down for all of them:
https://mlir.llvm.org/docs/Dialects/ArithOps/ and https://mlir.llvm.org/docs/Dialects/MathOps/.
A backend emits and does not spell: one word may take it several instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from wave_core.diagnostics import Location
    from wave_core.types import DType


class Kind(NamedTuple):
    """The type of a register value: an item (see `element`) and how many of them."""

    item: str
    registers: int = 1


I1, I32, I64, F32 = Kind("i1"), Kind("i32"), Kind("i64"), Kind("f32")

INTEGER_WORDS = frozenset(
    {
        *("addi", "subi", "muli", "andi", "ori", "xori", "shli", "shrsi", "shrui"),
        *("divsi", "divui", "remsi", "remui", "floordivsi"),
        *("maxsi", "maxui", "minsi", "minui", "absi"),
    }
)
"""What `Instructions.apply` takes on integers, which wrap; truth values are 1 bit.

A distance of shifts is below the width. Divisors are neither 0 nor, for the least
number, -1.
"""

FLOAT_WORDS = frozenset(
    {
        *("addf", "subf", "mulf", "divf", "remf", "negf", "absf", "copysign"),
        *("maximumf", "minimumf", "floor", "ceil", "roundeven", "sqrt", "rsqrt"),
        *("exp", "exp2", "log", "log2", "log10", "powf", "cbrt", "erf", "erfc"),
        *("sin", "cos", "sinh", "tanh", "atan2"),
    }
)
"""What it takes on floats: f32 and f64, and the first five of these on f16 too.

``remf`` has the sign of the dividend and is exact. ``maximumf`` and ``minimumf`` are
NaN where either operand is, and 0 is above -0.
"""

CONVERSIONS = frozenset(
    {
        *("extf", "truncf", "extsi", "extui", "trunci", "bitcast"),
        *("sitofp", "uitofp", "fptosi", "fptoui"),
    }
)
"""What `Instructions.convert` does; ``truncf`` rounds to nearest, ties to even."""

PREDICATES = frozenset(
    {
        *("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
        *("oeq", "une", "olt", "ole", "ogt", "oge"),
    }
)
"""What `Instructions.compare` tests: of integers with a sign (s) or none (u), or of
floats, where with NaN the ordered ones (o) are false and ``une`` is true."""


class Instructions(Protocol):
    """Prints instructions and gives the names of their results.

    Regions lie in each other: the outermost open one is level 0. An instruction goes
    to the end of the innermost one, or of the one that ``level`` says: in front of what
    holds the inner regions, so in front of all its uses in there.
    """

    @property
    def level(self) -> int:
        """The depth of the innermost open region, from 0."""
        ...

    def once(self, key: Hashable, make: Callable[[], str], level: int) -> str:
        """The name under ``key`` in an open region; made where nobody asked before."""
        ...

    def holds(self, key: Hashable, level: int) -> bool:
        """Whether an open region has a name under ``key``."""
        ...

    def locate(self, location: Location | None) -> None:
        """Take a place in the user's program for what follows."""
        ...

    def constant(self, value: float, dtype: DType, count: int = 1) -> str:
        """A number in every element; known at every level. Integers wrap."""
        ...

    def apply(
        self,
        word: str,
        kind: Kind,
        *names: str,
        fast: bool = False,
        level: int | None = None,
    ) -> str:
        """A word of `INTEGER_WORDS` or `FLOAT_WORDS`: all operands are of one kind.

        Args:
            word: What to compute.
            kind: That of the operands and of the result.
            names: The operands.
            fast: Whether floats may be reordered and approximated; an extreme may then
                prefer the number to NaN, and ``exp2`` may flush denormals. NaN and
                infinities mean what they always do.
            level: The region; the innermost by default.
        """
        ...

    def compare(
        self,
        predicate: str,
        kind: Kind,
        one: str,
        other: str,
        level: int | None = None,
    ) -> str:
        """One of `PREDICATES` on two values of a kind: as many ``i1``."""
        ...

    def select(
        self,
        test: str,
        kind: Kind,
        one: str,
        other: str,
        *,
        tests: int | None = None,
        level: int | None = None,
    ) -> str:
        """``one`` where ``test`` holds, or ``other``.

        Args:
            test: One ``i1`` for all elements, or one for each.
            kind: That of both values.
            one: The value where it holds.
            other: The value elsewhere.
            tests: How many tests there are; as many as elements by default.
            level: The region; the innermost by default.
        """
        ...

    def convert(
        self,
        word: str,
        kind: Kind,
        item: str,
        name: str,
        level: int | None = None,
    ) -> str:
        """One of `CONVERSIONS`, element by element, from ``kind`` to another item."""
        ...

    def recast(self, kind: Kind, wanted: Kind, name: str) -> str:
        """The same bits as other elements; the first has the lowest bits."""
        ...

    def broadcast(self, kind: Kind, name: str) -> str:
        """A vector of ``kind`` with one scalar in every element."""
        ...

    def extract(self, kind: Kind, name: str, at: int) -> str:
        """One element of a vector of ``kind``."""
        ...

    def slice(self, kind: Kind, name: str, start: int, count: int) -> str:
        """``count`` neighbouring elements of a vector, two or more."""
        ...

    def insert(self, kind: Kind, into: str, name: str, at: int, count: int) -> str:
        """A vector of ``kind`` with other elements from ``at``: ``count`` of them."""
        ...

    def from_elements(self, kind: Kind, *names: str) -> str:
        """A vector of ``kind`` from its elements, each of them a scalar."""
        ...
