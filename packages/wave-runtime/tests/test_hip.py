"""The HIP launcher against a library that records its calls."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from wave_runtime import DeviceError, LaunchRefused, LoadedKernel, hip, open_device
from wave_runtime.arrays import view
from wave_runtime.gpu_array import GpuArray
from wave_runtime.kernarg import pack

ARTIFACT = SimpleNamespace(code=b"ELF", manifest=SimpleNamespace(name="k", threads=256))


class Function:
    def __init__(self, library, name):
        self.library, self.name = library, name

    def __call__(self, *arguments):
        self.library.calls.append((self.name, arguments))
        made = getattr(self, self.name, None)
        if made is not None:
            return made(*arguments)
        if self.name == "hipModuleLaunchKernel":
            self.library.seen = kernarg(arguments[-1])
        return self.library.status.get(self.name, 0)

    def hipGetErrorString(self, status):
        return b"out of memory"

    def hipGetErrorName(self, status):
        return b"hipErrorOutOfMemory"

    def hipGetDevice(self, place):
        place._obj.value = self.library.current

    def hipSetDevice(self, ordinal):
        self.library.current = ordinal.value

    def hipModuleLoadData(self, place, code):
        place._obj.value = 1
        return self.library.status.get(self.name, 0)

    def hipGetDeviceCount(self, place):
        place._obj.value = 2

    def hipGetDeviceProperties(self, properties, ordinal):
        address = ctypes.addressof(properties)
        ctypes.memmove(address + 100, b"gfx name\0", 9)
        ctypes.memmove(address + 1160, b"gfx942:xnack-\0", 14)
        return 101 if ordinal.value > 1 else 0


def kernarg(extra):
    size = ctypes.cast(extra[3], ctypes.POINTER(ctypes.c_size_t)).contents.value
    return ctypes.string_at(extra[1], size)


class Library:
    """The driver; ``status`` says which functions fail, and how."""

    def __init__(self, **status):
        self.calls, self.status, self.seen, self.current = [], status, b"", 0

    def __getattr__(self, name):
        function = Function(self, name)
        setattr(self, name, function)
        return function

    def called(self, name):
        return [arguments for each, arguments in self.calls if each == name]


def test_architecture_is_read():
    assert hip.HipDevice(Library()).architecture == "gfx942"


def test_launch_passes_pointers_then_words():
    library = Library()
    code = hip.HipDevice(library).load(ARTIFACT)
    code.launch((4, 2, 1), [(0x1000, 64), (0x2000, 64)], b"\x05\0\0\0", 7)
    assert library.seen == pack([0x1000, 0x2000], b"\x05\0\0\0")
    (arguments,) = library.called("hipModuleLaunchKernel")
    assert [number.value for number in arguments[1:7]] == [4, 2, 1, 256, 1, 1]
    assert arguments[8].value == 7


def test_the_thread_keeps_its_current_device():
    library = Library()
    library.current = 1
    device = hip.HipDevice(library, 0)
    device.load(ARTIFACT).launch((1, 1, 1), [], b"", 0)
    assert library.current == 1
    assert [each[0].value for each in library.called("hipSetDevice")] == [0, 1] * 2


FAILING = {
    "hipInit": hip.HipDevice,
    "hipModuleLoadData": lambda lib: hip.HipDevice(lib).load(ARTIFACT),
    "hipModuleGetFunction": lambda lib: hip.HipDevice(lib).load(ARTIFACT),
    "hipModuleLaunchKernel": lambda lib: (
        hip.HipDevice(lib).load(ARTIFACT).launch((1, 1, 1), [], b"", 0)
    ),
    "hipModuleUnload": lambda lib: hip.HipDevice(lib).load(ARTIFACT).close(),
    "hipMalloc": lambda lib: hip.HipDevice(lib).allocate(64),
    "hipMemcpy": lambda lib: hip.HipDevice(lib).copy(1, 2, 3),
    "hipFree": lambda lib: hip.HipDevice(lib).free(1),
    "hipDeviceSynchronize": lambda lib: hip.HipDevice(lib).synchronize(),
}


@pytest.mark.parametrize("name", FAILING)
def test_errors_of_the_driver_are_raised_by_name(name):
    library = Library(**{name: 2})
    with pytest.raises(DeviceError, match=rf"{name}: hipErrorOutOfMemory: out.* \(2\)"):
        FAILING[name](library)
    assert len(library.called("hipGetLastError")) == 1


def test_missing_driver_is_said(monkeypatch):
    monkeypatch.setattr(hip, "_NAMES", ("no-such-library.so",))
    with pytest.raises(DeviceError, match="libamdhip64"):
        hip.find_library()


def test_devices_are_opened_by_number(monkeypatch):
    monkeypatch.setattr(hip, "find_library", Library)
    assert open_device("hip:1").ordinal == 1
    assert hip.architectures() == (("gfx942",), ("gfx942",))
    assert open_device("hip").cards() == ("gfx942", "gfx942")
    with pytest.raises(DeviceError, match="hipGetDeviceProperties"):
        open_device("hip:7")
    with pytest.raises(DeviceError, match="no device"):
        open_device("hip:one")


def test_arrays_of_the_host_are_refused(artifact):
    kernel = LoadedKernel(artifact, hip.HipDevice(Library()))
    a, b = np.zeros((8, 8), "f2"), np.zeros((8, 8), "f2")
    with pytest.raises(LaunchRefused, match="`a` is in memory of cpu"):
        kernel(a, 1.0, b)


def test_an_array_is_copied_to_the_gpu_and_back_and_its_memory_given_back():
    library = Library()
    device = hip.HipDevice(library)
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    placed = GpuArray(device, array)
    seen = view(placed)
    assert (seen.shape, seen.dtype, seen.contiguous) == ((2, 3), "f16", True)
    assert not seen.is_in(("cpu",))
    placed.fetch(array)
    there, back = library.called("hipMemcpy")
    assert there[1].value == back[0].value == array.ctypes.data
    assert there[2].value == 12
    del placed, seen
    assert len(library.called("hipFree")) == 1


def test_a_gpu_that_is_full_keeps_nothing():
    library = Library(hipMalloc=2)
    with pytest.raises(DeviceError, match="out of memory"):
        GpuArray(hip.HipDevice(library), np.zeros(4))
    assert library.called("hipFree") == []
