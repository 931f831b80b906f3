"""Rows of the vector comparisons: V_CMP, V_CMPX and the class tests."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.isa.vector import Row, table

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function


def _never(a: Array, b: Array) -> Array:
    return np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_)


def _always(a: Array, b: Array) -> Array:
    return ~_never(a, b)


def _not(function: Function) -> Function:
    return lambda a, b: ~function(a, b)


def _less_greater(a: Array, b: Array) -> Array:
    return (a < b) | (a > b)


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


_INTEGER: dict[str, Function] = {
    "F": _never, "LT": np.less, "EQ": np.equal, "LE": np.less_equal,
    "GT": np.greater, "NE": np.not_equal, "GE": np.greater_equal, "T": _always,
}  # fmt: skip

FLOAT: dict[str, Function] = {
    "F": _never, "LT": np.less, "EQ": np.equal, "LE": np.less_equal,
    "GT": np.greater, "LG": _less_greater, "GE": np.greater_equal,
    "O": _not(_unordered), "U": _unordered, "NGE": _not(np.greater_equal),
    "NLG": _not(_less_greater), "NGT": _not(np.greater), "NLE": _not(np.less_equal),
    "NEQ": _not(np.equal), "NLT": _not(np.less), "TRU": _always, "T": _always,
}  # fmt: skip


def classify(a: Array, mask: Array) -> Array:
    """V_CMP_CLASS: whether a value is of a class whose bit is set (ISA)."""
    negative = np.signbit(a)
    tiny = np.finfo(a.dtype).tiny
    width = a.dtype.itemsize * 8
    quiet_bit = {16: 9, 32: 22, 64: 51}[width]
    bits = a.view(f"u{a.dtype.itemsize}")
    quiet = (bits >> bits.dtype.type(quiet_bit) & bits.dtype.type(1)).astype(np.bool_)
    magnitude = np.abs(a)
    nan, infinite, zero = np.isnan(a), np.isinf(a), a == 0
    denormal = (magnitude < tiny) & ~zero
    normal = ~nan & ~infinite & ~zero & ~denormal
    tests = [
        nan & ~quiet, nan & quiet, infinite & negative, normal & negative,
        denormal & negative, zero & negative, zero & ~negative, denormal & ~negative,
        normal & ~negative, infinite & ~negative,
    ]  # fmt: skip
    wanted = mask.astype(np.uint32)
    result = _never(a, mask)
    for bit, test in enumerate(tests):
        result = result | test & (wanted >> np.uint32(bit) & np.uint32(1)).astype(
            np.bool_
        )
    return result


def rows() -> dict[str, Row]:
    """All rows by name."""
    found: dict[str, Row] = {}
    for head in ("CMP_", "CMPX_"):
        for t in ("f16", "f32", "f64"):
            tag, mask = "_" + t.upper(), "u16" if t == "f16" else "u32"
            compares = {head + name: function for name, function in FLOAT.items()}
            tests: dict[str, Function] = {head + "CLASS": classify}
            found |= table("mask", f"{t} {t}", compares, tag)
            found |= table("mask", f"{t} {mask}", tests, tag, exact=True)
        for t in ("i16", "u16", "i32", "u32", "i64", "u64"):
            compares = {head + name: function for name, function in _INTEGER.items()}
            found |= table("mask", f"{t} {t}", compares, "_" + t.upper())
    return found
