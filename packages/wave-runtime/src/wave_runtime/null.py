"""A device that does nothing, for tests and for measuring the launch path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_runtime.artifact import Artifact
    from wave_runtime.devices import Buffer


@dataclass
class NullCode:
    """Remembers the last launch.

    Attributes:
        name: The kernel.
        last: Grid, buffers and constant words of the last launch.
        stream: Of the last launch.
        launches: How many there were.
    """

    name: str
    last: tuple[tuple[int, int, int], tuple[Buffer, ...], bytes] | None = None
    stream: int = 0
    launches: int = 0

    def launch(
        self,
        grid: tuple[int, int, int],
        buffers: Sequence[Buffer],
        words: bytes,
        stream: int,
    ) -> None:
        """Remember the launch."""
        self.stream = stream
        self.last = (grid, tuple(buffers), words)
        self.launches += 1


@dataclass
class NullDevice:
    """Takes any code and runs none.

    Attributes:
        memory: Where arguments must be; ``None`` for anywhere.
    """

    name: str = "null"
    architecture: str | None = None
    memory: str | None = None
    ordinal: int | None = None
    loaded: list[NullCode] = field(default_factory=list[NullCode])

    def load(self, artifact: Artifact) -> NullCode:
        """Remember the kernel."""
        self.loaded.append(NullCode(artifact.manifest.name))
        return self.loaded[-1]

    def synchronize(self) -> None:
        """Nothing is under way."""


def open_device() -> NullDevice:
    """A fresh null device."""
    return NullDevice()
