"""Random steps on bits: the same ones as another type, and random numbers by Philox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_testing.programs.exact import SIGNIFICANT, Info, any_unsigned, is_float

if TYPE_CHECKING:
    from wave_testing.programs.builder import Builder

WIDTHS = {
    "f8e5m2": 8,
    "f8e4m3fn": 8,
    "i8": 8,
    "u8": 8,
    "f16": 16,
    "bf16": 16,
    "i16": 16,
    "u16": 16,
    "f32": 32,
    "i32": 32,
    "u32": 32,
}
"""The bits of the element types whose bits are all known here."""


def bitcast(build: Builder) -> str | None:
    """The bits of a number as an integer, of an integer with the other kind of sign.

    Of floats only magnitudes: whether a zero is negative is no part of the language.
    """
    rows = [(name, i) for name, i in build.numbers() if i.dtype in WIDTHS]
    if not rows:
        return None
    name, info = build.space.pick(rows[-6:])
    bits = WIDTHS[info.dtype]
    if is_float(info.dtype):
        magnitude = build.pointwise("abs", (name,))
        return magnitude and _bits(build, magnitude, f"i{bits}", 2 ** (bits - 1) - 1)
    if info.dtype[0] == "i":
        return _bits(build, name, f"u{bits}", 2**bits - 1)
    if info.bound >= 2 ** (bits - 1):
        return None
    return _bits(build, name, f"i{bits}", info.bound)


def _bits(build: Builder, name: str, dtype: str, bound: int) -> str | None:
    info = Info(build.info(name).dims, dtype, bound)
    return build.emit("bitcast", info, (name,), dtype=dtype)


def philox(build: Builder) -> str | None:
    """Random words for integers, with a number or a register as the seed."""
    rows = [(name, i) for name, i in build.numbers() if i.dtype in SIGNIFICANT]
    rows = [(name, i) for name, i in rows if not is_float(i.dtype)]
    if not rows:
        return None
    name, info = build.space.pick(rows[-6:])
    fields = {"seed": int(build.rng.integers(-2, 1 << 40)), "dtype": "u32"}
    fields["word"] = int(build.rng.integers(4))
    words = any_unsigned(info.dims, "u32")
    return build.emit("philox", words, (name,), shape=info.dims, **fields)
