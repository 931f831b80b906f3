"""What emulators of machine code report, in the words of Wave.

An emulator is a device of the runtime: nothing of its package is imported, and what
it hands back is plain data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from wave_core.diagnostics import Location, launch_error, simulation_error
from wave_core.executors import advice
from wave_runtime.devices import Device

if TYPE_CHECKING:
    from wave_core.executors.request import LaunchSettings
    from wave_core.ir import Graph
    from wave_runtime.errors import DeviceError
    from wave_runtime.manifest import Manifest

_REMEDIES = {"WV0916": advice.STUCK}


class Emulator(Device, Protocol):
    """The emulator's device, which has more than the runtime's interface."""

    def configure(
        self, *, hazards: bool, poison: frozenset[int], keep: bool = True
    ) -> None:
        """Look for hazards or not; buffers that nobody wrote; whether writes stay."""
        ...

    def reports(self) -> Sequence[Mapping[str, Any]]:
        """Findings of the last launch, as JSON values."""
        ...

    def summary(self) -> Mapping[str, Any]:
        """Counters, cycles and stalls of the last launch, as JSON values."""
        ...


class Places:
    """The user's lines of a kernel: debug information names files without folders."""

    def __init__(self, graph: Graph) -> None:
        """Look for them in the ops of the kernel."""
        places = (op.location for op in graph.walk())
        known = [at for at in places if at is not None and at.is_known]
        self._found = {(name_of_file(at.file), at.line): at for at in known}

    def find(self, source: str | None) -> Location | None:
        """The location of ``file:line``."""
        if source is None:
            return None
        file, _, line = source.rpartition(":")
        key = (name_of_file(file), int(line))
        return self._found.get(key) or Location.of_span(file, int(line))


def name_of_file(file: str) -> str:
    """The last part of a path."""
    return PurePath(file).name


def poisoned(settings: LaunchSettings, manifest: Manifest) -> frozenset[int]:
    """Positions of the bindings whose bytes count as unwritten before the launch."""
    return frozenset(
        place
        for place, row in enumerate(manifest.bindings)
        if row.written and settings.poisons(row.name)
    )


def stopped(error: DeviceError, graph: Graph, codes: Mapping[str, str]) -> Exception:
    """The emulation ended early.

    Args:
        error: What the emulator says, with its code.
        graph: The kernel.
        codes: The code of Wave for codes of the emulator; WV0708 for all others.
    """
    code = codes.get(getattr(error, "code", ""))
    if code is not None:
        return simulation_error(
            code,
            f"the machine code of `{graph.name}`: {error}",
            at=Places(graph).find(getattr(error, "source", None)) or graph.location,
            help=_REMEDIES.get(code, ()),
        )
    return launch_error(
        "WV0708", f"the emulator cannot run `{graph.name}`: {error}", at=graph.location
    )
