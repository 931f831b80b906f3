"""Element types, one row each: the only place where their facts are written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


class Family(Enum):
    """Kinds of numbers that elements are."""

    FLOAT = "float"
    INTEGER = "integer"
    UNSIGNED = "unsigned integer"
    INDEX = "index"
    BOOL = "bool"


@dataclass(frozen=True, slots=True)
class DType:
    """An element type.

    Units: ``bits`` is the width in registers and in memory; ``bool`` counts as
    8 bits in memory (one byte an element, as torch stores it). Elements of fewer
    bits lie one after the other in registers, the first in the lowest bits; numpy
    has a byte for each.
    """

    name: str
    bits: int
    family: Family
    numpy_name: str
    extension: bool = False
    """Whether numpy gets the type from the ``ml_dtypes`` package."""

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return max(1, self.bits // 8)

    @property
    def is_packed(self) -> bool:
        """Whether elements share bytes, so that none has an address of its own."""
        return self.bits < 8 and not self.is_bool

    @property
    def is_float(self) -> bool:
        """Whether the type is a floating-point type."""
        return self.family is Family.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether the type counts as an integer in arithmetic (index included)."""
        return self.family in (Family.INTEGER, Family.UNSIGNED, Family.INDEX)

    @property
    def is_unsigned(self) -> bool:
        """Whether the type holds integers from 0 on."""
        return self.family is Family.UNSIGNED

    @property
    def integer_range(self) -> range:
        """The integers that an integer type holds."""
        half = 1 << (self.bits - 1)
        return range(2 * half) if self.is_unsigned else range(-half, half)

    @property
    def is_bool(self) -> bool:
        """Whether the type is the truth value."""
        return self.family is Family.BOOL

    def numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype with the same values and the same bytes in memory."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        if self.extension:
            import ml_dtypes  # noqa: PLC0415

            return np.dtype(getattr(ml_dtypes, self.numpy_name))
        return np.dtype(self.numpy_name)

    def __str__(self) -> str:
        return self.name

    # The names that authors of the reference language know.

    def bitwidth(self) -> int:
        """Bits of one element in a register."""
        return self.bits

    def is_float_asm(self) -> bool:
        """As ``is_float``."""
        return self.is_float

    def is_int_asm(self) -> bool:
        """Whether the type is an integer or the truth value, and no index."""
        return self.is_bool or (self.is_integer and not self.is_index_asm())

    def is_index_asm(self) -> bool:
        """Whether the type is that of indices."""
        return self.family is Family.INDEX

    def ir_type_asm(self) -> str:
        """The type in MLIR's spelling."""
        if self.is_float and self.bits <= 8:
            return self.name[:2] + self.name[2:].upper()
        if self.is_unsigned:
            return f"i{self.bits}"  # signs are the business of operations
        return "i1" if self.is_bool else self.name


def _float(name: str, bits: int, numpy_name: str, *, extension: bool = False) -> DType:
    return DType(name, bits, Family.FLOAT, numpy_name, extension)


f64 = _float("f64", 64, "float64")
f32 = _float("f32", 32, "float32")
f16 = _float("f16", 16, "float16")
bf16 = _float("bf16", 16, "bfloat16", extension=True)
f8e5m2 = _float("f8e5m2", 8, "float8_e5m2", extension=True)
f8e5m2fnuz = _float("f8e5m2fnuz", 8, "float8_e5m2fnuz", extension=True)
f8e4m3fn = _float("f8e4m3fn", 8, "float8_e4m3fn", extension=True)
f8e4m3fnuz = _float("f8e4m3fnuz", 8, "float8_e4m3fnuz", extension=True)
f8e8m0fnu = _float("f8e8m0fnu", 8, "float8_e8m0fnu", extension=True)
f6e2m3fn = _float("f6e2m3fn", 6, "float6_e2m3fn", extension=True)
f6e3m2fn = _float("f6e3m2fn", 6, "float6_e3m2fn", extension=True)
f4e2m1fn = _float("f4e2m1fn", 4, "float4_e2m1fn", extension=True)
i64 = DType("i64", 64, Family.INTEGER, "int64")
i32 = DType("i32", 32, Family.INTEGER, "int32")
i16 = DType("i16", 16, Family.INTEGER, "int16")
i8 = DType("i8", 8, Family.INTEGER, "int8")
i4 = DType("i4", 4, Family.INTEGER, "int4", extension=True)
u64 = DType("u64", 64, Family.UNSIGNED, "uint64")
u32 = DType("u32", 32, Family.UNSIGNED, "uint32")
u16 = DType("u16", 16, Family.UNSIGNED, "uint16")
u8 = DType("u8", 8, Family.UNSIGNED, "uint8")
index = DType("index", 64, Family.INDEX, "int64")
bool_ = DType("bool", 1, Family.BOOL, "bool")

DTYPES: Mapping[str, DType] = {
    dtype.name: dtype
    for dtype in (
        *(f64, f32, f16, bf16),
        *(f8e5m2, f8e5m2fnuz, f8e4m3fn, f8e4m3fnuz, f8e8m0fnu),
        *(f6e2m3fn, f6e3m2fn, f4e2m1fn),
        *(i64, i32, i16, i8, i4, u64, u32, u16, u8, index, bool_),
    )
}
