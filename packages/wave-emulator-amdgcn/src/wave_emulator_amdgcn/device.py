"""The emulator as a device: loads code, launches it on memory of the host.

The interface is that of the runtime's devices; an address is one of the host.
"""

from __future__ import annotations

import ctypes
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_amdgcn.codeobject import CodeObject, load
from wave_emulator_amdgcn.costs.estimate import counters, estimate
from wave_emulator_amdgcn.errors import LaunchError
from wave_emulator_amdgcn.launch import LaunchOptions, LaunchResult, emulate

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Bytes
    from wave_runtime import Artifact


@dataclass
class EmulatorDevice:
    """Runs code objects of any known architecture.

    Attributes:
        name: how it is called.
        options: how launches are executed.
        results: of each launch, in order.
        keep: whether launches write to the memory of the host.
    """

    name: str = "emulator"
    options: LaunchOptions = field(default_factory=LaunchOptions)
    results: list[LaunchResult] = field(default_factory=list[LaunchResult])
    keep: bool = True
    _launched: list[tuple[CodeObject, str, LaunchResult]] = field(
        default_factory=list[tuple[CodeObject, str, LaunchResult]]
    )

    @property
    def architecture(self) -> str | None:
        """Any that it knows."""
        return None

    def configure(
        self, *, hazards: bool, poison: frozenset[int], keep: bool = True
    ) -> None:
        """Say how launches are executed.

        Args:
            hazards: look for hazards, which takes longer.
            poison: ordinals of buffers whose bytes count as unwritten.
            keep: whether buffers hold what launches wrote; else what they held, and
                nothing is measured.
        """
        self._launched.clear()
        self.keep = keep
        self.options = replace(
            self.options, hazards=hazards, poison=poison, counters=keep
        )

    def reports(self) -> list[dict[str, Any]]:
        """Hazards of the launches since `configure` as JSON values."""
        return [
            asdict(row) for _, _, result in self._launched for row in result.reports
        ]

    def summary(self) -> dict[str, Any]:
        """The costs of the launches since `configure` as JSON values.

        Waves and counters of all of them; cycles and stalls of the last, as each is
        the part of another device. Estimating takes as long as the launch did.
        """
        results = [result for _, _, result in self._launched]
        totals: Counter[str] = Counter()
        for result in results:
            totals.update(counters(result))
        code, name, last = self._launched[-1]
        cost = estimate(code, code.kernel(name), last)
        return {
            "waves": sum(result.waves for result in results),
            "counters": dict(totals),
            "cycles": cost.cycles,
            "stalls": cost.stalls,
        }

    def load(self, artifact: Artifact) -> EmulatedCode:
        """Load a code object; block and LDS size come from its metadata.

        Raises:
            CodeObjectError: it cannot be used.
        """
        loaded, name = load(artifact.code), artifact.manifest.name
        loaded.kernel(name)
        return EmulatedCode(self, loaded, name)

    def launched(self, code: CodeObject, name: str, result: LaunchResult) -> None:
        """Keep what a launch did."""
        self.results.append(result)
        self._launched.append((code, name, result))

    def synchronize(self) -> None:
        """Launches are done when they return."""


@dataclass(frozen=True)
class EmulatedCode:
    """A loaded code object."""

    device: EmulatorDevice
    code: CodeObject
    name: str

    def launch(
        self,
        grid: tuple[int, int, int],
        buffers: Sequence[tuple[int, int]],
        words: bytes,
        stream: int,
    ) -> None:
        """Run the kernel to its end; the result is the device's last one."""
        del stream
        arrays = [_array(address, size) for address, size in buffers]
        if not self.device.keep:
            arrays = [array.copy() for array in arrays]
        constants = struct.unpack(f"<{len(words) // 4}I", words)
        result = emulate(
            self.code, arrays, grid=grid, kernel=self.name, constants=constants,
            options=self.device.options,
        )  # fmt: skip
        self.device.launched(self.code, self.name, result)


def _array(address: int, size: int) -> Bytes:
    """Bytes of the host, written in place."""
    if size and not address:
        raise LaunchError("EM0202", f"{size} bytes at address 0")
    if not size:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def open_device() -> EmulatorDevice:
    """A fresh device, for the runtime's entry points."""
    return EmulatorDevice()
