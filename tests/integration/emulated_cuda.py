"""A CUDA driver whose GPU is the emulator of PTX: launches reach it by C's calls.

What it does not do is time, and machine code: it takes PTX.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from wave_emulator_ptx import emulate, load
from wave_emulator_ptx.program import program_of
from wave_runtime.cuda_driver import PROTOTYPES

NUMBERS = {75: 9, 76: 0, 97: 232_448, 16: 1, 1: 1024, 5: 2**31 - 1, 6: 65535, 7: 65535}
"""Attributes of an H100 with one multiprocessor, by number."""

CONTEXT = 0x5000
APART = 256
"""Bytes that allocations are aligned to."""


def put(kind: Any, place: int, value: int | bytes) -> None:
    """Write to where the caller wants an answer."""
    kind.from_address(place).value = value


class EmulatedDriver:
    """The library that `wave_runtime.cuda` opens.

    Attributes:
        grids: Of the launches, in order.
        reports: Hazards of all launches.
        memory: Allocations by address: what holds them, and bytes.
    """

    def __init__(self) -> None:
        """No context, no memory, no modules."""
        self.grids: list[tuple[int, int, int]] = []
        self.reports: list[Any] = []
        self.memory: dict[int, tuple[Any, int]] = {}
        self._modules: list[Any] = []
        self._contexts: list[int] = []
        for name, kinds in PROTOTYPES.items():
            form = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)
            setattr(self, name, form(self._status(name)))

    def __getitem__(self, name: str) -> Any:
        """A function that converts no arguments."""
        address = ctypes.cast(getattr(self, name), ctypes.c_void_p).value
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)

    def _status(self, name: str) -> Callable[..., int]:
        made = getattr(self, f"_{name}", None)

        def call(*given: Any) -> int:
            return 0 if made is None else made(*given) or 0

        return call

    def _cuDriverGetVersion(self, place: int) -> None:
        put(ctypes.c_int, place, 13000)

    def _cuDeviceGetCount(self, place: int) -> None:
        put(ctypes.c_int, place, 1)

    def _cuDeviceGetAttribute(self, place: int, row: int, device: int) -> None:
        put(ctypes.c_int, place, NUMBERS[row])

    def _cuDeviceTotalMem_v2(self, place: int, device: int) -> None:
        put(ctypes.c_size_t, place, 1 << 30)

    def _cuDevicePrimaryCtxRetain(self, place: int, device: int) -> None:
        put(ctypes.c_void_p, place, CONTEXT)

    def _cuCtxGetCurrent(self, place: int) -> None:
        put(ctypes.c_void_p, place, self._contexts[-1] if self._contexts else 0)

    def _cuCtxPushCurrent_v2(self, context: int) -> None:
        self._contexts.append(context)

    def _cuCtxPopCurrent_v2(self, place: int) -> None:
        put(ctypes.c_void_p, place, self._contexts.pop())

    def _cuModuleLoadDataEx(self, place: int, text: bytes, *rest: Any) -> None:
        self._modules.append(load(text.decode()))
        put(ctypes.c_void_p, place, len(self._modules))

    def _cuModuleGetFunction(self, place: int, module: int, name: bytes) -> None:
        put(ctypes.c_void_p, place, module)

    def _cuMemAlloc_v2(self, place: int, size: int) -> None:
        held = np.zeros(size + APART, np.uint8)
        address = -(-held.ctypes.data // APART) * APART
        self.memory[address] = held, size
        put(ctypes.c_uint64, place, address)

    def _cuMemFree_v2(self, address: int) -> None:
        del self.memory[address]

    def _cuMemcpy(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def _cuLaunchKernel(self, function: int, *rest: Any) -> None:
        """Read the arguments as the driver would, and run the kernel."""
        grid, block, (shared, _, places, _) = rest[:3], rest[3:6], rest[6:]
        module = self._modules[function - 1]
        parameters = program_of(module).kernel.parameters
        each = (ctypes.c_void_p * len(parameters)).from_address(places)
        arguments = [
            self._buffer(place) if "64" in row.type else self._word(place)
            for row, place in zip(parameters, each, strict=True)
        ]
        result = emulate(module, arguments, grid=grid, block=block, shared=shared)
        self.grids.append(grid)
        self.reports += result.reports

    def _buffer(self, place: int) -> Any:
        address = ctypes.c_uint64.from_address(place).value
        _, size = self.memory[address]
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))

    def _word(self, place: int) -> int:
        return ctypes.c_uint32.from_address(place).value
