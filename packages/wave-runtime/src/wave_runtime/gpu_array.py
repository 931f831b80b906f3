"""Arrays of the CPU, copied to a GPU and back."""

from __future__ import annotations

from typing import Any, Protocol
from weakref import finalize

from wave_runtime.arrays import view
from wave_runtime.errors import DeviceError


class GpuMemory(Protocol):
    """A device whose memory is its own."""

    def allocate(self, size: int) -> int:
        """Memory of ``size`` bytes; its address."""
        ...

    def free(self, address: int) -> None:
        """Give memory back."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes between the memories of CPU and GPU, and wait."""
        ...

    def synchronize(self) -> None:
        """Wait until all launches are done."""
        ...


class GpuArray:
    """A copy of an array of the CPU in memory of a GPU.

    It speaks ``__cuda_array_interface__``, and gives its memory back when it is
    collected; at the end of the process the driver does.
    """

    def __init__(self, device: GpuMemory, array: Any) -> None:
        """Copy ``array``, which is row-major.

        Raises:
            DeviceError: where there is not enough memory.
        """
        self._device = device
        seen = view(array)
        assert seen.contiguous, "row-major"
        self._pointer = device.allocate(array.nbytes)
        # The driver may have stopped before the last objects of the process go.
        finalize(self, _give_back, device, self._pointer).atexit = False
        self._bytes = array.nbytes
        self.dtype = array.dtype
        self.__cuda_array_interface__ = {
            **seen.interface,
            "data": (self._pointer, False),
            "strides": None,
        }
        if self._bytes:
            device.copy(self._pointer, seen.pointer, self._bytes)

    def fetch(self, array: Any) -> None:
        """Copy the elements into ``array``, once all launches are done."""
        self._device.synchronize()
        if self._bytes:
            self._device.copy(view(array).pointer, self._pointer, self._bytes)


def _give_back(device: GpuMemory, pointer: int) -> None:
    """Free memory; an error of a launch before is another's to report."""
    try:
        device.free(pointer)
    except DeviceError:
        return
