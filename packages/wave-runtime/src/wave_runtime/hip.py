"""Launches through the HIP driver library, by ctypes.

Written against the HIP 6 interface and not run on hardware by its authors.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wave_runtime.devices import ordinal_of
from wave_runtime.errors import DeviceError
from wave_runtime.kernarg import pack

if TYPE_CHECKING:
    from wave_runtime.artifact import Artifact
    from wave_runtime.devices import Buffer

_NAMES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
_WINDOWS = ("amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll")

_BUFFER_POINTER = 1
_BUFFER_SIZE = 2
_END = 3
"""HIP_LAUNCH_PARAM_*. Source: hip_runtime_api.h."""

_PROPERTIES_BYTES = 8192
"""More than ``hipDeviceProp_t`` has in any release."""

_ARCHITECTURE = re.compile(rb"(gfx[0-9a-f]+)[:\0]")
"""``gcnArchName``, wherever the release has it in its record."""

_COPY_DEFAULT = 4
"""hipMemcpyDefault: the driver finds out what lies where. Source: driver_types.h."""


def find_library() -> Any:
    """The driver library.

    Raises:
        DeviceError: where there is none.
    """
    names: list[str] = list(_WINDOWS if sys.platform == "win32" else _NAMES)
    root = os.environ.get("ROCM_PATH")
    if root:
        names.insert(0, str(Path(root) / "lib" / "libamdhip64.so"))
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise DeviceError(
        "the HIP driver library (libamdhip64) is not installed; install ROCm, or set"
        " ROCM_PATH"
    )


class _Driver:
    """The calls that are used, with their errors raised."""

    def __init__(self, library: Any) -> None:
        self.library = library
        for name in ("hipGetErrorName", "hipGetErrorString"):
            function = getattr(library, name)
            function.restype = ctypes.c_char_p
            function.argtypes = [ctypes.c_int]

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver.

        Raises:
            DeviceError: where it reports an error, with HIP's name for it.
        """
        status = getattr(self.library, name)(*arguments)
        if status:
            # Else the next library that asks for the last error would find ours.
            self.library.hipGetLastError()
            title = _text(self.library.hipGetErrorName(status))
            words = _text(self.library.hipGetErrorString(status))
            raise DeviceError(f"{name}: {title}: {words} ({status})")

    @contextmanager
    def current(self, ordinal: int) -> Generator[None]:
        """Make a device the thread's current one for a while."""
        before = ctypes.c_int(0)
        self.call("hipGetDevice", ctypes.byref(before))
        if before.value == ordinal:
            yield
            return
        self.call("hipSetDevice", ctypes.c_int(ordinal))
        try:
            yield
        finally:
            self.call("hipSetDevice", before)


def _text(data: bytes | None) -> str:
    return data.decode(errors="replace") if data else "unknown error"


class HipCode:
    """A kernel in a loaded module."""

    def __init__(
        self,
        driver: _Driver,
        ordinal: int,
        module: ctypes.c_void_p,
        function: ctypes.c_void_p,
        threads: int,
    ) -> None:
        self._driver = driver
        self._ordinal = ordinal
        self._module = module
        self._function = function
        self._block = tuple(ctypes.c_uint(n) for n in (threads, 1, 1))

    def launch(
        self,
        grid: tuple[int, int, int],
        buffers: Sequence[Buffer],
        words: bytes,
        stream: int,
    ) -> None:
        """Queue the kernel on a stream.

        Raises:
            DeviceError: where the driver reports an error.
        """
        data = pack([address for address, _ in buffers], words)
        buffer = ctypes.create_string_buffer(data, len(data))
        size = ctypes.c_size_t(len(data))
        extra = (ctypes.c_void_p * 5)(
            _BUFFER_POINTER,
            ctypes.addressof(buffer),
            _BUFFER_SIZE,
            ctypes.addressof(size),
            _END,
        )
        with self._driver.current(self._ordinal):
            self._driver.call(
                "hipModuleLaunchKernel",
                self._function,
                *(ctypes.c_uint(n) for n in grid),
                *self._block,
                ctypes.c_uint(0),
                ctypes.c_void_p(stream),
                None,
                extra,
            )

    def close(self) -> None:
        """Unload the module; launches must be done."""
        if self._module:
            with self._driver.current(self._ordinal):
                self._driver.call("hipModuleUnload", self._module)
            self._module = ctypes.c_void_p()


class HipDevice:
    """One GPU through HIP.

    Attributes:
        ordinal: Which GPU.
        memory: What its kernels reach.
        architecture: The instruction set, such as ``gfx942``.
    """

    name = "hip"
    memory = "rocm"

    def __init__(self, library: Any, ordinal: int = 0) -> None:
        """Open a GPU.

        Raises:
            DeviceError: where there is none of that number.
        """
        self.ordinal = ordinal
        self._driver = _Driver(library)
        self._driver.call("hipInit", ctypes.c_uint(0))
        self.architecture: str | None = self._architecture(ordinal)

    def cards(self) -> tuple[str, ...]:
        """The instruction set of every GPU of the driver."""
        return _architectures(self._driver)

    def _architecture(self, ordinal: int) -> str | None:
        properties = ctypes.create_string_buffer(_PROPERTIES_BYTES)
        self._driver.call("hipGetDeviceProperties", properties, ctypes.c_int(ordinal))
        found = _ARCHITECTURE.search(properties.raw)
        return None if found is None else found[1].decode()

    def load(self, artifact: Artifact) -> HipCode:
        """Load a code object and find the kernel in it.

        Raises:
            DeviceError: where the driver refuses it.
        """
        name, threads = artifact.manifest.name, artifact.manifest.threads
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        with self._driver.current(self.ordinal):
            self._driver.call("hipModuleLoadData", ctypes.byref(module), artifact.code)
            self._driver.call(
                "hipModuleGetFunction", ctypes.byref(function), module, name.encode()
            )
        return HipCode(self._driver, self.ordinal, module, function, threads)

    def allocate(self, size: int) -> int:
        """Device memory of ``size`` bytes; its address.

        Raises:
            DeviceError: where there is not enough.
        """
        address = ctypes.c_void_p()
        with self._driver.current(self.ordinal):
            self._driver.call(
                "hipMalloc", ctypes.byref(address), ctypes.c_size_t(max(size, 1))
            )
        return address.value or 0

    def free(self, address: int) -> None:
        """Give memory back."""
        self._driver.call("hipFree", ctypes.c_void_p(address))

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes between any two memories, and wait."""
        self._driver.call(
            "hipMemcpy",
            ctypes.c_void_p(target),
            ctypes.c_void_p(source),
            ctypes.c_size_t(size),
            ctypes.c_int(_COPY_DEFAULT),
        )

    def synchronize(self) -> None:
        """Wait for the device.

        Raises:
            DeviceError: what went wrong in a launch, too.
        """
        with self._driver.current(self.ordinal):
            self._driver.call("hipDeviceSynchronize")


def open_hip(ordinal: int = 0) -> HipDevice:
    """A GPU; the first by default.

    Raises:
        DeviceError: without a driver or a GPU.
    """
    return HipDevice(find_library(), ordinal)


def open_device(which: str = "") -> HipDevice:
    """The GPU of a number as text; the first by default.

    Raises:
        DeviceError: without a driver or a GPU, or where it is no number.
    """
    return open_hip(ordinal_of("hip", which))


def architectures() -> tuple[tuple[str, ...], ...]:
    """The targets that each GPU runs: its instruction set alone.

    Raises:
        DeviceError: without a driver, or where it finds no GPU.
    """
    return tuple((name,) for name in _architectures(_Driver(find_library())))


def _architectures(driver: _Driver) -> tuple[str, ...]:
    count = ctypes.c_int(0)
    driver.call("hipGetDeviceCount", ctypes.byref(count))
    devices = [HipDevice(driver.library, place) for place in range(count.value)]
    return tuple(each.architecture or "unknown" for each in devices)
