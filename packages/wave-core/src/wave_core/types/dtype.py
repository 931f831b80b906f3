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
    INDEX = "index"
    BOOL = "bool"


@dataclass(frozen=True, slots=True)
class DType:
    """An element type.

    Units: ``bits`` is the width in registers and in memory; ``bool`` counts as
    8 bits in memory (one byte an element, as torch stores it).
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
    def is_float(self) -> bool:
        """Whether the type is a floating-point type."""
        return self.family is Family.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether the type counts as an integer in arithmetic (index included)."""
        return self.family in (Family.INTEGER, Family.INDEX)

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
i64 = DType("i64", 64, Family.INTEGER, "int64")
i32 = DType("i32", 32, Family.INTEGER, "int32")
i16 = DType("i16", 16, Family.INTEGER, "int16")
i8 = DType("i8", 8, Family.INTEGER, "int8")
index = DType("index", 64, Family.INDEX, "int64")
bool_ = DType("bool", 1, Family.BOOL, "bool")

DTYPES: Mapping[str, DType] = {
    dtype.name: dtype
    for dtype in (
        *(f64, f32, f16, bf16),
        *(f8e5m2, f8e5m2fnuz, f8e4m3fn, f8e4m3fnuz, f8e8m0fnu),
        *(i64, i32, i16, i8, index, bool_),
    )
}
