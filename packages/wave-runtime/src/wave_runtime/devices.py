"""Devices: what loads code and runs it, found by name through entry points."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol

from wave_runtime.errors import DeviceError

if TYPE_CHECKING:
    from wave_runtime.artifact import Artifact

GROUP = "wave_runtime.devices"
"""The entry-point group; a value is ``"module:function"``, called with what stands
after the colon of the name: ``1`` of ``hip:1``, and nothing without a colon."""

OWN = tuple(
    EntryPoint(name, f"wave_runtime.{module}:open_device", GROUP)
    for name, module in (
        ("cuda", "cuda"),
        ("hip", "hip"),
        ("iree", "iree_hal"),
        ("null", "null"),
    )
)
"""The devices of this package, declared as other packages declare theirs."""

Buffer = tuple[int, int]
"""Memory on a device. Units: its address, its size in bytes."""


class LoadedCode(Protocol):
    """Code that a device has loaded."""

    def launch(
        self,
        grid: tuple[int, int, int],
        buffers: Sequence[Buffer],
        words: bytes,
        stream: int,
    ) -> None:
        """Run the kernel; returns when it is queued.

        Args:
            grid: Workgroups on each axis.
            buffers: Memory of the bindings, as far as the kernel may reach.
            words: The constants, packed.
            stream: A queue of the device; 0 is its default.
        """
        ...


class Device(Protocol):
    """Something that runs code objects.

    Besides what is listed, a device may have ``memory``, where arguments must be
    (``cpu``, ``cuda`` or ``rocm``; anywhere without it), ``ordinal``, which GPU it
    is, ``runs``, all targets whose code it runs (its architecture alone without it),
    ``grid_limits``, the workgroups that it takes on each axis, and ``cards()``, which
    describes every GPU of its kind.
    """

    @property
    def name(self) -> str:
        """The name that it was opened by."""
        ...

    @property
    def architecture(self) -> str | None:
        """The architecture of its code, such as ``gfx942``; ``None`` for any."""
        ...

    def load(self, artifact: Artifact) -> LoadedCode:
        """Load the code of a kernel.

        Raises:
            DeviceError: where the driver refuses it.
        """
        ...

    def synchronize(self) -> None:
        """Wait until all launches are done."""
        ...


def targets_of(device: Device) -> tuple[str, ...]:
    """The targets whose code a device runs, best first; empty for any."""
    alone = () if device.architecture is None else (device.architecture,)
    found: tuple[str, ...] = getattr(device, "runs", alone)
    return found


def cards_of(device: Device) -> tuple[str, ...]:
    """Each GPU of the kind of a device in words; empty for what is no GPU."""
    cards = getattr(device, "cards", None)
    return () if cards is None else tuple(cards())


def device_names() -> tuple[str, ...]:
    """The names that `open_device` takes."""
    return tuple(sorted({point.name for point in _points()}))


def open_device(name: str) -> Device:
    """Open a device; ``hip:1`` is the second GPU, ``iree:local-task`` IREE on the CPU.

    Raises:
        DeviceError: where there is none of that name, or its driver is missing.
    """
    kind, colon, which = name.partition(":")
    for point in _points():
        if point.name == kind:
            opener = point.load()
            if colon and not inspect.signature(opener).parameters:
                raise DeviceError(
                    f"there is no device {name!r}: {kind!r} is one alone, open that"
                )
            made: Device = opener(which) if colon else opener()
            return made
    raise DeviceError(
        f"there is no device {name!r}; installed: {', '.join(device_names())}"
    )


def _points() -> tuple[EntryPoint, ...]:
    return (*OWN, *entry_points(group=GROUP))


def ordinal_of(kind: str, which: str) -> int:
    """Which GPU of a kind is meant, counted from 0.

    Raises:
        DeviceError: where it is no number.
    """
    if which and not which.isdecimal():
        raise DeviceError(
            f"there is no device '{kind}:{which}': GPUs have numbers, as in {kind}:1"
        )
    return int(which or 0)
