"""How the elements of a buffer in LDS are ordered, where hardware has to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BufferLayout:
    """Where chunks of a row of a buffer lie.

    A row of the buffer as stored has ``panel`` bytes: longer rows of a tile are cut
    into panels, all rows of the first one, then all rows of the second. In row ``r``
    of a panel, chunk number ``c``, of ``chunk`` bytes, is stored at
    ``c ^ (r // step % ways)``. With ``ways`` of 1 chunks stay where they are.

    Units: bytes; ``step`` and ``ways`` rows. ``ways`` is a power of two that divides
    the chunks of a panel.
    """

    chunk: int
    step: int
    ways: int
    panel: int

    @property
    def alignment(self) -> int:
        """Bytes of whose multiple a buffer starts: eight rows of a panel.

        Source: PTX ISA, "Strides" of matrix descriptors: patterns repeat after eight
        rows, and follow the address and not the buffer.
        """
        return 8 * self.panel
