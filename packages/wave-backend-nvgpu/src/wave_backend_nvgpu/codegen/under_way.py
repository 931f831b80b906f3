"""Which products are under way, as the text of a kernel goes on.

A group of products ends where the code waits, where those of another instruction begin,
and where a region begins or ends. The sizes of the groups that may have been issued
last are kept for each way on which the text can be reached, so that a wait that may
leave a number of products knows how many groups these are at most.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen import warpgroup
from wave_backend_nvgpu.targets.warpgroup import MOST_GROUPS
from wave_core.backends.emission import Value
from wave_core.ir import resolve
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.sync import MemoryCounterWait

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from wave_backend_nvgpu.codegen.instructions import LlvmInstructions
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.targets import Target


@dataclass(frozen=True)
class Past:
    """Sizes of the groups issued last on one way, and whether these are all."""

    sizes: tuple[int, ...]
    whole: bool

    def groups(self, products: int) -> int:
        """The most groups at the end that have no more products together."""
        count = 0
        for size in reversed(self.sizes):
            products -= size
            if products < 0:
                return count
            count += 1
        return MOST_GROUPS if self.whole else count

    def fits(self, products: int) -> bool:
        """Whether no more products than these can be under way."""
        return self.whole and sum(self.sizes) <= products


NOTHING = Past((), whole=True)


def made_by(op: Mma) -> tuple[object, ...]:
    """What products have in common that one piece of assembly can issue."""
    dtype, result = op.lhs.register_type.dtype, op.acc.register_type.dtype
    kind = type(resolve(op.lhs)) is SharedTile, type(resolve(op.rhs)) is SharedTile
    return str(op.mma_type), dtype, result, kind


def _waits(op: Op) -> bool:
    """Whether an op waits for products."""
    return isinstance(op, MemoryCounterWait) and op.mma is not None


@dataclass
class UnderWay:
    """Products that were issued, and may not be done.

    Attributes:
        make: Where text goes.
        target: Whose rows say which products these are.
        values: Their accumulators, by name.
        copies: Registers of their own for products that add to what others use, too.
        issued: All of them so far.
    """

    make: LlvmInstructions
    target: Target
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    copies: dict[Op, Value] = field(default_factory=dict["Op", Value])
    issued: set[Op] = field(default_factory=set["Op"])
    _latest: dict[str, str] = field(default_factory=dict[str, str])
    _words: dict[str, Value] = field(default_factory=dict[str, Value])
    _ordered: set[str] = field(default_factory=set[str])
    _read: dict[str, None] = field(default_factory=dict[str, None])
    _pasts: tuple[Past, ...] = (NOTHING,)
    _open: int = 0
    _kind: tuple[object, ...] = ()

    def is_asynchronous(self, op: Op) -> bool:
        """Whether an op is a product that goes on after it is issued."""
        return isinstance(op, Mma) and bool(self._row_counter(op))

    def _row_counter(self, op: Mma) -> str:
        dtype = op.lhs.register_type.dtype
        name = str(op.mma_type)
        return self.target.matrix_instruction(name, op.location, dtype).counter

    def current(self, value: Value) -> Value:
        """A value by the name that it has behind the last fence or wait."""
        name = value.name
        while name in self._latest:
            name = self._latest[name]
        return value if name == value.name else Value(name, value.item, value.registers)

    def words(self, value: Value) -> Value:
        """The registers of an operand, as the last fence has ordered them."""
        return self._words.get(value.name, value)

    # ---- what is issued

    def order(
        self,
        accumulators: Sequence[Value],
        words: Sequence[Value],
        kept: Mapping[Op, Value],
        *,
        fresh: bool,
    ) -> None:
        """Have what was written to registers come before products that use them.

        A ``fresh`` accumulator has registers that something else had before. What is
        ``kept`` for others is copied first, for each product.
        """
        sums = [value for value in accumulators if value.name not in self._ordered]
        others = [value for value in words if value.name not in self._words]
        # A product that is under way tells that a fence came before it.
        if not (sums or others or kept or (fresh and not self._open)):
            return
        found = warpgroup.fence(self.make, [*kept.values(), *sums, *others])
        self.copies.update(zip(kept, found, strict=False))
        found = found[len(kept) :]
        for old, new in zip(sums, found, strict=False):
            self._rename(old, new)
            self._ordered.add(new.name)
        for old, new in zip(others, found[len(sums) :], strict=True):
            self._words[old.name] = new

    def begin(self, op: Mma) -> None:
        """Products like this one are about to be issued; others end their group.

        Those of several instructions are waited for apart: scores, while what weighs
        values goes on.
        """
        if made_by(op) != self._kind:
            self._close()
        self._kind = made_by(op)

    def issue(
        self, op: Op, acc: Value | None, result: Value, words: Sequence[str]
    ) -> None:
        """A product was issued, which adds to ``acc`` and reads words in registers."""
        self.issued.add(op)
        self._read.update(dict.fromkeys(words))
        if acc is not None:
            self.values.pop(acc.name, None)
        self.values[result.name] = result
        self._ordered.add(result.name)
        self._open += 1

    def keep_behind(self, value: Value) -> None:
        """Have what is computed of a value come behind the products that are under way.

        Optimizers would move it in front of them, where nothing runs beside it. What
        belongs to such a product is waited for anyway.
        """
        now = self.current(value)
        if (
            not self.values
            or now.name in self.values
            or now.item not in warpgroup.CONSTRAINTS
        ):
            return
        (kept,) = warpgroup.tied(self.make, "", [now])
        self._rename(now, kept)

    def wait(self, products: int) -> None:
        """Let at most so many go on; what no fence has ordered still needs one.

        Where no more are under way, nothing is written: the assembler takes a wait that
        leaves groups for one that does not cover what is read behind it (C7517).
        """
        self._close()
        if all(past.fits(products) for past in self._pasts):
            return
        left = min(MOST_GROUPS, *(past.groups(products) for past in self._pasts))
        values = list(self.values.values())
        found = warpgroup.wait(self.make, left, values, list(self._read))
        for old, new in zip(values, found, strict=True):
            self._rename(old, new)
        if not left:
            self.values.clear()
            self._read.clear()
            self._pasts = (NOTHING,)

    def _rename(self, old: Value, new: Value) -> None:
        self._latest[old.name] = new.name
        if old.name in self._ordered:
            self._ordered.add(new.name)
        if self.values.pop(old.name, None) is not None:
            self.values[new.name] = new

    def _close(self) -> None:
        """End the group that is open."""
        if self._open:
            warpgroup.commit(self.make)
            ended = self._open
            pasts = (Past((*past.sizes, ended), past.whole) for past in self._pasts)
            self._pasts = tuple(pasts)
            self._open = 0

    # ---- regions

    def enter(self) -> None:
        """A region is about to begin: before the branch into it."""
        self._close()

    @contextmanager
    def inside(self, region: Region, *, repeats: bool) -> Generator[None]:
        """While the text of a region is made; names that it gives end with it."""
        outer, ordered, words = dict(self._latest), set(self._ordered), self._words
        values, before, read = dict(self.values), self._pasts, self._read
        self._read = dict(read)
        self._ordered, self._words = set(), {}
        if repeats:
            again = Past(tuple(self._sizes(region)), whole=False)
            self._pasts = tuple(dict.fromkeys((*before, again)))
        try:
            yield
            self._close()
        finally:
            self._latest, self._ordered, self._words = outer, ordered, words
            self.values, self._read = values, read
        self._pasts = tuple(dict.fromkeys((*before, *self._pasts)))

    def _sizes(self, region: Region) -> list[int]:
        """Sizes of the groups at the end of a region, as it will be issued."""
        sizes: list[int] = []
        last: tuple[object, ...] | None = None
        for op in region.ops:
            if isinstance(op, Mma) and self.is_asynchronous(op):
                if made_by(op) != last:
                    sizes.append(0)
                sizes[-1] += 1
                last = made_by(op)
            elif op.regions or _waits(op):
                last = None
                if op.regions:
                    sizes.clear()
        return sizes

    def carried(self, region: Region, inits: Sequence[Value]) -> list[bool]:
        """Which values of a loop may belong to products when an iteration begins."""
        terminator = region.terminator
        assert terminator is not None, "a region ends with a yield"
        ends = [self.is_asynchronous(resolve(op)) for op in terminator.operands]
        return [
            end or init.name in self.values
            for end, init in zip(ends, inits, strict=False)
        ]

    def hand_over(self, inits: Sequence[Value], values: Sequence[Value]) -> None:
        """Values stand for others, or for what a loop makes of them."""
        for init in inits:
            self.values.pop(init.name, None)
        self.values.update((value.name, value) for value in values)
