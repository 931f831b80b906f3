"""Arguments as a launch sees them: address, shape, element type, where they are.

A launch looks at each argument twice at most: a *glance* gives the address and a key
that says whether the argument is like one of an earlier launch; only a new key makes
the full *view*.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from wave_runtime import dlpack
from wave_runtime.errors import LaunchRefused

_TYPES = {
    "f2": "f16",
    "f4": "f32",
    "f8": "f64",
    "i1": "i8",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "b1": "bool",
    "u1": "i8",
}
"""By kind and size in ``typestr``."""

_NAMES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "bool",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
}
"""By the names that torch and numpy use."""

_TORCH_MEMORY = {"cpu": "host", "cuda": "device"}
"""torch calls AMD's GPUs ``cuda`` too; others by their own name."""

BYTES = {
    "f64": 8,
    "i64": 8,
    "index": 8,
    "f32": 4,
    "i32": 4,
    "f16": 2,
    "bf16": 2,
    "i16": 2,
}
"""Bytes of an element; 1 for all others."""


@dataclass(frozen=True, slots=True)
class ArrayView:
    """Memory that an argument stands for.

    Attributes:
        pointer: Its address.
        shape: Extents.
        dtype: The element type; a name of no kernel where it is unknown.
        contiguous: Whether it is row-major without gaps.
        memory: ``host``, ``device``, ``pinned`` (both reach it), or another name.
        ordinal: Which device; ``None`` where nothing says it.
        writable: Whether it may be written.
    """

    pointer: int
    shape: tuple[int, ...]
    dtype: str
    contiguous: bool
    memory: str = "host"
    ordinal: int | None = None
    writable: bool = True


Glance = Callable[[Any, int], tuple[int, Hashable]]
"""Of an argument and a stream: its address, and a key of all else."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How arguments of one Python type are looked at."""

    glance: Glance
    view: Callable[[Any], ArrayView]


def view(value: Any) -> ArrayView:
    """What an argument is.

    Takes tensors of torch, arrays of numpy, and what has ``__dlpack__``,
    ``__cuda_array_interface__`` or ``__array_interface__``.

    Raises:
        LaunchRefused: for anything else.
    """
    return reader_of(value.__class__).view(value)


@lru_cache(maxsize=256)
def reader_of(kind: type[Any]) -> Reader:
    """How to look at arguments of a type."""
    if hasattr(kind, "data_ptr") and hasattr(kind, "is_contiguous"):
        return Reader(_glance_torch, _view_torch)
    if hasattr(kind, "__array_interface__") and hasattr(kind, "ctypes"):
        return Reader(_glance_numpy, _view_numpy)
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        return Reader(_glance_dlpack, _view_dlpack)
    return Reader(_glance_interface, _view_interface)


@lru_cache(maxsize=256)
def dtype_name(dtype: Hashable) -> str:
    """The name of an element type of torch or numpy; its own text if unknown."""
    text = str(dtype).rpartition(".")[2]
    return _NAMES.get(text, text)


def _glance_torch(value: Any, stream: int) -> tuple[int, Hashable]:
    del stream
    plain = value.is_contiguous() and not value.is_neg()
    return value.data_ptr(), (value.shape, value.dtype, plain, value.device)


def _view_torch(value: Any) -> ArrayView:
    memory, ordinal = str(value.device.type), value.device.index
    return ArrayView(
        value.data_ptr(),
        tuple(value.shape),
        dtype_name(value.dtype),
        bool(value.is_contiguous()) and not value.is_neg(),
        _TORCH_MEMORY.get(memory, memory),
        None if memory == "cpu" else ordinal,
    )


def _glance_numpy(value: Any, stream: int) -> tuple[int, Hashable]:
    del stream
    flags = value.flags
    key = (value.shape, value.dtype, flags.c_contiguous, flags.writeable)
    return _numpy_address(value), key


def _numpy_address(value: Any) -> int:
    """The address of an array; the first way is the fast one, for most arrays."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(value))
    except (BufferError, TypeError, ValueError):
        # Read-only, with gaps, empty, or of a type without a buffer format.
        return int(value.ctypes.data)


def _view_numpy(value: Any) -> ArrayView:
    return ArrayView(
        _numpy_address(value),
        value.shape,
        dtype_name(value.dtype),
        bool(value.flags.c_contiguous),
        writable=bool(value.flags.writeable),
    )


def _glance_dlpack(value: Any, stream: int) -> tuple[int, Hashable]:
    return dlpack.glance(value, stream)


def _view_dlpack(value: Any) -> ArrayView:
    found = dlpack.read(value)
    compact = found.strides is None or _row_major(found.shape, found.strides, 1)
    return ArrayView(
        found.pointer, found.shape, found.dtype, compact, found.memory, found.ordinal
    )


def _interface(value: Any) -> tuple[str, dict[str, Any]]:
    for name in ("__cuda_array_interface__", "__array_interface__"):
        table = getattr(value, name, None)
        if isinstance(table, dict):
            return name, cast("dict[str, Any]", table)
    raise LaunchRefused(f"an argument of type {type(value).__name__} is no array")


def _glance_interface(value: Any, stream: int) -> tuple[int, Hashable]:
    name, table = _interface(value)
    if table.get("stream") not in {None, stream}:
        raise LaunchRefused(
            f"an array is in use by stream {table['stream']}, and the launch is on"
            f" {stream}: synchronize, or launch there"
        )
    pointer, locked = table["data"]
    strides = table.get("strides")
    shape = tuple(table["shape"])
    gaps = None if strides is None else tuple(strides)
    return int(pointer), (name, shape, table["typestr"], gaps, bool(locked))


def _view_interface(value: Any) -> ArrayView:
    name, table = _interface(value)
    shape = tuple(int(n) for n in table["shape"])
    order, kind = str(table["typestr"])[:1], str(table["typestr"])[1:]
    dtype = _TYPES.get(kind, kind) if order in "<|=" else f"{order}{kind}"
    if hasattr(value, "dtype"):
        dtype = dtype_name(value.dtype)
    strides = table.get("strides")
    compact = strides is None or _row_major(shape, strides, int(kind[1:]))
    pointer, locked = table["data"]
    memory = "device" if name == "__cuda_array_interface__" else "host"
    return ArrayView(int(pointer), shape, dtype, compact, memory, None, not locked)


def _row_major(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> bool:
    if 0 in shape:
        return True
    step = size
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True
