"""Arguments as a launch sees them: address, shape, element type, where they are.

A launch looks at each argument twice at most: a *glance* gives the address and a key
that says whether the argument is like one of an earlier launch; only a new key makes
the full *view*.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from wave_runtime import dlpack
from wave_runtime.errors import LaunchRefused, Misfit, UnfitArgument

_TYPES = {
    "f2": "f16",
    "f4": "f32",
    "f8": "f64",
    "i1": "i8",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "b1": "bool",
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
    "u8": "u64",
}
"""By kind and size in ``typestr``."""

NAMES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "bool",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
}
"""By the names that torch and numpy use."""

HOST, PINNED = "cpu", "pinned"
"""Memory of the CPU, and such that GPUs reach too."""

ANY_GPU = "gpu"
"""Memory of a GPU of which nothing says the maker."""

BYTES = {
    **dict.fromkeys(("f64", "i64", "u64", "index"), 8),
    **dict.fromkeys(("f32", "i32", "u32"), 4),
    **dict.fromkeys(("f16", "bf16", "i16", "u16"), 2),
}
"""Bytes of an element; 1 for all others."""


@dataclass(frozen=True, slots=True)
class ArrayView:
    """Memory that an argument stands for; never a copy.

    Attributes:
        pointer: The address of element 0 of every dimension.
        shape: Extents.
        dtype: The element type; a name of no kernel where it is unknown.
        strides: Bytes from one element to the next along each dimension.
        item_bytes: Bytes of one element.
        memory: Which memory: ``cpu``, ``pinned`` (GPUs reach it too), ``cuda``,
            ``rocm``, ``gpu`` (one of the two), or another name.
        ordinal: Which device; ``None`` where nothing says it.
        writable: Whether it may be written.
        requires_grad: Whether gradients flow through it.
        kind: What was passed, for messages: ``torch.Tensor``, ``numpy.ndarray``.
        owner: What keeps the memory alive.
    """

    pointer: int
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    item_bytes: int
    memory: str = HOST
    ordinal: int | None = None
    writable: bool = True
    requires_grad: bool = False
    kind: str = "array"
    owner: object = field(default=None, repr=False, compare=False)

    @property
    def contiguous(self) -> bool:
        """Whether it is row-major without gaps."""
        return _row_major(self.shape, self.strides, self.item_bytes)

    @property
    def place(self) -> str:
        """Where it is, as torch says it: ``cpu``, ``cuda:0``."""
        return self.memory if self.ordinal is None else f"{self.memory}:{self.ordinal}"

    @property
    def interface(self) -> dict[str, Any]:
        """The memory by the protocol ``__array_interface__``, elements as raw bytes."""
        return {
            "data": (self.pointer, not self.writable),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": f"|V{self.item_bytes}",
            "version": 3,
        }

    def is_in(self, memories: tuple[str, ...]) -> bool:
        """Whether it lies in one of ``memories``; pinned memory lies in all."""
        if self.memory == ANY_GPU:
            return any(each != HOST for each in memories)
        return self.memory == PINNED or self.memory in memories


Glance = Callable[[Any, int], tuple[int, Hashable]]
"""Of an argument and a stream: its address, and a key of all else."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How arguments of one Python type are looked at."""

    glance: Glance
    view: Callable[[Any], ArrayView]


def glances(values: Iterable[Any], stream: int) -> tuple[list[int], list[Hashable]]:
    """A glance at each array: addresses, and keys of all else.

    Raises:
        RuntimeFailure: for what is no array, or in use by another stream.
    """
    addresses: list[int] = []
    keys: list[Hashable] = []
    kind, glance = None, _glance_interface
    for value in values:
        if value.__class__ is not kind:
            kind = value.__class__
            glance = reader_of(kind).glance
        address, key = glance(value, stream)
        addresses.append(address)
        keys.append(key)
    return addresses, keys


def view(value: Any) -> ArrayView:
    """The memory of an argument.

    Takes tensors of torch, arrays of numpy, and what has ``__dlpack__``,
    ``__cuda_array_interface__`` or ``__array_interface__``.

    Raises:
        UnfitArgument: for anything else.
    """
    return reader_of(value.__class__).view(value)


@lru_cache(maxsize=256)
def reader_of(kind: type[Any]) -> Reader:
    """How to look at arguments of a type."""
    if issubclass(kind, ArrayView):
        return Reader(_glance_view, _same)
    if hasattr(kind, "data_ptr") and hasattr(kind, "is_contiguous"):
        return _torch_reader(kind)
    if hasattr(kind, "__array_interface__") and hasattr(kind, "ctypes"):
        masked = hasattr(kind, "mask") and hasattr(kind, "filled")
        return Reader(_refuse_masked, _refuse_masked) if masked else _NUMPY
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        return Reader(_glance_dlpack, _view_dlpack)
    return Reader(_glance_interface, _view_interface)


def _torch_reader(kind: type[Any]) -> Reader:
    own = getattr(kind, "__torch_dispatch__", None)
    tensor = _loaded("torch", "Tensor")
    if own is not getattr(tensor, "__torch_dispatch__", None):
        return Reader(_refuse_wrapper, _refuse_wrapper)
    return Reader(_glance_torch, _view_torch)


def _loaded(module: str, name: str) -> Any:
    """Something of a library that is loaded already; ``None`` where it is not."""
    return getattr(sys.modules.get(module), name, None)


def type_name(value: object) -> str:
    """The type of ``value``, with the module of what is not Python's own."""
    cls = type(value)
    own = cls.__module__ == "builtins"
    return cls.__name__ if own else f"{cls.__module__}.{cls.__qualname__}"


def _glance_view(value: ArrayView, stream: int) -> tuple[int, Hashable]:
    del stream
    place = (value.memory, value.ordinal, value.writable, value.requires_grad)
    layout = (value.shape, value.strides, value.item_bytes)
    return value.pointer, (value.dtype, layout, place)


def _same(value: ArrayView) -> ArrayView:
    return value


def _refuse_masked(value: Any, stream: int = 0) -> Any:
    del value, stream
    raise UnfitArgument(
        Misfit.KIND,
        "a masked array",
        "pass `argument.filled(value)`",
        "the mask would be ignored",
    )


def _refuse_wrapper(value: Any, stream: int = 0) -> Any:
    del stream
    raise UnfitArgument(
        Misfit.KIND,
        f"a {type(value).__name__}, a wrapper around other tensors",
        "pass the tensor inside; compile the code around the launch without it",
    )


@lru_cache(maxsize=256)
def dtype_name(dtype: Hashable) -> str:
    """The name of an element type of torch or numpy; its own text if unknown."""
    text = str(dtype).rpartition(".")[2]
    return NAMES.get(text, text)


def _glance_torch(value: Any, stream: int) -> tuple[int, Hashable]:
    del stream
    try:
        key = value.shape, value.dtype, value.device, value.requires_grad
        address = value.data_ptr() or _nowhere(value)
        if value.is_contiguous() and not value.is_neg():
            return address, key
        return address, (*key, value.is_neg(), value.stride())
    except RuntimeError:
        # Nothing that lies in memory: the view says what it is.
        return _view_torch(value).pointer, None


def _view_torch(value: Any) -> ArrayView:
    _check_torch(value)
    size = int(value.element_size())
    name = str(value.device.type)
    if name == "cuda" and getattr(_loaded("torch", "version"), "hip", None):
        name = "rocm"
    return ArrayView(
        _torch_address(value),
        tuple(value.shape),
        dtype_name(value.dtype),
        tuple(step * size for step in value.stride()),
        size,
        name,
        None if name == HOST else value.device.index,
        requires_grad=bool(value.requires_grad),
        kind="torch.Tensor",
        owner=value,
    )


def _torch_address(value: Any) -> int:
    try:
        return int(value.data_ptr() or _nowhere(value))
    except RuntimeError:
        # Inside ``vmap`` and ``grad`` of torch.func.
        return _refuse_wrapper(value)


def _nowhere(value: Any) -> int:
    """The address of a tensor that has none: it is empty, or its memory was freed."""
    if not value.numel():
        return 0
    raise UnfitArgument(
        Misfit.KIND,
        "a tensor whose memory was freed",
        "give its storage its size again: `argument.untyped_storage().resize_(...)`",
    )


def _check_torch(value: Any) -> None:
    """Refuse a tensor whose elements are not in memory as they are."""
    if value.device.type == "meta":
        raise UnfitArgument(
            Misfit.DEVICE, "a meta tensor, which has no elements", "pass a real tensor"
        )
    layout = "nested" if value.is_nested else str(value.layout)
    if layout != "torch.strided":
        raise UnfitArgument(
            Misfit.LAYOUT,
            f"a tensor of layout {layout.removeprefix('torch.')}",
            "pass a dense tensor: `argument.to_dense()`",
        )
    if value.is_neg() or value.is_conj():
        raise UnfitArgument(
            Misfit.LAYOUT,
            "a lazily negated view",
            "pass `argument.resolve_neg().resolve_conj()`",
            "its memory holds other values than it shows",
        )


def _glance_numpy(value: Any, stream: int) -> tuple[int, Hashable]:
    del stream
    flags = value.flags
    plain = flags.c_contiguous
    key = (value.shape, value.dtype, plain, flags.writeable)
    return _numpy_address(value), key if plain else (*key, value.strides)


def _numpy_address(value: Any) -> int:
    """The address of an array; the first way is the fast one, for most arrays."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(value))
    except (BufferError, TypeError, ValueError):
        # Read-only, with gaps, empty, or of a type without a buffer format.
        return int(value.ctypes.data)


def _view_numpy(value: Any) -> ArrayView:
    dtype = value.dtype
    if dtype.names is not None or dtype.hasobject:
        raise UnfitArgument(
            Misfit.DTYPE,
            f"an array of {dtype}",
            "pass an array of numbers, such as one field of it",
        )
    if not dtype.isnative:
        raise UnfitArgument(
            Misfit.LAYOUT,
            f"an array of {dtype.name} in foreign byte order",
            "pass `argument.astype(argument.dtype.newbyteorder('='))`",
        )
    return ArrayView(
        _numpy_address(value),
        value.shape,
        dtype_name(dtype),
        value.strides,
        dtype.itemsize,
        writable=bool(value.flags.writeable),
        kind="numpy.ndarray",
        owner=value,
    )


_NUMPY = Reader(_glance_numpy, _view_numpy)


def _glance_dlpack(value: Any, stream: int) -> tuple[int, Hashable]:
    return dlpack.glance(value, stream)


def _view_dlpack(value: Any) -> ArrayView:
    found = dlpack.read(value)
    return ArrayView(
        found.pointer,
        found.shape,
        found.dtype,
        _byte_strides(found.shape, found.strides, found.item_bytes),
        found.item_bytes,
        found.memory,
        found.ordinal,
        kind=type_name(value),
        owner=value,
    )


def _byte_strides(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, size: int
) -> tuple[int, ...]:
    """Strides of elements as strides of bytes; ``None`` stands for row-major."""
    if strides is not None:
        return tuple(step * size for step in strides)
    steps: list[int] = []
    for extent in reversed(shape):
        steps.append(size)
        size *= extent
    return tuple(reversed(steps))


def _interface(value: Any) -> tuple[str, dict[str, Any]]:
    number = _loaded("numpy", "generic")
    for name in ("__cuda_array_interface__", "__array_interface__"):
        table = getattr(value, name, None)
        if isinstance(table, dict) and not (number and isinstance(value, number)):
            return name, cast("dict[str, Any]", table)
    raise UnfitArgument(
        Misfit.KIND,
        "None" if value is None else f"of type `{type_name(value)}`",
        "pass a torch tensor, a numpy array or another array that speaks DLPack",
    )


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
    dtype = getattr(value, "dtype", None)
    return int(pointer), (name, shape, table["typestr"], dtype, gaps, bool(locked))


def _view_interface(value: Any) -> ArrayView:
    name, table = _interface(value)
    shape = tuple(int(n) for n in table["shape"])
    order, kind = str(table["typestr"])[:1], str(table["typestr"])[1:]
    dtype = _TYPES.get(kind, kind) if order in "<|=" else f"{order}{kind}"
    if hasattr(value, "dtype"):
        dtype = dtype_name(value.dtype)
    strides, size = table.get("strides"), int(kind[1:])
    pointer, locked = table["data"]
    return ArrayView(
        int(pointer),
        shape,
        dtype,
        _byte_strides(shape, None, size) if strides is None else tuple(strides),
        size,
        ANY_GPU if name == "__cuda_array_interface__" else HOST,
        writable=not locked,
        kind=type_name(value),
        owner=value,
    )


def _row_major(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> bool:
    if 0 in shape:
        return True
    step = size
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True
