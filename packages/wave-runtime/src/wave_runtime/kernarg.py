"""The bytes of a kernel's arguments: pointers, then 32-bit words."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_BITS: Mapping[str, int] = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
_UNSIGNED_BITS: Mapping[str, int] = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}
"""Of integers. A narrow one is extended to a word, with its sign if it has one."""

INTEGERS = frozenset({*_BITS, *_UNSIGNED_BITS})


def pack(pointers: Sequence[int], words: bytes) -> bytes:
    """The argument segment: 8 bytes a pointer, then the constants."""
    return struct.pack(f"<{len(pointers)}Q", *pointers) + words


def scalar_packer(dtype: str) -> Callable[[Any], bytes]:
    """A function from numbers to the words of a scalar argument.

    Its result raises ``struct.error``, ``OverflowError``, ``TypeError`` or
    ``ValueError`` where the number does not fit: nothing is cut or rounded to an
    integer.
    """
    if dtype in _BITS:
        return _integer(_BITS[dtype])
    if dtype in _UNSIGNED_BITS:
        return _unsigned(_UNSIGNED_BITS[dtype])
    return {"bool": _bool, "f16": _f16, "bf16": _bf16}.get(dtype) or _FLOATS[dtype]


_FLOATS = {"f32": struct.Struct("<f").pack, "f64": struct.Struct("<d").pack}


def _integer(bits: int) -> Callable[[Any], bytes]:
    half = 1 << (bits - 1)
    return _within(range(-half, half), struct.Struct("<q" if bits > 32 else "<i"))


def _unsigned(bits: int) -> Callable[[Any], bytes]:
    return _within(range(1 << bits), struct.Struct("<Q" if bits > 32 else "<I"))


def _within(held: range, words: struct.Struct) -> Callable[[Any], bytes]:
    def packed(value: Any) -> bytes:
        number = operator.index(value)
        if number not in held:
            raise OverflowError(number)
        return words.pack(number)

    return packed


def _bool(value: Any) -> bytes:
    if value not in {False, True}:
        raise ValueError(value)
    return struct.pack("<i", bool(value))


def _f16(value: Any) -> bytes:
    return struct.pack("<e", value) + b"\0\0"


def _bf16(value: Any) -> bytes:
    """Rounded to nearest even."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if math.isnan(value):
        return struct.pack("<I", 0x7FC0)
    bits += 0x7FFF + ((bits >> 16) & 1)
    return struct.pack("<I", (bits >> 16) & 0xFFFF)
