"""Tensors of global memory as bulk copies see them: what a driver encodes in 128 bytes.

Source: cuTensorMapEncodeTiled of the CUDA driver, whose data these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_ptx.errors import LaunchError

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Ints

MAP_BYTES = 128
MOST_BOX = 256
MARK = 0x5741_5645_544D_4150
"""The first eight bytes of a parameter that is a map; its number follows."""

ELEMENTS: dict[str, Any] = {
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "s32": np.int32,
    "u64": np.uint64,
    "s64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": "bfloat16",
}
"""What elements are; 8-bit floats travel as ``u8``."""


@dataclass(frozen=True, eq=False)
class TensorMap:
    """An argument for a parameter of 128 bytes; the innermost dimension comes first.

    Attributes:
        dtype: of an element: u8, u16, u32, s32, u64, s64, f16, f32, f64 or bf16.
        base: the array in which the tensor is.
        extents: elements along each of its one to five dimensions.
        strides: bytes between neighbours along each dimension but the first.
        box: elements along each dimension that a copy moves.
        swizzle: bytes of a row of shared memory that is permuted: 0, or 32, 64 or 128
            and then those of the box's rows; what shorter rows do is not known here.
        offset: bytes of the array before the tensor.
    """

    dtype: str
    base: Array
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    offset: int = 0

    @property
    def size(self) -> int:
        """Bytes of an element."""
        kind = ELEMENTS[self.dtype]
        return 2 if kind == "bfloat16" else np.dtype(kind).itemsize

    @property
    def row_bytes(self) -> int:
        """Of the box, along its innermost dimension."""
        return self.box[0] * self.size

    @property
    def box_bytes(self) -> int:
        """Of all of the box, which is what a copy counts."""
        return int(np.prod(self.box)) * self.size

    def check(self) -> None:
        """Apply the rules of the encoder.

        Raises:
            LaunchError: EP0204.
        """
        for holds, message in self._rules():
            if not holds:
                raise LaunchError("EP0204", message)

    def _rules(self) -> list[tuple[bool, str]]:
        rank = len(self.extents)
        if self.dtype not in ELEMENTS or not 1 <= rank <= 5:
            return [(False, f"{rank} dimensions of {self.dtype}")]
        if (len(self.strides), len(self.box)) != (rank - 1, rank):
            return [(False, "its strides or its box have other dimensions")]
        return [
            (self.offset % 16 == 0, f"it begins at byte {self.offset}, not at 16s"),
            (
                all(each % 16 == 0 and 0 < each < 1 << 40 for each in self.strides),
                f"strides {self.strides} are multiples of 16 bytes",
            ),
            (min(self.extents) > 0, f"extents {self.extents}"),
            (
                all(1 <= each <= MOST_BOX for each in self.box),
                f"a box {self.box} has 1 to {MOST_BOX} elements a dimension",
            ),
            (
                self.row_bytes % 16 == 0,
                f"rows of the box have {self.row_bytes} bytes, not 16s",
            ),
            (self.swizzle in {0, 32, 64, 128}, f"a swizzle of {self.swizzle} bytes"),
            (
                self.swizzle in {0, self.row_bytes},
                f"rows of {self.row_bytes} bytes, and a swizzle of {self.swizzle}",
            ),
        ]

    # -------------------------------------------------------------- boxes

    def rows(self, first: int, start: tuple[int, ...]) -> tuple[Ints, Bools]:
        """The rows of a box, the second dimension fastest.

        Args:
            first: the address of the tensor.
            start: coordinates of the box.

        Returns:
            The address of each row's first element, and whether the row is inside.
        """
        addresses = np.array([first + start[0] * self.size])
        inside = np.ones(1, np.bool_)
        rows = zip(self.box, start, self.extents, (0, *self.strides), strict=True)
        for box, at, extent, stride in list(rows)[1:]:
            along = at + np.arange(box)[:, None]
            addresses = (along * stride + addresses).ravel()
            inside = ((along >= 0) & (along < extent) & inside).ravel()
        return addresses, inside

    def columns(self, start: int) -> Ints:
        """Bytes of a row of a box that are inside the tensor."""
        lowest = max(-start, 0)
        highest = min(self.box[0], self.extents[0] - start)
        return np.arange(lowest * self.size, highest * self.size)


@dataclass(frozen=True)
class PlacedMap:
    """A map with the address of its tensor."""

    map: TensorMap
    address: int
