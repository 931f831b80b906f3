"""Devices: what loads code and runs it, found by name through entry points."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from wave_runtime.errors import DeviceError

if TYPE_CHECKING:
    from wave_runtime.artifact import Artifact

GROUP = "wave_runtime.devices"
"""The entry-point group; a value is ``"module:function"``, called without arguments."""

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
    (``cpu``, ``cuda`` or ``rocm``; anywhere without it), and ``ordinal``, which GPU it
    is.
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


def device_names() -> tuple[str, ...]:
    """The names that `open_device` takes."""
    found = {point.name for point in entry_points(group=GROUP)}
    return tuple(sorted(found | {"hip", "iree", "null"}))


def open_device(name: str) -> Device:
    """Open a device; ``hip:1`` is the second GPU, ``iree:local-task`` IREE on the CPU.

    Raises:
        DeviceError: where there is none of that name, or its driver is missing.
    """
    kind, colon, ordinal = name.partition(":")
    if kind == "hip" and (ordinal.isdecimal() or not colon):
        from wave_runtime.hip import open_hip  # noqa: PLC0415 - needs a driver

        return open_hip(int(ordinal or 0))
    if kind == "iree":
        from wave_runtime.iree_hal import IreeDevice  # noqa: PLC0415 - an extra

        return IreeDevice(ordinal or "hip")
    if name == "null":
        from wave_runtime.null import open_null  # noqa: PLC0415 - one of several

        return open_null()
    for point in entry_points(group=GROUP):
        if point.name == name:
            made: Device = point.load()()
            return made
    raise DeviceError(
        f"there is no device {name!r}; installed: {', '.join(device_names())}"
    )
