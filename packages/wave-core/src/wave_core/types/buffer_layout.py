"""How the elements of a buffer in LDS are ordered, where hardware has to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BufferLayout:
    """Where byte ``b`` of row ``r`` of a buffer lies.

    Rows are cut into panels of ``panel`` bytes, which are stored one after the other:
    all rows of the first, then all rows of the second. In a panel chunk number ``c``,
    of ``chunk`` bytes, is stored at ``c ^ (r // step % ways)``. With ``ways`` of 1
    chunks stay where they are.

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
