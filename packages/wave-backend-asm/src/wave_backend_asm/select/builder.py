"""Appends instructions to regions, with operands that each may have.

An instruction of lanes reads one register of a wave at most, and no literal but as the
first operand of a short form. What an instruction may not read is moved in front of it.
Source: CDNA3 ISA, "Vector ALU operations", "Constant bus".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wave_backend_asm.code import Part
from wave_backend_asm.machine.chips import CHIPS
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import (
    NOWHERE,
    Copy,
    Instruction,
    Label,
    Source,
)
from wave_backend_asm.machine.operands import (
    SCALARS,
    VECTORS,
    Operand,
    Virtual,
    is_literal,
    is_scalar,
)
from wave_backend_asm.machine.program import Line
from wave_backend_asm.select.data import Datum
from wave_backend_asm.waits.issued import NO_GROUPS, Groups
from wave_core.backends.emission import Kind, Regions

if TYPE_CHECKING:
    from wave_core.backends.emission.regions import Block
    from wave_core.diagnostics import Location

_SHORT = frozenset(
    f"v_{name}"
    for name in (
        *("add_u32", "sub_u32", "subrev_u32", "and_b32", "or_b32", "xor_b32"),
        *("lshlrev_b32", "lshrrev_b32", "ashrrev_i32", "max_i32", "min_i32"),
        *("max_u32", "min_u32", "add_f32", "sub_f32", "mul_f32", "max_f32", "min_f32"),
    )
)
"""Instructions of two operands whose first may be a literal, the other in a lane's."""

_ANY = Kind("i32")


class Shifted(NamedTuple):
    """A word made from another one by a shift or a mask.

    Attributes:
        how: the word of `INTEGER_WORDS`.
        whole: the word that it is made from.
        number: the distance, or the mask.
        first: the bit of `whole` that is the lowest before that.
    """

    how: str
    whole: Operand
    number: int
    first: int = 0


class Compared(NamedTuple):
    """What a mask says of two words: a predicate of integers, and its sides."""

    predicate: str
    one: Operand
    two: Operand


_AGAIN = ("s_add_i32", "s_lshl")
"""What of the wave may be computed twice."""

_ONE_OPERAND = ("v_mov_b32", "v_cvt_")


class Builder(Regions[Line]):
    """Code of one kernel, and what its names stand for.

    Attributes:
        chip: what has to execute it.
        data: what each name stands for.
        depth: loops around the innermost region.
        hoists: whether code may go to regions further out; else it is computed again
            in each region, and takes no registers in others.
        asked: whether code was to go there.
        makes_tuples: whether words that are made one by one may lie side by side from
            the start, in registers that are harder to find.
        made_tuples: whether some were to.
        saves_early: whether what a load takes the place of is saved in front of it,
            in registers that no AGPR stands for.
        saved_early: whether something has been.
    """

    def __init__(self, chip: str) -> None:
        """No code yet, for a key of `CHIPS`."""
        super().__init__()
        self.chip = CHIPS[chip]
        self.data: dict[str, Datum] = {}
        self.depth = 0
        self.hoists, self.asked = True, False
        self.makes_tuples, self.made_tuples = True, False
        self.saves_early, self.saved_early = True, False
        self._late = False
        self._memory = ""
        self._level: int | None = None
        self._at: Source = NOWHERE
        self._labels = 0
        self._makers: dict[Operand, tuple[str, tuple[Operand, ...]]] = {}
        self._uniform: set[Operand] = set()
        self._inverted: dict[Operand, Operand] = {}
        self._parts: dict[Operand, tuple[Operand, int]] = {}
        self._shifted: dict[Operand, Shifted] = {}
        self._added: dict[Operand, tuple[Operand, Operand]] = {}
        self._flipped: dict[Operand, tuple[Operand, int]] = {}
        self._bounds: dict[tuple[str, Operand], int] = {}
        self._compared: dict[Operand, Compared] = {}
        self._low: dict[Operand, tuple[Operand, Operand]] = {}
        self._narrower: dict[Operand, set[Operand]] = {}
        self._elsewhere: dict[Operand, Operand] = {}
        self._single: dict[Operand, Block[Line]] = {}
        self._beside: dict[Operand, tuple[Operand, ...]] = {}

    # ---- names

    def name(self, datum: Datum) -> str:
        """A name for a datum."""
        found = f"%{len(self.data)}"
        self.data[found] = datum
        return found

    def of(self, kind: Kind, words: Sequence[Operand]) -> str:
        """A name for words."""
        return self.name(Datum(kind, tuple(words)))

    def words(self, name: str) -> tuple[Operand, ...]:
        """The words of a name."""
        return self.data[name].words

    def label(self, what: str) -> str:
        """A label that nothing has."""
        self._labels += 1
        return f".L{what}{self._labels}"

    # ---- where code goes

    def at(self, level: int | None) -> _Meanwhile:
        """Append to a region further out meanwhile; ``None`` changes nothing."""
        where = None if level is None else self.where(level)
        unchanged = where is None or not self.hoists
        return _Meanwhile(self, "_level", self._level if unchanged else where)

    def rounded(self, *, late: bool) -> _Meanwhile:
        """Say of what is appended meanwhile whether it may be rounded with a sum."""
        return _Meanwhile(self, "_late", late)

    def touching(self, memory: str) -> _Meanwhile:
        """Say of what is appended meanwhile which buffer of LDS it touches."""
        return _Meanwhile(self, "_memory", memory)

    def where(self, level: int) -> int:
        """The region that code goes to that may go to one further out."""
        self.asked |= level != self.here
        return level if self.hoists else self.here

    @property
    def here(self) -> int:
        """The region that code goes to."""
        return self.level if self._level is None else self._level

    def locate(self, location: Location | None) -> None:
        """Take a line of the author's for what follows."""
        self._at = Source.of(location)

    def kept(self, key: Hashable, make: Callable[[], Operand]) -> Operand:
        """An operand that a region computes once."""
        where = self.here

        def named() -> str:
            return self.name(Datum(_ANY, (make(),)))

        return self.words(self.once(("kept", key), named, where))[0]

    # ---- instructions

    def say(
        self,
        name: str,
        results: Sequence[Operand] = (),
        operands: Sequence[Operand] = (),
        modifiers: str = "",
        *,
        keeps: Sequence[Part] = (),
        demands: Mapping[str, int] | None = None,
        groups: Groups = NO_GROUPS,
        target: str = "",
    ) -> None:
        """Append an instruction as it is.

        Raises:
            ValueError: no instruction has a name like this.
        """
        form_of(name)
        made = Instruction(
            name, tuple(results), tuple(operands), modifiers, tuple(keeps),
            demands or {}, groups, target, self._at, self._late, memory=self._memory,
        )  # fmt: skip
        self.append(made, self.here)

    def maker(self, operand: Operand) -> tuple[str, tuple[Operand, ...]] | None:
        """What computes a word of the wave, to compute it again where it is wanted.

        Its name and its operands; ``None`` where that is more than one instruction.
        """
        return self._makers.get(operand)

    def stay(self) -> None:
        """Let nothing be moved across this point."""
        self.append(Label("", self.depth), self.here)

    def copy(self, result: Part, operand: Part) -> None:
        """Append a copy of registers."""
        self.append(Copy(result, operand, self._at), self.here)

    def salu(self, name: str, *operands: Operand, width: int = 1) -> Part:
        """An instruction of the wave; two literals are one too many for it."""
        wide = [each for each in operands if is_literal(each)]
        if len(set(wide)) > 1:
            operands = (self.in_scalar(operands[0]), *operands[1:])
        result = Virtual(width, SCALARS).all
        self.say(name, (result,), operands)
        if name.startswith(_AGAIN):
            self._makers[result] = name, operands
        return result

    def valu(
        self,
        name: str,
        *operands: Operand,
        result: Part | None = None,
        modifiers: str = "",
        keeps: Sequence[Part] = (),
    ) -> Part:
        """An instruction of lanes, whose result is one of theirs."""
        single = result is None
        result = result or Virtual(1, VECTORS).all
        readable = self.readable(name, operands)
        self.say(name, (result,), readable, modifiers, keeps=keeps)
        if single:
            self._single[result] = self.blocks[self.here]
        return result

    def readable(self, name: str, operands: Sequence[Operand]) -> list[Operand]:
        """The operands as an instruction of lanes may read them."""
        found = list[Operand]()
        read = {each for each in operands if is_scalar(each) and _width(each) > 1}
        for at, operand in enumerate(operands):
            each: Operand = operand
            if is_literal(each) and not self._may_be_literal(name, operands, at):
                each = self.in_vector(each) if read else self.in_scalar(each)
            if is_literal(each) or (isinstance(each, Part) and is_scalar(each)):
                each = self.in_vector(each) if read - {each} else each
                read |= {each} if is_scalar(each) else set()
            found.append(each)
        if name in _SHORT and is_literal(found[0]):
            found[1] = self.in_vector(found[1])
        return found

    @staticmethod
    def _may_be_literal(name: str, operands: Sequence[Operand], at: int) -> bool:
        if name.startswith(_ONE_OPERAND):
            return True
        return at == 0 and name in _SHORT and len(operands) == 2

    # ---- operands elsewhere

    def in_scalar(self, operand: Operand) -> Operand:
        """A number in a register of the wave, where it lies once in a region."""
        if isinstance(operand, Part):
            return operand
        return self.kept(("s", operand), lambda: self.salu("s_mov_b32", operand))

    def in_vector(self, operand: Operand) -> Part:
        """A word in a register of each lane."""
        if isinstance(operand, Part) and not is_scalar(operand):
            return operand
        found = self.kept(("v", operand), lambda: self.valu("v_mov_b32", operand))
        assert isinstance(found, Part), "made so"
        return found

    def in_lanes(self, operand: Operand) -> bool:
        """Whether a word is in a register of each lane here already."""
        return self.holds(("kept", ("v", operand)), self.here)

    def uniform(self, operand: Operand) -> Operand:
        """A word of the first active lane, as the whole wave's."""
        if is_scalar(operand):
            return operand
        row = self._shifted.get(operand)
        if row is not None and row.how == "shrui":
            # The wave shifts: lanes would be waited for before one of them is read.
            return self.salu("s_lshr_b32", self.uniform(row.whole), row.number)
        result = Virtual(1, SCALARS).all
        self.say("v_readfirstlane_b32", (result,), (operand,))
        return result

    def together(
        self, words: Sequence[Operand], files: tuple[str, ...] = VECTORS
    ) -> Part:
        """Words as consecutive registers, moved there unless they are."""
        found = consecutive(words, files)
        if found is not None:
            return found
        key = ("together", tuple(words), files)
        part = self.kept(key, lambda: self.moved(words, Virtual(len(words), files)))
        assert isinstance(part, Part), "made so"
        return part

    def may_lie_side_by_side(self, words: Sequence[Operand]) -> bool:
        """Whether words can be made in registers side by side from the start.

        Each is what one instruction of this region makes, in a register of its own that
        has no place beside others yet: put `together`, they need no copies.
        """
        own, place = self.blocks[self.here], tuple(words)
        if len({*words}) < len(words):
            return False
        found = all(
            self._single.get(each) is own and self._beside.get(each, place) == place
            for each in words
        )
        self.made_tuples |= found
        return found and self.makes_tuples

    def side_by_side(self, words: Sequence[Operand]) -> Part:
        """The registers side by side of words that may lie so."""
        self._beside.update(dict.fromkeys(words, tuple(words)))
        return self.together(words)

    def moved(self, words: Sequence[Operand], result: Virtual) -> Part:
        """Words copied to the registers of a value."""
        for part, word in zip(result.parts(), words, strict=True):
            if isinstance(word, Part):
                self.copy(part, word)
            else:
                name = "s_mov_b32" if result.files == SCALARS else "v_mov_b32"
                self.say(name, (part,), (word,))
        return result.all

    # ---- parts of words

    def mark_part(self, word: Operand, whole: Operand, shift: int) -> Operand:
        """A word whose lowest bits are another word's, from a bit on."""
        if not isinstance(word, int):
            self._parts[word] = whole, shift
        return word

    def part(self, word: Operand) -> tuple[Operand, int]:
        """The word that the lowest bits of a word are from, and from which bit on."""
        return self._parts.get(word, (word, 0))

    # ---- bits that others are moved from

    def mark_shifted(self, word: Operand, row: Shifted) -> Operand:
        """A word of lanes that is another one, shifted or masked by a number."""
        self._shifted[word] = row
        return word

    def shifted(self, word: Operand) -> Shifted | None:
        """How a word is made from another one, if it is so."""
        return self._shifted.get(word)

    def mark_flipped(self, word: Operand, whole: Operand, bits: int) -> None:
        """A word of lanes that is another one, some of whose bits are flipped."""
        self._flipped[word] = whole, bits

    def flipped(self, word: Operand) -> tuple[Operand, int] | None:
        """The word that a word is but for some bits, and these, if it is so."""
        return self._flipped.get(word)

    def mark_added(self, word: Operand, one: Operand, two: Operand) -> Operand:
        """A word of the wave that is the sum of two."""
        self._added[word] = one, two
        return word

    def added(self, word: Operand) -> tuple[Operand | None, Operand | None]:
        """What a word of the wave is the sum of, if it is so."""
        return self._added.get(word, (None, None))

    def mark_low(self, word: Operand, one: Operand, two: Operand) -> Operand:
        """The lower word of a sum of 64 bits, and those of its sides."""
        self._low[word] = one, two
        return word

    def low(self, word: Operand) -> tuple[Operand, Operand] | None:
        """The lower words that one is the sum of, if it is so."""
        return self._low.get(word)

    # ---- numbers that a word is compared with

    def mark_bound(self, word: Operand, name: str, number: Operand) -> Operand:
        """A word that an extreme with a number has made."""
        if isinstance(number, int):
            self._bounds[name, word] = number
        return word

    def bound(self, name: str, word: Operand) -> int | None:
        """The number that a word is the extreme with already, if it is so."""
        return self._bounds.get((name, word))

    # ---- truth

    def mark_uniform(self, mask: Operand) -> Operand:
        """A mask that holds in all lanes, or in none."""
        self._uniform.add(mask)
        return mask

    def mark_compared(self, mask: Operand, row: Compared) -> Operand:
        """A mask that says how words are related."""
        self._compared[mask] = row
        return mask

    def compared(self, mask: Operand) -> Compared | None:
        """What a mask says of words, if it is so."""
        return self._compared.get(mask)

    def mark_inverted(self, mask: Operand, whole: Operand) -> None:
        """A mask that holds where another one does not."""
        self._inverted[mask] = whole

    def inverted(self, mask: Operand) -> Operand | None:
        """The mask that holds where one does not, if one was made from it."""
        return self._inverted.get(mask)

    def mark_narrower(self, mask: Operand, others: Sequence[Operand]) -> Operand:
        """A mask that holds nowhere but where some others do."""
        known = self._narrower.setdefault(mask, {mask})
        for each in others:
            known |= self._narrower.get(each, {each})
        return mask

    def mark_elsewhere(self, word: Operand, mask: Operand) -> None:
        """A word that is 0 in all lanes for which a mask does not hold."""
        self._elsewhere[word] = mask

    def is_zero_without(self, word: Operand, mask: Operand) -> bool:
        """Whether a word is 0 in all lanes for which a mask does not hold."""
        own = self._elsewhere.get(word)
        return own is not None and mask in self._narrower.get(own, {own})

    def is_uniform(self, mask: Operand) -> bool:
        """Whether a mask holds in all lanes or in none."""
        return isinstance(mask, int) or mask in self._uniform

    def mask(self, truth: Operand) -> Operand:
        """A truth value as an operand of 64 bits."""
        if isinstance(truth, int):
            return -1 if truth else 0
        return truth


class _Meanwhile:
    """Something that a builder goes by, for what a ``with`` holds.

    There is one for each operation: a generator takes three times as long.
    """

    __slots__ = ("_before", "_builder", "_now", "_what")

    def __init__(self, builder: Builder, what: str, now: object) -> None:
        self._builder, self._what, self._now = builder, what, now

    def __enter__(self) -> None:
        self._before: object = getattr(self._builder, self._what)
        setattr(self._builder, self._what, self._now)

    def __exit__(self, *_: object) -> None:
        setattr(self._builder, self._what, self._before)


def _width(operand: Operand) -> int:
    return operand.width if isinstance(operand, Part) else 0


def consecutive(words: Sequence[Operand], files: tuple[str, ...]) -> Part | None:
    """Words that already are consecutive registers, aligned as tuples have to be."""
    first = words[0]
    if not isinstance(first, Part) or not set(first.value.files) <= set(files):
        return None
    if len(words) == 1:
        return first
    step = 2 if files != SCALARS or len(words) == 2 else 4
    if first.first % step:
        return None
    wanted = [Part(first.value, first.first + at, 1) for at in range(len(words))]
    return Part(first.value, first.first, len(words)) if wanted == [*words] else None
