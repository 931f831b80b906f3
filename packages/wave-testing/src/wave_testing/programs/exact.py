"""Which numbers a value may hold, so that every operation on it is exact.

A value holds integer multiples of ``2**lsb`` of magnitude at most ``bound``. An
operation is only generated where its result is exactly representable; then the order
of additions and the width of intermediate results cannot show, and results are
compared bit by bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wave_testing.programs.kinds import COMPARISONS, LOGIC, ROUNDINGS, SHIFTS

FLOATS: Mapping[str, tuple[int, int, int]] = {
    "f16": (11, -24, 15),
    "bf16": (8, -133, 127),
    "f32": (24, -149, 127),
    "f64": (53, -1074, 1023),
    "f8e5m2": (3, -16, 15),
    "f8e4m3fn": (4, -9, 8),
    "f8e5m2fnuz": (3, -17, 15),
    "f8e4m3fnuz": (4, -10, 7),
    "f4e2m1fn": (2, -1, 2),
    "f8e8m0fnu": (1, -127, 127),
}
"""Significant bits of a float; exponents of its smallest and of its largest number;
IEEE 754-2019, table 3.5, and the OCP 8-bit floating point specification 1.0."""

SIGNIFICANT: Mapping[str, int] = {
    **{name: row[0] for name, row in FLOATS.items()},
    "i8": 7,
    "i16": 15,
    "i32": 31,
    "i64": 53,
    "u8": 8,
    "u16": 16,
    "u32": 32,
    "u64": 53,
    "bool": 1,
}
"""Bits of the integers that an element type holds exactly.

Bits beyond 53 cannot be compared in f64.
"""

GENERATED = tuple(
    name
    for name in SIGNIFICANT
    if not name.endswith("fnuz") and name not in ("f4e2m1fn", "f8e8m0fnu")
)
"""The element types of random programs; those of a chip come with `for_target`, those
of scaled products stand nowhere else."""

_SMALLEST = -9
"""Lowest ``lsb`` generated: far above the subnormal numbers of f16."""


def is_unsigned(dtype: str) -> bool:
    """Whether an element type has integers without a sign."""
    return dtype[0] == "u"


def wraps(dtype: str) -> bool:
    """Whether sums of an element type may wrap around; those of 64 bits stay small."""
    return is_unsigned(dtype) and dtype != "u64"


def is_float(dtype: str) -> bool:
    """Whether an element type is a float, by name."""
    return dtype[0] == "f" or dtype == "bf16"


@dataclass(frozen=True)
class Info:
    """Known limits of a value.

    Attributes:
        dims: Its dimensions in order.
        dtype: Its element type by name.
        bound: The largest magnitude that an element may have.
        lsb: Elements are multiples of ``2**lsb``.
        power: Whether elements are powers of two.
    """

    dims: tuple[str, ...]
    dtype: str
    bound: int = 1
    lsb: int = 0
    power: bool = False

    @property
    def exact(self) -> bool:
        """Whether the element type holds all such numbers."""
        steps = self.bound * 2 ** max(0, -self.lsb)
        top = 2 ** SIGNIFICANT[self.dtype]
        return self.lsb >= _SMALLEST and steps < top and self.bound < top

    def over(self, dims: tuple[str, ...]) -> Info:
        """The same numbers on other dims."""
        return replace(self, dims=dims)


_WRAPPING = ("add", "sub", "mul", "lshift", *LOGIC)
"""Kinds whose results may be beyond those of their element type, or below 0."""


def any_unsigned(dims: tuple[str, ...], dtype: str) -> Info:
    """The limits of numbers that may have wrapped around."""
    return Info(dims, dtype, 2 ** SIGNIFICANT[dtype] - 1)


def elementwise(  # noqa: PLR0911 - one return for each kind
    kind: str, dims: tuple[str, ...], parts: list[Info]
) -> Info | None:
    """The limits of an elementwise result; ``None`` where they are not known."""
    first = parts[0]
    lsb = min(part.lsb for part in parts)
    most = max(part.bound for part in parts)
    if kind in COMPARISONS:
        return Info(dims, "bool")
    if wraps(first.dtype) and kind in _WRAPPING:
        return any_unsigned(dims, first.dtype)
    if is_unsigned(first.dtype) and kind in ("sub", "not"):
        return None
    if kind in ("add", "sub"):
        return Info(dims, first.dtype, sum(p.bound for p in parts), lsb)
    if kind == "mul":
        bound, low = parts[0].bound * parts[1].bound, parts[0].lsb + parts[1].lsb
        return Info(dims, first.dtype, bound, low)
    if kind in ("maximum", "minimum"):
        return Info(dims, first.dtype, most, lsb)
    if kind in ("neg", "abs"):
        return replace(first, dims=dims, power=False)
    if kind in ROUNDINGS:
        return replace(first, dims=dims, lsb=0, bound=first.bound + 1, power=False)
    if kind in ("floordiv", "mod", *SHIFTS, *LOGIC):
        return _of_integers(kind, dims, parts)
    return _powers(kind, dims, first)


def _of_integers(kind: str, dims: tuple[str, ...], parts: list[Info]) -> Info:
    first, most = parts[0], max(part.bound for part in parts)
    if kind in SHIFTS:
        more = parts[1].bound if kind == "lshift" else 0
        return Info(dims, first.dtype, first.bound << more)
    if kind in LOGIC:
        bits = 1 if first.dtype == "bool" else 2 ** most.bit_length()
        return Info(dims, first.dtype, bits)
    return Info(dims, first.dtype, most + (not is_unsigned(first.dtype)))


def _powers(kind: str, dims: tuple[str, ...], first: Info) -> Info | None:
    if kind == "exp2" and first.lsb >= 0 and first.bound <= -_SMALLEST:
        return Info(dims, first.dtype, 2**first.bound, -first.bound, power=True)
    if kind == "reciprocal" and first.power:
        lsb = 1 - first.bound.bit_length()  # of the reciprocal of the largest element
        return Info(dims, first.dtype, 2 ** max(0, -first.lsb), lsb, True)
    return None
