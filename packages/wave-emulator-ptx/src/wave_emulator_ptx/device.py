"""The emulator as a device of wave-runtime, which finds it by its entry point.

Nothing else of this package knows the runtime.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_ptx.errors import EmulatorError
from wave_emulator_ptx.launch import LaunchOptions, LaunchResult, emulate, load
from wave_emulator_ptx.program import program_of
from wave_emulator_ptx.tensor_maps import TensorMap
from wave_emulator_ptx.types import TYPES
from wave_runtime.errors import DeviceError
from wave_runtime.tensor_maps import TensorMaps

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bytes
    from wave_emulator_ptx.syntax import Module, Variable
    from wave_runtime import Artifact

_ELF = b"\x7fELF"

_WORD = 4


class EmulationError(DeviceError):
    """The emulator cannot load a kernel, or cannot go on.

    Attributes:
        code: A row of the emulator's `CODES`.
    """

    def __init__(self, code: str, message: str) -> None:
        """Say what happened; the code stands in front."""
        super().__init__(message)
        self.code = code


@dataclass
class EmulatorDevice:
    """Runs PTX for any target that the emulator knows, on memory of the CPU.

    Attributes:
        name: How it is called.
        memory: Where arguments are.
        architecture: None: of any target.
        options: How launches are executed.
        results: Of the launches since `configure`, in order.
        keep: Whether launches write to the memory of the host.
    """

    name: str = "emulator-ptx"
    memory: str = "cpu"
    architecture: str | None = None
    options: LaunchOptions = field(default_factory=LaunchOptions)
    results: list[LaunchResult] = field(default_factory=list[LaunchResult])
    keep: bool = True

    def configure(
        self, *, hazards: bool, poison: frozenset[int], keep: bool = True
    ) -> None:
        """Say how launches are executed.

        Args:
            hazards: Look for hazards, which takes longer.
            poison: Ordinals of buffers whose bytes count as unwritten.
            keep: Whether buffers hold what launches wrote; else what they held.
        """
        self.results.clear()
        self.keep = keep
        self.options = replace(self.options, hazards=hazards, poison=poison)

    def reports(self) -> list[dict[str, Any]]:
        """Hazards of the launches since `configure` as JSON values.

        ``line`` is that of the PTX, ``source`` that of the user's program where the
        PTX has it.
        """
        return [asdict(row) for result in self.results for row in result.reports]

    def summary(self) -> dict[str, Any]:
        """What the launches since `configure` did, as JSON values."""
        return {
            "waves": sum(result.warps for result in self.results),
            "counters": {
                "instructions": sum(result.instructions for result in self.results)
            },
        }

    def load(self, artifact: Artifact) -> EmulatedCode:
        """Read the text of a kernel.

        Raises:
            EmulationError: EP0101 to EP0103, EP0301, where it cannot be executed.
        """
        manifest = artifact.manifest
        if artifact.code.startswith(_ELF):
            raise EmulationError(
                "EP0103",
                f"EP0103: `{manifest.name}` is machine code; the emulator executes PTX:"
                " compile it to the form `ptx`",
            )
        try:
            module = load(artifact.code.decode("utf-8", errors="replace"))
            parameters = program_of(module, manifest.name).kernel.parameters
        except EmulatorError as error:
            raise EmulationError(error.code, str(error)) from error
        last = len(parameters) - len(manifest.tensor_maps)
        numbers = parameters[len(manifest.bindings) : last]
        threads, shared = manifest.threads, manifest.lds_bytes
        maps = TensorMaps(manifest)
        return EmulatedCode(self, module, manifest.name, numbers, threads, shared, maps)

    def synchronize(self) -> None:
        """Launches are done when they return."""


@dataclass(frozen=True)
class EmulatedCode:
    """A kernel of a module.

    Attributes:
        device: Whose options hold.
        module: The text as data.
        name: Of the kernel.
        numbers: The parameters after those for buffers.
        threads: Of a workgroup.
        shared: Bytes of shared memory that a launch asks for.
        maps: What the code takes behind the numbers.
    """

    device: EmulatorDevice
    module: Module
    name: str
    numbers: Sequence[Variable]
    threads: int
    shared: int
    maps: TensorMaps

    def launch(
        self,
        grid: tuple[int, int, int],
        buffers: Sequence[tuple[int, int]],
        words: bytes,
        stream: int,
    ) -> None:
        """Run the kernel to its end; the result is the device's last one.

        Raises:
            EmulationError: EP0201 to EP0203, where nothing ran, EP0303, EP0304.
            LaunchRefused: where a memory that is copied by boxes is not aligned.
        """
        del stream
        arrays = [_array(address, size) for address, size in buffers]
        if not self.device.keep:
            arrays = [array.copy() for array in arrays]
        placed = {
            address: each for (address, _), each in zip(buffers, arrays, strict=True)
        }
        maps = [
            TensorMap(
                f"u{8 * each.size}",
                placed[each.address],
                each.extents,
                each.strides,
                each.box,
                each.swizzle,
            )
            for each in self.maps.of(buffers, words)
        ]
        try:
            result = emulate(
                self.module,
                [*arrays, *_numbers(self.numbers, words), *maps],
                grid=grid,
                block=(self.threads, 1, 1),
                kernel=self.name,
                shared=self.shared,
                options=self.device.options,
            )
        except EmulatorError as error:
            raise EmulationError(error.code, str(error)) from error
        self.device.results.append(result)


def _numbers(parameters: Sequence[Variable], words: bytes) -> list[int]:
    """The bits of each parameter: it takes as many words as it needs."""
    found: list[int] = []
    start = 0
    for each in parameters:
        size = TYPES[each.type].bytes
        found.append(int.from_bytes(words[start : start + size], "little"))
        start += -(-size // _WORD) * _WORD
    if start != len(words):
        raise EmulationError(
            "EP0201",
            f"EP0201: the parameters after the buffers take {start} bytes, and the"
            f" launch gives {len(words)}",
        )
    return found


def _array(address: int, size: int) -> Bytes:
    """Bytes of the host, written in place."""
    if not size:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def open_device() -> EmulatorDevice:
    """A fresh device, for the runtime's entry points."""
    return EmulatorDevice()
