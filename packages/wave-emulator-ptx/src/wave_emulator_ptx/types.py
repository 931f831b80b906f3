"""Scalar types of PTX: their bits and the values that these mean (section 5.2)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array
    from wave_emulator_ptx.syntax import Number

WORDS: dict[int, Any] = {
    1: np.bool_,
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
}
"""The dtype that holds the bits of a register, by its width."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type.

    Attributes:
        name: as PTX writes it.
        width: bits of a register of it.
        kind: b, u, s, f, or p for predicates.
        values: the dtype of its values.
        lanes: values in a register.
    """

    name: str
    width: int
    kind: str
    values: Any
    lanes: int = 1

    @property
    def words(self) -> Any:
        """The dtype of its bits."""
        return WORDS[self.width]

    @property
    def bytes(self) -> int:
        """In memory."""
        return self.width // 8

    def decode(self, bits: Array) -> Array:
        """Values of registers; those of packed types have one more axis."""
        if self.lanes > 1:
            bits = np.ascontiguousarray(bits).view(WORDS[self.width // self.lanes])
            bits = bits.reshape(-1, self.lanes)
        return bits.view(self.values)

    def encode(self, values: Array) -> Array:
        """Registers that hold values, rounded to the nearest where they have to be."""
        kept = values.astype(self.values, copy=False)
        if self.lanes > 1:
            kept = np.ascontiguousarray(kept)
        bits = kept.view(WORDS[self.width // self.lanes])
        return bits.view(self.words)[..., 0] if self.lanes > 1 else bits


def _integers(kind: str, letter: str) -> dict[str, Type]:
    return {
        f"{kind}{8 * size}": Type(
            f"{kind}{8 * size}", 8 * size, kind, np.dtype(f"{letter}{size}")
        )
        for size in (1, 2, 4, 8)
    }


BF16 = np.dtype(ml_dtypes.bfloat16)

TYPES: dict[str, Type] = {
    **_integers("b", "u"),
    **_integers("u", "u"),
    **_integers("s", "i"),
    "f16": Type("f16", 16, "f", np.dtype(np.float16)),
    "bf16": Type("bf16", 16, "f", BF16),
    "f32": Type("f32", 32, "f", np.dtype(np.float32)),
    "tf32": Type("tf32", 32, "f", np.dtype(np.float32)),
    "f64": Type("f64", 64, "f", np.dtype(np.float64)),
    "u16x2": Type("u16x2", 32, "u", np.dtype(np.uint16), 2),
    "s16x2": Type("s16x2", 32, "s", np.dtype(np.int16), 2),
    "f16x2": Type("f16x2", 32, "f", np.dtype(np.float16), 2),
    "bf16x2": Type("bf16x2", 32, "f", BF16, 2),
    "e4m3x2": Type("e4m3x2", 16, "f", np.dtype(ml_dtypes.float8_e4m3fn), 2),
    "e5m2x2": Type("e5m2x2", 16, "f", np.dtype(ml_dtypes.float8_e5m2), 2),
    "pred": Type("pred", 1, "p", np.dtype(np.bool_)),
}


DECLARED = frozenset(TYPES) - {
    "bf16", "tf32", "u16x2", "s16x2", "bf16x2", "e4m3x2", "e5m2x2"
}  # fmt: skip
"""Types of registers and of memory; the others are of instructions alone."""


def fits(literal: Number, kind: Type) -> bool:
    """Whether a literal may stand where a type is expected."""
    if not literal.width:
        return kind.kind != "f"
    if kind.kind == "f":
        return kind.width in {32, 64} and kind.lanes == 1
    return kind.kind == "b" and literal.width == kind.width


def bits_of(literal: Number, kind: Type) -> int:
    """The bits of a literal where a type is expected; predicates are true but of 0."""
    if kind.kind == "p":
        return int(literal.value != 0)
    if literal.width and literal.width != kind.width:
        letter, word = {32: ("f", "I"), 64: ("d", "Q")}[literal.width]
        (value,) = struct.unpack(letter, struct.pack(word, literal.value))
        with np.errstate(all="ignore"):
            return int(kind.encode(np.array([value]))[0])
    return literal.value & ((1 << kind.width) - 1)


def in_modifiers(modifiers: tuple[str, ...]) -> list[Type]:
    """The types that an opcode's modifiers name, in their order."""
    return [TYPES[each] for each in modifiers if each in TYPES]
