"""The CUDA driver library by ctypes: its calls, and what its errors ask for.

Source of all names and numbers: cuda.h of CUDA 13.0; the calls are in every driver
since CUDA 11.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_runtime.errors import DeviceError

if TYPE_CHECKING:
    from wave_runtime.tensor_maps import TensorMap

_NAMES = ("libcuda.so.1", "libcuda.so")
_WINDOWS = ("nvcuda.dll",)

_Int, _Word, _Size, _Pointer = (
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.c_size_t,
    ctypes.c_void_p,
)
_Text, _Address = ctypes.c_char_p, ctypes.c_uint64

PROTOTYPES: Mapping[str, tuple[Any, ...]] = {
    "cuInit": (_Word,),
    "cuDriverGetVersion": (_Pointer,),
    "cuGetErrorName": (_Int, _Pointer),
    "cuGetErrorString": (_Int, _Pointer),
    "cuDeviceGetCount": (_Pointer,),
    "cuDeviceGet": (_Pointer, _Int),
    "cuDeviceGetName": (_Text, _Int, _Int),
    "cuDeviceGetAttribute": (_Pointer, _Int, _Int),
    "cuDeviceTotalMem_v2": (_Pointer, _Int),
    "cuDevicePrimaryCtxRetain": (_Pointer, _Int),
    "cuCtxGetCurrent": (_Pointer,),
    "cuCtxPushCurrent_v2": (_Pointer,),
    "cuCtxPopCurrent_v2": (_Pointer,),
    "cuCtxSynchronize": (),
    "cuModuleLoadDataEx": (_Pointer, _Text, _Word, _Pointer, _Pointer),
    "cuModuleGetFunction": (_Pointer, _Pointer, _Text),
    "cuModuleUnload": (_Pointer,),
    "cuFuncGetAttribute": (_Pointer, _Int, _Pointer),
    "cuFuncSetAttribute": (_Pointer, _Int, _Int),
    "cuLaunchKernel": (_Pointer, *[_Word] * 7, _Pointer, _Pointer, _Pointer),
    "cuMemAlloc_v2": (_Pointer, _Size),
    "cuMemFree_v2": (_Address,),
    "cuMemcpy": (_Address, _Address, _Size),
}
"""The calls that are used, with the types of their arguments."""

LATER: Mapping[str, tuple[Any, ...]] = {
    "cuTensorMapEncodeTiled": (
        *(_Pointer, _Int, _Word, _Address, _Pointer, _Pointer, _Pointer, _Pointer),
        *(_Int, _Int, _Int, _Int),
    ),
}
"""Calls that came with CUDA 12, and are needed by what needs that anyway."""

_UNSIGNED = {1: 0, 2: 1, 4: 2, 8: 4}
"""CU_TENSOR_MAP_DATA_TYPE_UINT*, by bytes: copies do not ask what elements mean."""

_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""CU_TENSOR_MAP_SWIZZLE_*, by bytes of a row."""

_PROMOTION = 2
"""CU_TENSOR_MAP_L2_PROMOTION_L2_128B."""

MAP_BYTES = 128
"""Of an encoded tensor map; it lies at a multiple of 64."""

_LOST = (
    "the kernel, or one before it, went wrong on the GPU; this process cannot use the"
    " GPU any more: start it anew, and run the kernel on an emulator or a simulator"
)
_ADVICE: Mapping[int, str] = {
    2: "pass smaller arrays, or free others",
    3: "an NVIDIA driver that does not fit this system: reinstall it",
    34: "this is a stub of the driver: put the real libcuda.so.1 before it",
    100: "`nvidia-smi` lists the GPUs; CUDA_VISIBLE_DEVICES may hide them",
    209: "compile for the architecture of this GPU",
    218: "the driver's assembler does not take this PTX",
    222: "the driver is older than the PTX: update it, or compile to a cubin",
    500: "the module has no kernel of that name",
    700: _LOST,
    701: "the kernel needs more registers or threads than the GPU grants: compile it"
    " for fewer threads or smaller tiles",
    702: _LOST,
    710: _LOST,
    714: _LOST,
    715: _LOST,
    716: _LOST,
    717: _LOST,
    718: _LOST,
    719: _LOST,
    803: "kernel module and driver library differ: restart after the update",
    804: "the driver is too old for its compatibility library: update it",
}
"""What to do about an error, by its number."""

_INFO_LOG, _INFO_LOG_BYTES, _ERROR_LOG, _ERROR_LOG_BYTES = 3, 4, 5, 6
"""CU_JIT_*_LOG_BUFFER, and their sizes."""

_LOG_BYTES = 16384

_NAME_BYTES = 256


def find_library() -> Any:
    """The driver library.

    Raises:
        DeviceError: where there is none.
    """
    for name in _WINDOWS if sys.platform == "win32" else _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise DeviceError(
        "the CUDA driver library (libcuda.so.1) is not installed; it comes with the"
        " driver of an NVIDIA GPU, and not with the toolkit: install the driver"
    )


@dataclass(frozen=True)
class Card:
    """What the driver says about a GPU.

    Attributes:
        ordinal: Which.
        title: As it is sold, such as ``NVIDIA H200``.
        capability: Of its instruction set: major, minor.
        shared_bytes: Shared memory that a workgroup can have.
        processors: Multiprocessors.
        memory_bytes: Of the GPU.
        threads: Of a workgroup at most.
        grid: Workgroups on each axis at most.
    """

    ordinal: int
    title: str
    capability: tuple[int, int]
    shared_bytes: int
    processors: int
    memory_bytes: int
    threads: int
    grid: tuple[int, int, int]


class Driver:
    """The calls of the driver, with their errors raised."""

    def __init__(self, library: Any) -> None:
        """Start the driver.

        Raises:
            DeviceError: where it does not start.
        """
        for name, arguments in PROTOTYPES.items():
            getattr(library, name).argtypes = arguments
        self.library = library
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver.

        Raises:
            DeviceError: where it reports an error.
        """
        status = getattr(self.library, name)(*arguments)
        if status:
            raise self.error(name, status)

    def error(self, name: str, status: int, about: str = "") -> DeviceError:
        """What an error means, with CUDA's name for it, and what to do about it."""
        title = self._words("cuGetErrorName", status)
        words = self._words("cuGetErrorString", status)
        advice = _ADVICE.get(status, "")
        parts = [f"{name}: {title}: {words} ({status})", about, advice]
        return DeviceError("; ".join(part for part in parts if part))

    def _words(self, name: str, status: int) -> str:
        found = ctypes.c_char_p()
        getattr(self.library, name)(status, ctypes.byref(found))
        return found.value.decode(errors="replace") if found.value else "unknown error"

    @contextmanager
    def current(self, context: int) -> Generator[None]:
        """Make a context the thread's current one for a while."""
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def number(self, name: str, *arguments: Any) -> int:
        """The number that a function of the driver answers, its first argument."""
        found = ctypes.c_uint64(0)
        self.call(name, ctypes.byref(found), *arguments)
        return found.value

    @property
    def version(self) -> str:
        """The newest CUDA that the driver knows, such as ``13.0``."""
        found = self.number("cuDriverGetVersion")
        return f"{found // 1000}.{found % 1000 // 10}"

    def cards(self) -> tuple[Card, ...]:
        """The GPUs, in order."""
        return tuple(map(self._card, range(self.number("cuDeviceGetCount"))))

    def card(self, ordinal: int) -> Card:
        """One GPU.

        Raises:
            DeviceError: where there is none of that number.
        """
        count = self.number("cuDeviceGetCount")
        if ordinal >= count:
            raise DeviceError(
                f"there is no GPU cuda:{ordinal}: the driver has {count}, counted from"
                " 0"
            )
        return self._card(ordinal)

    def _card(self, ordinal: int) -> Card:
        place = self.number("cuDeviceGet", ordinal)
        title = ctypes.create_string_buffer(_NAME_BYTES)
        self.call("cuDeviceGetName", title, len(title), place)
        major, minor, shared, processors, threads, *grid = (
            self.number("cuDeviceGetAttribute", row, place) for row in _ATTRIBUTES
        )
        return Card(
            ordinal,
            title.value.decode(errors="replace"),
            (major, minor),
            shared,
            processors,
            self.number("cuDeviceTotalMem_v2", place),
            threads,
            (grid[0], grid[1], grid[2]),
        )

    def context(self, ordinal: int) -> int:
        """The primary context of a GPU, which other libraries in the process use."""
        place = self.number("cuDeviceGet", ordinal)
        return self.number("cuDevicePrimaryCtxRetain", place)

    def encode(self, tensor: TensorMap) -> bytes:
        """The 128 bytes of a tensor map.

        Raises:
            DeviceError: where the driver refuses it.
        """
        rank = len(tensor.extents)
        room = ctypes.create_string_buffer(2 * MAP_BYTES)
        skipped = -ctypes.addressof(room) % MAP_BYTES
        encode = self.library.cuTensorMapEncodeTiled
        encode.argtypes = LATER["cuTensorMapEncodeTiled"]
        status = encode(
            ctypes.addressof(room) + skipped,
            _UNSIGNED[tensor.size],
            rank,
            tensor.address,
            (_Address * rank)(*tensor.extents),
            (_Address * max(1, rank - 1))(*tensor.strides),
            (_Word * rank)(*tensor.box),
            (_Word * rank)(*[1] * rank),
            0,
            _SWIZZLES[tensor.swizzle],
            _PROMOTION,
            0,
        )
        if status:
            raise self.error("cuTensorMapEncodeTiled", status, str(tensor))
        return room.raw[skipped : skipped + MAP_BYTES]

    def load(self, code: bytes, name: str) -> int:
        """A module of the current context, from a cubin or the text of PTX.

        Raises:
            DeviceError: where the driver refuses it, with what its assembler says.
        """
        log = ctypes.create_string_buffer(_LOG_BYTES)
        kinds = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        module = ctypes.c_void_p()
        status = self.library.cuModuleLoadDataEx(
            ctypes.byref(module), code, len(kinds), kinds, values
        )
        if status:
            said = log.value.decode(errors="replace").strip()
            about = f"in `{name}`, by the driver of CUDA {self.version}"
            raise self.error(
                "cuModuleLoadDataEx", status, about + (f":\n{said}\n" if said else "")
            )
        return module.value or 0


_ATTRIBUTES = (75, 76, 97, 16, 1, 5, 6, 7)
"""CU_DEVICE_ATTRIBUTE_*: capability, shared memory that a workgroup can opt in to,
multiprocessors, threads of a workgroup, and workgroups of a grid, as in `_card`."""
