"""Conversions between types (section 9.7.9.22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx import floats
from wave_emulator_ptx.isa.arithmetic import computed, values
from wave_emulator_ptx.types import TYPES, Type, in_modifiers

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Selection
    from wave_emulator_ptx.batch import Batch, Step
    from wave_emulator_ptx.scope import Scope
    from wave_emulator_ptx.syntax import Instruction

INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
DIRECTIONS = frozenset({"rn", "rz", "rm", "rp"})


def bind(instruction: Instruction, scope: Scope) -> Step:
    """``cvt.to.from``."""
    to, source = in_modifiers(instruction.modifiers)
    if to.lanes == 2 and source.lanes == 1:
        return _bind_pair(instruction, scope, to, source)

    def convert(a: Array) -> Array:
        return converted(a, to, source, instruction.modifiers)

    return computed(instruction, scope, convert, to, [source])


def _bind_pair(instruction: Instruction, scope: Scope, to: Type, source: Type) -> Step:
    """``d, a, b``: a is the upper half, b the lower one."""
    write = scope.write(instruction.operands[0], to, instruction)
    upper, lower = (
        values(scope, each, source, instruction) for each in instruction.operands[1:]
    )

    def step(batch: Batch, chosen: Selection) -> None:
        both = np.broadcast_arrays(lower(batch, chosen), upper(batch, chosen))
        found = converted(np.stack(both, axis=-1), to, source, instruction.modifiers)
        write(batch, chosen, to.encode(found))

    return step


def converted(a: Array, to: Type, source: Type, modifiers: tuple[str, ...]) -> Array:
    """Values of one type as values of another."""
    with np.errstate(all="ignore"):
        if "ftz" in modifiers and a.dtype == np.float32:
            a = floats.flush(a)
        if source.kind == "f" and to.kind == "f":
            return _float_to_float(a, to, source, modifiers)
        if source.kind == "f":
            return _float_to_integer(a, to, source, modifiers)
        if to.kind == "f":
            return _integer_to_float(a, to, modifiers)
        return _integer_to_integer(a, to, modifiers)


def _direction(modifiers: tuple[str, ...]) -> str:
    return next((each for each in modifiers if each in DIRECTIONS), "rn")


MOVED = frozenset({("f32", "f32"), ("f32", "bf16")})
"""These words alone keep the bits of NaN, and so do conversions to f64 and from f64 to
f32. All others give the one NaN of their type, as was seen on an H200."""


def _float_to_float(
    a: Array, to: Type, source: Type, modifiers: tuple[str, ...]
) -> Array:
    for name in set(INTEGRAL) & set(modifiers):
        a = INTEGRAL[name](a)
    if "relu" in modifiers:
        a = np.where(a > 0, a, np.where(np.isnan(a), a, np.zeros_like(a)))
    if "sat" in modifiers:
        a = floats.limited(a)
    if to.name == "tf32":
        return _tf32(a)
    found = floats.narrowed(a, to.values, _direction(modifiers))
    if "satfinite" in modifiers:
        found = _finite(found, a, to)
    if "ftz" in modifiers and to.values == np.float32:
        found = floats.flush(found)
    kept = modifiers in MOVED or (source.name, to.name) == ("f64", "f32")
    return found if kept else floats.one_nan(found)


def _finite(found: Array, exact: Array, to: Type) -> Array:
    """Beyond the largest number it is the largest number; NaN stays."""
    top = {"e4m3x2": 448.0, "e5m2x2": 57344.0, "f16x2": 65504.0}[to.name]
    limited = np.copysign(np.float32(top), exact).astype(to.values)
    return np.where(np.abs(exact) > top, limited, found)


def _tf32(a: Array) -> Array:
    """Ten bits of fraction; ties away from zero (``.rna``)."""
    bits = a.view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    kept = bits & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(a), rounded, kept).view(np.float32)


def _float_to_integer(
    a: Array, to: Type, source: Type, modifiers: tuple[str, ...]
) -> Array:
    """Rounded, kept within the type; NaN is 0, or the highest bit alone.

    Source: section 9.7.9.22 of the PTX ISA, integer rounding.
    """
    modes = set(INTEGRAL) & set(modifiers)
    wide = a.astype(np.float64)
    whole = INTEGRAL[modes.pop() if modes else "rzi"](wide)
    limits = np.iinfo(to.values)
    kept = np.where(np.isnan(whole), 0, whole)
    inside = np.clip(kept, float(limits.min), float(limits.max))
    # The largest 64-bit integers are no doubles: they are put in afterwards.
    most = inside >= float(limits.max)
    found = np.where(most, 0, inside).astype(to.values)
    found = np.where(most, np.array(limits.max, to.values), found)
    if max(to.width, source.width) < 64:
        return found
    nan = np.array(1 << to.width - 1, to.words).view(to.values)
    return np.where(np.isnan(wide), nan, found)


def _integer_to_float(a: Array, to: Type, modifiers: tuple[str, ...]) -> Array:
    return floats.of_integers(a, to.values, _direction(modifiers))


def _integer_to_integer(a: Array, to: Type, modifiers: tuple[str, ...]) -> Array:
    if "sat" in modifiers:
        limits, own = np.iinfo(to.values), np.iinfo(a.dtype)
        a = np.clip(a, max(limits.min, own.min), min(limits.max, own.max))
    return a.astype(to.values)


def bind_address(instruction: Instruction, scope: Scope) -> Step:
    """``cvta``: addresses are the same in every space, so it moves them."""
    kind = TYPES[instruction.modifiers[-1]]
    write = scope.write(instruction.operands[0], kind, instruction)
    read = scope.read(instruction.operands[1], kind, instruction)
    return lambda batch, chosen: write(batch, chosen, read(batch, chosen))
