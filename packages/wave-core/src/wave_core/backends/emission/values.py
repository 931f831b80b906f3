"""Register values: what items they are of, and how they are cut and put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.backends.emission.instructions import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.backends.emission.emitter import Emission
    from wave_core.types import DType

ITEMS = {
    **{name: name for name in ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8")},
    "f8e5m2": "f8E5M2",
    "f8e5m2fnuz": "f8E5M2FNUZ",
    "f8e4m3fn": "f8E4M3FN",
    "f8e4m3fnuz": "f8E4M3FNUZ",
    "f8e8m0fnu": "f8E8M0FNU",
    "f6e2m3fn": "f6E2M3FN",
    "f6e3m2fn": "f6E3M2FN",
    "f4e2m1fn": "f4E2M1FN",
    "i4": "i4",
    **{f"u{bits}": f"i{bits}" for bits in (64, 32, 16, 8)},
    "index": "i64",
    "bool": "i1",
}
"""By name of the element type: what a register holds. Integers have no sign of their
own; instructions say whether they count one."""


def element(dtype: DType) -> str:
    """The item of one element in a register."""
    return ITEMS[dtype.name]


def stored(dtype: DType) -> str:
    """The item of one element in memory: a truth value is a byte."""
    return "i8" if dtype.is_bool else element(dtype)


@dataclass(frozen=True, slots=True)
class Value:
    """A register value: its name, the element type, elements of one lane."""

    name: str
    item: str
    registers: int

    @property
    def kind(self) -> Kind:
        """The item and how many."""
        return Kind(self.item, self.registers)


def sliced(emit: Emission, value: Value, start: int, count: int) -> str:
    """``count`` elements of a value, from ``start``; taken once in a region."""
    make, kind = emit.instructions, value.kind
    if count == kind.registers:
        return value.name

    def taken() -> str:
        if count == 1:
            return make.extract(kind, value.name, start)
        return make.slice(kind, value.name, start, count)

    return make.once(("slice", value.name, start, count), taken, make.level)


def gathered(emit: Emission, names: Sequence[str], item: str) -> str:
    """A vector of scalars; one is itself."""
    if len(names) == 1:
        return names[0]
    make, kind = emit.instructions, Kind(item, len(names))
    if len(set(names)) == 1:
        return make.broadcast(kind, names[0])
    return make.from_elements(kind, *names)


def recast(emit: Emission, value: Value, item: str, count: int) -> Value:
    """The bits of a value as ``count`` elements of another type."""
    wanted = Kind(item, count)
    if value.kind == wanted:
        return value
    name = emit.instructions.recast(value.kind, wanted, value.name)
    return Value(name, item, count)
