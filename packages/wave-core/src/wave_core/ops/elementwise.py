"""The common part of elementwise ops: type rule, and evaluation that rounds once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from wave_core.ops import rules
from wave_core.ops.base import Op, operand
from wave_core.ops.traits import Trait
from wave_core.types import DTYPES, RegisterType

if TYPE_CHECKING:
    from wave_core.types import DType, Family

SATURATING = {"f8e4m3fn": 448.0, "f6e3m2fn": 28.0, "f6e2m3fn": 7.5, "f4e2m1fn": 6.0}
"""Types without infinities that clamp to their greatest value instead.

Source: OCP 8-bit floating point specification 1.0, section 5.2 (saturating mode), as
torch 2.13 converts; microscaling formats specification 1.0, section 5.3.
"""

BOOL = DTYPES["bool"]
F32 = DTYPES["f32"]


def compute_dtype(dtype: DType) -> DType:
    """The type to compute in: narrow floats are widened to f32, as torch does."""
    return F32 if dtype.is_float and dtype.bits < F32.bits else dtype


def convert(array: Any, dtype: DType) -> Any:
    """``array`` in ``dtype`` as torch converts: towards narrow floats through f32."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

    array = np.asarray(array)
    wanted = dtype.numpy()
    if array.dtype == wanted:
        return array
    with np.errstate(all="ignore"):
        if array.dtype.name == "int4":
            array = array.astype(np.int8)
        if not _is_plain(array.dtype) or compute_dtype(dtype) != dtype:
            array = array if array.dtype == np.bool_ else _through_f32(array, dtype)
        if dtype.name == "f8e8m0fnu":
            return _power_of_two(array.astype(np.float32)).view(wanted)
        return (_clamp(array, dtype) if dtype.name in SATURATING else array).astype(
            wanted
        )


def _is_plain(numpy_dtype: Any) -> bool:
    # Types that a package registers say 2; float8_e5m2 has the kind of a float.
    return numpy_dtype.isbuiltin == 1


def _through_f32(array: Any, dtype: DType) -> Any:
    import numpy as np  # noqa: PLC0415

    if array.dtype in (np.float32, np.float16):
        return array
    return array.astype(compute_dtype(dtype).numpy() if dtype.is_float else np.float32)


def _power_of_two(array: Any) -> Any:
    """The exponents of f32 magnitudes, rounded to nearest; 255 for what is no number.

    As torch rounds: numbers below the least normal one lie at 2**-127 or above.
    """
    import numpy as np  # noqa: PLC0415

    bits = array.view(np.uint32) & 0x7FFFFFFF
    rounded = (bits + 0x3FFFFF + np.minimum(bits >> 23, 1)) >> 23
    return np.minimum(rounded, 255).astype(np.uint8)


def _clamp(array: Any, dtype: DType) -> Any:
    """Numbers up to the greatest of ``dtype``; that stands for NaN, if it has none."""
    import numpy as np  # noqa: PLC0415

    limit: Any = SATURATING[dtype.name]
    plain: Any = array.astype(np.float32)
    if dtype.is_packed:
        # What is NaN on one side only counts as missing there.
        return np.copysign(np.fmin(np.abs(plain), limit), plain)
    return np.clip(plain, -limit, limit)


class Elementwise(Op, traits={Trait.PURE, Trait.ELEMENTWISE}):
    """An op that works on each element by itself.

    Dims of the operands are united; a scalar operand stands for every element.
    """

    allowed: ClassVar[frozenset[Family]] = rules.NUMBERS
    hint: ClassVar[str] = ""
    numpy_name: ClassVar[str] = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the operands."""
        return tuple(field.name for field in self.operand_fields)

    def infer(self) -> RegisterType:
        """All operands have one element type, and so has the result."""
        dtype = rules.same_dtype(self, self.operands, self.roles)
        for value, role in zip(self.operands, self.roles, strict=True):
            rules.require_family(self, value, role, self.allowed, self.hint)
        shape = rules.union_shape(self, self.operands, self.roles)
        return RegisterType(shape, self.result_dtype(dtype))

    def result_dtype(self, dtype: DType) -> DType:
        """The element type of the result, given that of the operands."""
        return dtype

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The meaning on arrays of the compute type; ``np`` is numpy.

        By default numpy's function ``numpy_name``, or the one named as the op.
        """
        return getattr(np, self.numpy_name or self.op_name)(*arrays)

    def evaluate(self, *operands: Any) -> Any:
        """Compute wide, round once to the element type of the result."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        wide = [self._widen(np, array) for array in operands]
        with np.errstate(all="ignore"):
            return convert(self.compute(np, *wide), self.register_type.dtype)

    def _widen(self, np: Any, array: Any) -> Any:
        array = np.asarray(array)
        narrow = not _is_plain(array.dtype) or array.dtype == np.float16
        return array.astype(np.float32) if narrow else array


class Unary(Elementwise):
    """An elementwise op of one operand."""

    value: Op = operand(help="the register to compute on")


class Binary(Elementwise):
    """An elementwise op of two operands of one element type."""

    lhs: Op = operand(help="the left operand")
    rhs: Op = operand(help="the right operand")
