"""The registers that a wave starts with, and what fills them.

Chips of today fill scalar registers with the first words of the arguments before a wave
starts. Where firmware does not know this, a wave starts 256 bytes further in front, at
code that loads the same words. Source: LLVM, User Guide for AMDGPU Backend, "Preloaded
Kernel Arguments".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_USER_SCALARS = 16
"""Scalar registers that are filled on a kernel's behalf. Source: as above."""

_ADDRESS = 2
"""Registers of the address of the arguments, the first of them."""

_WIDTHS = (8, 4, 2, 1)


@dataclass(frozen=True)
class Start:
    """What a wave starts with: the arguments' address and first words, its workgroup.

    Attributes:
        words: words of all arguments.
    """

    words: int

    @property
    def preloaded(self) -> int:
        """Words of the arguments that are there from the start."""
        return min(self.words, _USER_SCALARS - _ADDRESS)

    @property
    def first_argument(self) -> int:
        """The register of the first of them."""
        return _ADDRESS

    @property
    def first_group(self) -> int:
        """The register of the workgroup's first coordinate."""
        return _ADDRESS + self.preloaded

    def prologue(self) -> list[str]:
        """The 256 bytes that fill the registers where nobody else has."""
        if not self.preloaded:
            return []
        lines = [
            f"s_load_dword{f'x{width}' if width > 1 else ''} "
            f"{_registers(self.first_argument + at, width)}, s[0:1], {4 * at}"
            for at, width in self._loads()
        ]
        return [*lines, "s_waitcnt lgkmcnt(0)", "s_branch .Lstarted", ".p2align 8",
                ".Lstarted:"]  # fmt: skip

    def _loads(self) -> Iterator[tuple[int, int]]:
        """First word and width of each load; wide results begin at fours."""
        at = 0
        while at < self.preloaded:
            first = self.first_argument + at
            width = next(
                width
                for width in _WIDTHS
                if width <= self.preloaded - at and not first % min(width, 4)
            )
            yield at, width
            at += width


def _registers(first: int, count: int) -> str:
    return f"s{first}" if count == 1 else f"s[{first}:{first + count - 1}]"
