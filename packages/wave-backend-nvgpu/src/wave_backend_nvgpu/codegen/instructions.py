"""Neutral instructions in LLVM IR for NVPTX.

What the code generator cannot select ends the process, so only words that it is known
to select become intrinsics; all others are functions of our own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.builder import Builder
from wave_backend_nvgpu.codegen.mathematics.library import FUNCTIONS
from wave_backend_nvgpu.codegen.mathematics.number import literal, type_of
from wave_backend_nvgpu.codegen.types import number, scalar, typed
from wave_core.backends.emission.instructions import Kind
from wave_core.backends.emission.values import element

if TYPE_CHECKING:
    from wave_core.types import DType

FAST = "reassoc nsz arcp contract afn"
"""What fast math allows. NaN and infinities mean what they always do: masks of softmax
are made of infinities."""

_FAST_EXTREME = "nnan nsz"
"""What it allows a maximum or minimum: to prefer the number to NaN."""

_PLAIN = {
    **{f"{name}i": name for name in ("add", "sub", "mul", "and", "or", "xor")},
    "shli": "shl",
    "shrsi": "ashr",
    "shrui": "lshr",
    "divsi": "sdiv",
    "divui": "udiv",
    "remsi": "srem",
    "remui": "urem",
    **{f"{name}f": f"f{name}" for name in ("add", "sub", "mul", "div", "neg")},
}
"""Words that are instructions."""

_INTRINSICS = {
    "maxsi": "smax",
    "maxui": "umax",
    "minsi": "smin",
    "minui": "umin",
    "absf": "fabs",
    "copysign": "copysign",
    "maximumf": "maximum",
    "minimumf": "minimum",
    "floor": "floor",
    "ceil": "ceil",
    "roundeven": "roundeven",
    "sqrt": "sqrt",
}
"""Words that are functions of LLVM for every type and vector."""

_FAST_EXTREMES = {"maximumf": "maxnum", "minimumf": "minnum"}

_CASTS = {
    "extf": "fpext",
    "truncf": "fptrunc",
    "extsi": "sext",
    "extui": "zext",
    "trunci": "trunc",
    "bitcast": "bitcast",
    **{name: name for name in ("sitofp", "uitofp", "fptosi", "fptoui")},
}

_EX2, _LG2 = "llvm.nvvm.ex2.approx.ftz.f", "llvm.nvvm.lg2.approx.f"
_RSQRT = "llvm.nvvm.rsqrt.approx.f"
_LOG2_E = 1.4426950408889634
_LOGARITHMS = {
    "log": 0.6931471805599453,
    "log2": 1.0,
    "log10": 0.3010299956639812,
}
"""What the logarithm to the base of 2 is multiplied by."""


class LlvmInstructions(Builder):
    """Prints instructions as LLVM IR."""

    def constant(self, value: float, dtype: DType, count: int = 1) -> str:
        """A number in every element, named so that equal texts are equal values."""
        kind, text = Kind(element(dtype), count), number(value, dtype)
        return self.literal(text, kind)

    def literal(self, text: str, kind: Kind) -> str:
        """The name of a constant given in LLVM's spelling; equal ones share it."""
        if kind.registers > 1:
            text = f"splat ({scalar(kind.item)} {text})"
        return self.named(text, typed(kind))

    # ---- arithmetic

    def apply(
        self,
        word: str,
        kind: Kind,
        *names: str,
        fast: bool = False,
        level: int | None = None,
    ) -> str:
        """One word on operands of one kind."""
        if word in _PLAIN:
            flags = f"{FAST} " if fast and word.endswith("f") else ""
            operands = ", ".join(names)
            return self.op(f"{_PLAIN[word]} {flags}{typed(kind)} {operands}", level)
        if fast and word in _FAST_EXTREMES:
            name = _FAST_EXTREMES[word]
            return self._intrinsic(name, kind, names, level, flags=_FAST_EXTREME)
        if word in _INTRINSICS:
            flags = FAST if fast and word == "sqrt" else ""
            return self._intrinsic(_INTRINSICS[word], kind, names, level, flags=flags)
        if word == "absi":
            return self._absolute(kind, names[0], level)
        if word == "floordivsi":
            return self._floor_quotient(kind, names[0], names[1], level)
        if kind.item == "f32":
            short = self._short_form(word, kind, names, level, fast=fast)
            if short:
                return short
        if word == "rsqrt":
            root = self._intrinsic("sqrt", kind, names, level)
            one = self.literal(literal(1.0, typed(Kind(kind.item))), kind)
            return self.apply("divf", kind, one, root, level=level)
        return self._function(word, kind, kind.item, names, level)

    def _intrinsic(
        self,
        name: str,
        kind: Kind,
        names: tuple[str, ...],
        level: int | None,
        *,
        flags: str = "",
    ) -> str:
        type_ = typed(kind)
        suffix = kind.item if kind.registers == 1 else f"v{kind.registers}{kind.item}"
        arguments = [(type_, each) for each in names]
        return self.call(f"llvm.{name}.{suffix}", type_, arguments, level, flags=flags)

    def _absolute(self, kind: Kind, name: str, level: int | None) -> str:
        type_ = typed(kind)
        suffix = kind.item if kind.registers == 1 else f"v{kind.registers}{kind.item}"
        function = f"llvm.abs.{suffix}"
        self.declare(function, f"declare {type_} @{function}({type_}, i1 immarg)")
        return self.op(f"call {type_} @{function}({type_} {name}, i1 false)", level)

    def _floor_quotient(
        self, kind: Kind, above: str, below: str, level: int | None
    ) -> str:
        """The quotient rounded down, from the one rounded towards 0."""
        type_, zero = typed(kind), self.literal("0", kind)
        quotient = self.op(f"sdiv {type_} {above}, {below}", level)
        rest = self.op(f"srem {type_} {above}, {below}", level)
        some = self.compare("ne", kind, rest, zero, level)
        signs = self.op(f"xor {type_} {rest}, {below}", level)
        differs = self.compare("slt", kind, signs, zero, level)
        tests = Kind("i1", kind.registers)
        lower = self.apply("andi", tests, some, differs, level=level)
        less = self.convert("extsi", tests, kind.item, lower, level)
        return self.op(f"add {type_} {quotient}, {less}", level)

    def _short_form(
        self,
        word: str,
        kind: Kind,
        names: tuple[str, ...],
        level: int | None,
        *,
        fast: bool,
    ) -> str:
        """An instruction of the machine on f32 where it is good enough; or nothing."""
        if word == "rsqrt":
            return self._each(_RSQRT, kind, names, level)
        if word == "exp2":
            if fast:
                return self._each(_EX2, kind, names, level)
            return self._intrinsic("exp2", kind, names, level)
        if not fast:
            return ""
        if word == "exp":
            factor = self._factor(_LOG2_E, kind)
            power = self.apply("mulf", kind, *names, factor, fast=True, level=level)
            return self._each(_EX2, kind, (power,), level)
        if word in _LOGARITHMS:
            found = self._each(_LG2, kind, names, level)
            factor = self._factor(_LOGARITHMS[word], kind)
            return self.apply("mulf", kind, found, factor, level=level)
        return ""

    def _factor(self, value: float, kind: Kind) -> str:
        return self.literal(literal(value, scalar(kind.item)), kind)

    def _function(
        self,
        word: str,
        kind: Kind,
        item: str,
        names: tuple[str, ...],
        level: int | None,
    ) -> str:
        """A function of our own, whose item may differ from that of its operands."""
        function = FUNCTIONS[word, item]
        if function.name not in self.declared:
            text, needed = function.define()
            for name, declaration in needed.items():
                self.declare(name, declaration)
            self.declare(function.name, text)
        gives = type_of(function.gives)
        return self._each(function.name, kind, names, level, gives)

    def _each(
        self,
        function: str,
        kind: Kind,
        names: tuple[str, ...],
        level: int | None,
        gives: str = "",
    ) -> str:
        """A function of scalars, element by element."""
        one = scalar(kind.item)
        gives = gives or one

        def called(*operands: str) -> str:
            return self.call(function, gives, [(one, o) for o in operands], level)

        if kind.registers == 1:
            return called(*names)
        made = [
            called(*[self._element(kind, name, at, level) for name in names])
            for at in range(kind.registers)
        ]
        return self._collected(f"<{kind.registers} x {gives}>", gives, made, level)

    # ---- comparison, selection, conversion

    def compare(
        self,
        predicate: str,
        kind: Kind,
        one: str,
        other: str,
        level: int | None = None,
    ) -> str:
        """A test of two values of a kind: as many ``i1``."""
        form = "fcmp" if predicate[0] == "o" or predicate == "une" else "icmp"
        return self.op(f"{form} {predicate} {typed(kind)} {one}, {other}", level)

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
        """``one`` where ``test`` holds, or ``other``."""
        condition = typed(Kind("i1", kind.registers if tests is None else tests))
        type_ = typed(kind)
        sides = f"{type_} {one}, {type_} {other}"
        return self.op(f"select {condition} {test}, {sides}", level)

    def convert(
        self,
        word: str,
        kind: Kind,
        item: str,
        name: str,
        level: int | None = None,
    ) -> str:
        """A conversion, element by element, from ``kind`` to another item."""
        for each in (kind.item, item):
            if (word, each) in FUNCTIONS:
                return self._function(word, kind, each, (name,), level)
        source, wanted = typed(kind), typed(Kind(item, kind.registers))
        if source == wanted:
            return name
        return self.op(f"{_CASTS[word]} {source} {name} to {wanted}", level)

    def recast(self, kind: Kind, wanted: Kind, name: str) -> str:
        """The same bits as other elements; the first has the lowest bits."""
        source, made = typed(kind), typed(wanted)
        if source == made:
            return name
        return self.op(f"bitcast {source} {name} to {made}")

    # ---- vectors

    def broadcast(self, kind: Kind, name: str) -> str:
        """A vector of ``kind`` with one scalar in every element."""
        type_, one = typed(kind), scalar(kind.item)
        first = self.op(f"insertelement {type_} poison, {one} {name}, i64 0")
        mask = f"<{kind.registers} x i32> zeroinitializer"
        return self.op(f"shufflevector {type_} {first}, {type_} poison, {mask}")

    def extract(self, kind: Kind, name: str, at: int) -> str:
        """One element of a vector of ``kind``."""
        return self._element(kind, name, at, None)

    def _element(self, kind: Kind, name: str, at: int, level: int | None) -> str:
        if name in self.elements:
            return self.elements[name][at]
        return self.op(f"extractelement {typed(kind)} {name}, i64 {at}", level)

    def slice(self, kind: Kind, name: str, start: int, count: int) -> str:
        """``count`` neighbouring elements of a vector, two or more."""
        return self._picked(kind, name, "poison", range(start, start + count))

    def insert(self, kind: Kind, into: str, name: str, at: int, count: int) -> str:
        """A vector of ``kind`` with other elements from ``at``: ``count`` of them."""
        if count == 1:
            one = scalar(kind.item)
            text = f"insertelement {typed(kind)} {into}, {one} {name}, i64 {at}"
            return self.op(text)
        part = Kind(kind.item, count)
        # What lies beyond the part is not looked at.
        wide = [min(place, count - 1) for place in range(kind.registers)]
        widened = self._picked(part, name, "poison", wide)
        whole = [
            kind.registers + place - at if at <= place < at + count else place
            for place in range(kind.registers)
        ]
        return self._picked(kind, into, widened, whole)

    def _picked(
        self, kind: Kind, one: str, other: str, places: range | list[int]
    ) -> str:
        type_ = typed(kind)
        mask = ", ".join(f"i32 {place}" for place in places)
        return self.op(
            f"shufflevector {type_} {one}, {type_} {other}, "
            f"<{len(places)} x i32> <{mask}>"
        )

    def from_elements(self, kind: Kind, *names: str) -> str:
        """A vector of ``kind`` from its elements, each of them a scalar."""
        return self._collected(typed(kind), scalar(kind.item), list(names), None)

    def _collected(
        self, type_: str, one: str, names: list[str], level: int | None
    ) -> str:
        whole = "poison"
        for at, name in enumerate(names):
            text = f"insertelement {type_} {whole}, {one} {name}, i64 {at}"
            whole = self.op(text, level)
        self.elements[whole] = names
        return whole
