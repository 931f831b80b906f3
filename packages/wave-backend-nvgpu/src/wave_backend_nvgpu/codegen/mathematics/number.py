"""Numbers of a function that is being written: operators append instructions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeAlias

from wave_core.backends.mathematics import number
from wave_core.backends.mathematics.number import F32, I1, Number

_RELATIONS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}

_TYPES = {"f64": "double", "f32": "float"}

_INTRINSICS = {
    "size": "fabs",
    "nearest": "roundeven",
    "fma": "fma",
    "signed": "copysign",
}
_APPROXIMATE = {"exp2": "ex2.approx.ftz.f", "reciprocal": "rcp.approx.ftz.f"}
_CASTS = {"extf": "fpext", "truncf": "fptrunc", "trunci": "trunc", "extui": "zext"}


def type_of(kind: str) -> str:
    """A kind in LLVM's words."""
    return _TYPES.get(kind, kind)


class Body(number.Body):
    """The text of one function so far, with the declarations that it needs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self._last = 0
        self._label = "entry"

    def op(self, text: str, kind: str) -> Number:
        """Append an instruction; gives its result, of type ``kind``."""
        self._last += 1
        name = f"%t{self._last}"
        self.lines.append(f"  {name} = {text}")
        return Number(self, name, kind)

    def constant(self, value: float, kind: str) -> Number:
        """A number of a type."""
        return Number(self, literal(value, type_of(kind)), kind)

    def computed(self, word: str, *numbers: Number) -> Number:
        """One instruction, or the call of an intrinsic."""
        first = numbers[0]
        if word in _APPROXIMATE:
            return self.call(f"llvm.nvvm.{_APPROXIMATE[word]}", first.kind, first)
        if word in _INTRINSICS:
            name = f"llvm.{_INTRINSICS[word]}.{first.kind}"
            return self.call(name, first.kind, *numbers)
        word = f"f{word}" if first.is_float else word.replace("rest", "urem")
        names = ", ".join(number.name for number in numbers)
        return self.op(f"{word} {type_of(first.kind)} {names}", first.kind)

    def tested(self, relation: str, one: Number, other: Number) -> Number:
        """One comparison."""
        if one.is_float:
            name = f"fcmp {'une' if relation == 'ne' else 'o' + relation}"
        else:
            name = f"icmp {_RELATIONS.get(relation, relation)}"
        return self.op(f"{name} {type_of(one.kind)} {one.name}, {other.name}", I1)

    def chosen(self, test: Number, one: Number, other: Number) -> Number:
        """One of two values."""
        sides = (f"{type_of(one.kind)} {side.name}" for side in (one, other))
        return self.op(f"select i1 {test.name}, {', '.join(sides)}", one.kind)

    def converted(self, word: str, number: Number, kind: str) -> Number:
        """A number of another kind."""
        given = f"{type_of(number.kind)} {number.name}"
        return self.op(f"{_CASTS.get(word, word)} {given} to {type_of(kind)}", kind)

    def call(self, function: str, kind: str, *numbers: Number) -> Number:
        """Call an intrinsic."""
        kinds = ", ".join(type_of(each.kind) for each in numbers)
        result = type_of(kind)
        self.declared[function] = f"declare {result} @{function}({kinds})"
        given = ", ".join(f"{type_of(each.kind)} {each.name}" for each in numbers)
        return self.op(f"call {result} @{function}({given})", kind)

    def _open(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._label = label

    def _labels(self, *names: str) -> list[str]:
        self._last += 1
        return [f"{name}{self._last}" for name in names]

    def when(
        self, test: Number, make: Callable[[], Pair], otherwise: Pair
    ) -> tuple[Number, Number]:
        """Two numbers that ``make`` computes in a branch, or those of ``otherwise``."""
        (inside, join), before = self._labels("then", "join"), self._label
        self.lines.append(f"  br i1 {test.name}, label %{inside}, label %{join}")
        self._open(inside)
        made = make()
        last = self._label
        self.lines.append(f"  br label %{join}")
        self._open(join)

        def joined(one: Number, other: Number) -> Number:
            ways = f"[ {one.name}, %{last} ], [ {other.name}, %{before} ]"
            return self.op(f"phi {type_of(one.kind)} {ways}", one.kind)

        return joined(made[0], otherwise[0]), joined(made[1], otherwise[1])

    def repeat(
        self,
        start: Pair,
        step: Callable[[Number, Number], Pair],
    ) -> Number:
        """The first of two numbers after steps that end where the second is not > 0."""
        (head, inside, end), before = self._labels("head", "step", "end"), self._label
        names = [f"%s{self._last}.{at}" for at in (0, 1)]
        self.lines.append(f"  br label %{head}")
        self._open(head)
        place = len(self.lines)
        carried = [
            Number(self, name, each.kind)
            for name, each in zip(names, start, strict=True)
        ]
        test = carried[1].greater(0)
        self.lines.append(f"  br i1 {test.name}, label %{inside}, label %{end}")
        self._open(inside)
        stepped = step(*carried)
        last = self._label
        self.lines.append(f"  br label %{head}")
        self._open(end)
        self.lines[place:place] = [
            f"  {name} = phi {type_of(one.kind)} [ {one.name}, %{before} ],"
            f" [ {new.name}, %{last} ]"
            for name, one, new in zip(names, start, stepped, strict=True)
        ]
        return carried[0]


def literal(value: float, type_: str) -> str:
    """A number of a type as LLVM reads it: floats by the bits of a double."""
    if type_ not in _TYPES.values():
        return str(int(value))
    if type_ == _TYPES[F32]:
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


Pair: TypeAlias = "tuple[Number, Number]"


def written(number: Number) -> Body:
    """The text that a number belongs to."""
    assert isinstance(number.body, Body), "numbers of this backend are text"
    return number.body
