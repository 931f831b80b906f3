"""Bulk copies under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from wave_emulator_ptx.under_way import UnderWay

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bytes, Ints
    from wave_emulator_ptx.memory_barriers import Key
    from wave_emulator_ptx.syntax import Instruction
    from wave_emulator_ptx.tensor_maps import PlacedMap

Fetch: TypeAlias = Callable[[], "Bytes"]


@dataclass(frozen=True)
class Arriving:
    """A copy to shared memory.

    Attributes:
        instruction: that began it.
        thread: which did.
        barrier: where it completes.
        chunks: what it writes, each 16 bytes.
        fetch: gives their bytes, [chunks, 16].
        size: bytes that it counts.
    """

    instruction: Instruction
    thread: int
    barrier: Key
    chunks: Ints
    fetch: Fetch
    size: int

    @property
    def kept_bytes(self) -> int:
        """Of the host."""
        return self.chunks.nbytes


@dataclass
class Leaving:
    """A copy from shared memory.

    Attributes:
        instruction: that began it.
        thread: which did.
        group: of that thread's copies.
        chunks: what it reads.
        put: writes to global memory.
        is_read: whether its thread knows that shared memory was read.
        is_put: whether global memory is written.
    """

    instruction: Instruction
    thread: int
    group: int
    chunks: Ints
    put: Callable[[], None]
    is_read: bool = False
    is_put: bool = False

    @property
    def kept_bytes(self) -> int:
        """Of the host: 8 for the number of a chunk, 16 for its bytes."""
        return self.chunks.nbytes * 3

    def write(self) -> None:
        """Write to global memory, once."""
        if not self.is_put:
            self.put()
            self.is_put = True


@dataclass
class Flights:
    """Those of a batch.

    Attributes:
        maps: of the launch, by number.
        haste: how likely a copy arrives before it has to, at each step.
        arriving: to shared memory.
        leaving: from it.
        committed: groups that each thread has closed.
    """

    maps: list[PlacedMap]
    haste: float = 0
    arriving: UnderWay[Arriving] = field(default_factory=UnderWay[Arriving])
    leaving: UnderWay[Leaving] = field(default_factory=UnderWay[Leaving])
    committed: dict[int, int] = field(default_factory=dict[int, int])
