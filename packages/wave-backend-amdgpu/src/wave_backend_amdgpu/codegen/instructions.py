"""Core's instructions as operations of MLIR's dialects `arith`, `math` and `vector`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.types import number, vector
from wave_core.backends.emission import Kind, element
from wave_core.backends.emission.instructions import F32

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from wave_backend_amdgpu.codegen.builder import Builder
    from wave_core.diagnostics import Location
    from wave_core.types import DType

_MATH = frozenset(
    {
        *("powf", "exp", "exp2", "sqrt", "rsqrt", "log", "log2", "log10", "roundeven"),
        *("floor", "ceil", "sin", "cos", "sinh", "tanh", "cbrt", "erf", "erfc"),
        *("atan2", "copysign", "absf", "absi"),
    }
)
"""Words of the dialect `math`; all others are of `arith`."""

_EXTREMES = {"maximumf": "maximum", "minimumf": "minimum"}
"""Operations that lose NaN on their way through the compiler, by what does not: it
turns ``arith.maximumf`` into the instruction that prefers numbers."""

_FAST = " fastmath<reassoc,nsz,arcp,contract,afn>"
"""What fast math allows. NaN and infinities mean what they always do: masks of softmax
are made of infinities."""

_FAST_EXTREME = " fastmath<nnan,nsz>"
"""What it allows a maximum or minimum: to prefer the number to NaN."""


class MlirInstructions:
    """Implements core's `Instructions` in the text of a builder."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    @property
    def level(self) -> int:
        """The depth of the innermost open region."""
        return self._builder.level

    def once(self, key: Hashable, make: Callable[[], str], level: int) -> str:
        """The name under ``key`` in an open region."""
        return self._builder.once(key, make, level)

    def holds(self, key: Hashable, level: int) -> bool:
        """Whether an open region has a name under ``key``."""
        return self._builder.holds(key, level)

    def locate(self, location: Location | None) -> None:
        """Take ``location`` for what follows."""
        self._builder.locate(location)

    def constant(self, value: float, dtype: DType, count: int = 1) -> str:
        """A constant; equal ones share a name."""
        text, kind = number(value, dtype), vector(element(dtype), count)
        return self._builder.constant(text if count == 1 else f"dense<{text}>", kind)

    def apply(
        self,
        word: str,
        kind: Kind,
        *names: str,
        fast: bool = False,
        level: int | None = None,
    ) -> str:
        """One operation of one type."""
        shown, listed = vector(*kind), ", ".join(names)
        if fast and word == "exp2" and kind.item == F32.item:
            return self._bare_exp2(kind, *names)
        if word in _EXTREMES and not fast:
            text = f"llvm.intr.{_EXTREMES[word]}({listed}) : ({shown}, {shown})"
            return self._builder.op(f"{text} -> {shown}", level)
        flags = (_FAST_EXTREME if word in _EXTREMES else _FAST) if fast else ""
        dialect = "math" if word in _MATH else "arith"
        return self._builder.op(f"{dialect}.{word} {listed}{flags} : {shown}", level)

    def _bare_exp2(self, kind: Kind, name: str) -> str:
        """The instruction alone for each element, which flushes what is not normal."""
        op, each = self._builder.op, [name]
        if kind.registers > 1:
            each = [self.extract(kind, name, at) for at in range(kind.registers)]
        powers = [op(f"rocdl.exp2 {one} f32 -> f32") for one in each]
        return powers[0] if kind.registers == 1 else self.from_elements(kind, *powers)

    def compare(
        self,
        predicate: str,
        kind: Kind,
        one: str,
        other: str,
        level: int | None = None,
    ) -> str:
        """A comparison of integers or of floats."""
        word = "cmpi" if kind.item.startswith("i") else "cmpf"
        text = f"arith.{word} {predicate}, {one}, {other} : {vector(*kind)}"
        return self._builder.op(text, level)

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
        """One of two values."""
        kinds, count = vector(*kind), kind.registers if tests is None else tests
        if count > 1:
            kinds = f"{vector('i1', count)}, {kinds}"
        return self._builder.op(f"arith.select {test}, {one}, {other} : {kinds}", level)

    def convert(
        self, word: str, kind: Kind, item: str, name: str, level: int | None = None
    ) -> str:
        """A conversion, element by element."""
        kinds = f"{vector(*kind)} to {vector(item, kind.registers)}"
        return self._builder.op(f"arith.{word} {name} : {kinds}", level)

    def recast(self, kind: Kind, wanted: Kind, name: str) -> str:
        """The same bits; `vector.bitcast` takes vectors alone, if need be of one."""
        op, found = self._builder.op, vector(*kind)
        if kind.registers == wanted.registers == 1:
            return op(f"arith.bitcast {name} : {found} to {wanted.item}")
        if kind.registers == 1:
            name = op(f"vector.broadcast {name} : {found} to vector<1x{found}>")
            found = f"vector<1x{found}>"
        whole = f"vector<{wanted.registers}x{wanted.item}>"
        name = op(f"vector.bitcast {name} : {found} to {whole}")
        if wanted.registers > 1:
            return name
        return op(f"vector.extract {name}[0] : {wanted.item} from {whole}")

    def broadcast(self, kind: Kind, name: str) -> str:
        """A scalar in every element."""
        text = f"vector.broadcast {name} : {kind.item} to {vector(*kind)}"
        return self._builder.op(text)

    def extract(self, kind: Kind, name: str, at: int) -> str:
        """One element."""
        text = f"vector.extract {name}[{at}] : {kind.item} from {vector(*kind)}"
        return self._builder.op(text)

    def slice(self, kind: Kind, name: str, start: int, count: int) -> str:
        """Neighbouring elements."""
        part = vector(kind.item, count)
        return self._builder.op(
            f"vector.extract_strided_slice {name} "
            f"offsets = [{start}], sizes = [{count}], strides = [1] : "
            f"{vector(*kind)} to {part}"
        )

    def insert(self, kind: Kind, into: str, name: str, at: int, count: int) -> str:
        """Other elements in place of some."""
        kinds = f"{vector(kind.item, count)} into {vector(*kind)}"
        if count == 1:
            return self._builder.op(f"vector.insert {name}, {into} [{at}] : {kinds}")
        return self._builder.op(
            f"vector.insert_strided_slice {name}, {into} "
            f"offsets = [{at}], strides = [1] : {kinds}"
        )

    def from_elements(self, kind: Kind, *names: str) -> str:
        """A vector of scalars."""
        text = f"vector.from_elements {', '.join(names)} : {vector(*kind)}"
        return self._builder.op(text)
