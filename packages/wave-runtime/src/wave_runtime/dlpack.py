"""Reads what ``__dlpack__`` gives, without any array library.

Source of all layouts and numbers: dlpack.h, versions 0.8 to 1.1; ``DLManagedTensor``
begins with its ``DLTensor``.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from wave_runtime.errors import Misfit, UnfitArgument

_CAPSULE = b"dltensor"

_TENSOR = struct.Struct("=QiiiBBHQQQ")
"""data, device type, device id, dimensions, type code, bits, lanes, shape, strides,
byte offset."""

_unpack = _TENSOR.unpack_from

_Words = ctypes.c_uint64 * (_TENSOR.size // 8)

_Key = tuple[int, int, int, int, int, bytes, bytes | None]

_pointer_of = cast(
    "Callable[[object, bytes], int]",
    ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    ),
)

ROCM = 10
"""``kDLROCM``."""

MEMORIES = {1: "cpu", 2: "cuda", 3: "cpu", 10: "rocm", 11: "pinned", 13: "cuda"}
"""By ``DLDeviceType``."""

DTYPES = {
    (0, 8): "i8",
    (0, 16): "i16",
    (0, 32): "i32",
    (0, 64): "i64",
    (1, 8): "u8",
    (1, 16): "u16",
    (1, 32): "u32",
    (1, 64): "u64",
    (2, 16): "f16",
    (2, 32): "f32",
    (2, 64): "f64",
    (4, 16): "bf16",
    (6, 8): "bool",
    (10, 8): "f8e4m3fn",
    (11, 8): "f8e4m3fnuz",
    (12, 8): "f8e5m2",
    (13, 8): "f8e5m2fnuz",
    (14, 8): "f8e8m0fnu",
}
"""By ``DLDataTypeCode`` and bits."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array as its producer describes it.

    Attributes:
        strides: In elements; ``None`` for row-major.
        item_bytes: Bytes of one element.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    item_bytes: int
    memory: str
    ordinal: int | None


@lru_cache(maxsize=64)
def _row(rank: int) -> type[ctypes.Array[ctypes.c_int64]]:
    """The type of ``rank`` extents or strides."""
    return ctypes.c_int64 * rank


def glance(value: Any, stream: int) -> tuple[int, Hashable]:
    """The address of an argument, and a key of all else.

    The producer waits for work of other streams on the memory.

    Raises:
        UnfitArgument: where the producer gives nothing.
    """
    try:
        if value.__dlpack_device__()[0] == ROCM:
            capsule = value.__dlpack__(stream=stream)
        else:
            capsule = value.__dlpack__()
        words = _Words.from_address(_pointer_of(capsule, _CAPSULE))
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise _nothing(value, error) from None
    data, kind, ordinal, rank, code, bits, lanes, shape, strides, offset = _unpack(
        words
    )
    row = _row(rank)
    extents = bytes(row.from_address(shape)) if rank else b""
    steps = bytes(row.from_address(strides)) if rank and strides else None
    return data + offset, (kind, ordinal, code, bits, lanes, extents, steps)


def _nothing(value: object, error: Exception) -> UnfitArgument:
    return UnfitArgument(
        Misfit.KIND,
        f"of type {type(value).__name__}, which cannot be shared through DLPack",
        "pass a torch tensor or a numpy array",
        f"{type(error).__name__}: {error}",
    )


def read(value: Any) -> Tensor:
    """All that a producer says of an argument.

    Raises:
        UnfitArgument: where it gives nothing.
    """
    pointer, key = glance(value, 0)
    _, _, code, bits, lanes, extents, steps = cast("_Key", key)
    kind, ordinal = map(int, value.__dlpack_device__())
    name = DTYPES.get((code, bits), f"dlpack type {code} of {bits} bits")
    memory = MEMORIES.get(kind, f"DLPack device {kind}")
    return Tensor(
        pointer,
        _numbers(extents),
        None if steps is None else _numbers(steps),
        name if lanes == 1 else f"{lanes} lanes of {name}",
        lanes * -(-bits // 8),
        memory,
        None if memory == "cpu" else ordinal,
    )


def _numbers(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"={len(data) // 8}q", data)
