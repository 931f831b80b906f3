"""Which numbers a value may hold, so that every operation on it is exact.

A value holds integer multiples of ``2**lsb`` of magnitude at most ``bound``. An
operation is only generated where its result is exactly representable; then the order
of additions and the width of intermediate results cannot show, and results are
compared bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_testing.programs.kinds import COMPARISONS, LOGIC, ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

FLOATS: Mapping[str, tuple[int, int, int]] = {
    "f16": (11, -24, 15),
    "bf16": (8, -133, 127),
    "f32": (24, -149, 127),
    "f64": (53, -1074, 1023),
    "f8e5m2": (3, -16, 15),
    "f8e4m3fn": (4, -9, 8),
    "f8e5m2fnuz": (3, -17, 15),
    "f8e4m3fnuz": (4, -10, 7),
}
"""Significant bits of a float; exponents of its smallest and of its largest number;
IEEE 754-2019, table 3.5, and the OCP 8-bit floating point specification 1.0."""

SIGNIFICANT: Mapping[str, int] = {
    **{name: row[0] for name, row in FLOATS.items()},
    "i8": 7,
    "i16": 15,
    "i32": 31,
    "i64": 53,
    "bool": 1,
}
"""Bits of the integers that an element type holds exactly.

Bits beyond 53 cannot be compared in f64.
"""

GENERATED = tuple(name for name in SIGNIFICANT if not name.endswith("fnuz"))
"""The element types of random programs; those of a chip come with `for_target`."""

_SMALLEST = -9
"""Lowest ``lsb`` generated: far above the subnormal numbers of f16."""


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


def elementwise(  # noqa: PLR0911 - one return for each kind
    kind: str, dims: tuple[str, ...], parts: list[Info]
) -> Info | None:
    """The limits of an elementwise result; ``None`` where they are not known."""
    first = parts[0]
    lsb = min(part.lsb for part in parts)
    most = max(part.bound for part in parts)
    if kind in COMPARISONS:
        return Info(dims, "bool")
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
    if kind in ("floordiv", "mod"):
        return Info(dims, first.dtype, most + 1)
    if kind in LOGIC:
        bits = 1 if first.dtype == "bool" else 2 ** most.bit_length()
        return Info(dims, first.dtype, bits)
    return _powers(kind, dims, first)


def _powers(kind: str, dims: tuple[str, ...], first: Info) -> Info | None:
    if kind == "exp2" and first.lsb >= 0 and first.bound <= -_SMALLEST:
        return Info(dims, first.dtype, 2**first.bound, -first.bound, power=True)
    if kind == "reciprocal" and first.power:
        return Info(dims, first.dtype, 2 ** max(0, -first.lsb), _log2(first), True)
    return None


def _log2(info: Info) -> int:
    """The exponent of the reciprocal of the largest element."""
    return 1 - info.bound.bit_length()
