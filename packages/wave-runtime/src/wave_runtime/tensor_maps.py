"""Tensor maps: what copies of whole boxes to shared memory know about their memories.

Source of the rules: cuTensorMapEncodeTiled of the CUDA driver.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_runtime.arrays import BYTES
from wave_runtime.errors import LaunchRefused, Misfit
from wave_runtime.grid import GridExpression

if TYPE_CHECKING:
    from wave_runtime.devices import Buffer
    from wave_runtime.manifest import Manifest, TensorMapInfo

ALIGNMENT = 16
"""Bytes: of the memory's address, and of the distance of its rows."""


@dataclass(frozen=True)
class TensorMap:
    """A memory and the boxes that are copied of it; the innermost dimension first.

    Attributes:
        address: Of its first element.
        size: Bytes of an element.
        extents: Elements along each dimension.
        strides: Bytes between neighbours along each dimension but the first.
        box: Elements of a box along each dimension.
        swizzle: Bytes of a row whose chunks change places in shared memory; or 0.
    """

    address: int
    size: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


class TensorMaps:
    """The tensor maps of a kernel, for the arguments of each launch."""

    def __init__(self, manifest: Manifest) -> None:
        names = [row.name for row in manifest.bindings]
        self._sizes = [row.name for row in manifest.constants if not row.parameter]
        self._read = struct.Struct(f"<{len(self._sizes)}i")
        self._rows: list[_Row] = []
        for each in manifest.tensor_maps:
            at = names.index(each.binding)
            row = manifest.bindings[at]
            shape = [GridExpression(text) for text in row.shape]
            self._rows.append(_Row(at, BYTES.get(row.dtype, 1), shape, each))

    def __len__(self) -> int:
        """How many maps a launch passes."""
        return len(self._rows)

    def of(self, buffers: Sequence[Buffer], words: bytes) -> list[TensorMap]:
        """The maps, in the order of the code's arguments.

        Args:
            buffers: Address and bytes of each binding.
            words: The constants, sizes first.

        Raises:
            LaunchRefused: where a memory does not start at a multiple of 16 bytes, or
                its rows do not.
        """
        values = dict(zip(self._sizes, self._read.unpack_from(words), strict=True))
        return [row.map(buffers[row.binding][0], values) for row in self._rows]


@dataclass(frozen=True)
class _Row:
    """One map: the number of its binding, and how it looks."""

    binding: int
    size: int
    shape: Sequence[GridExpression]
    info: TensorMapInfo

    def map(self, address: int, values: dict[str, int]) -> TensorMap:
        extents = [each(values) for each in reversed(self.shape)]
        strides: list[int] = []
        step = self.size
        for extent in extents[:-1]:
            step *= extent
            strides.append(step)
        if address % ALIGNMENT or any(each % ALIGNMENT for each in strides):
            rows = ", ".join(map(str, strides))
            raise LaunchRefused(
                f"`{self.info.binding}` starts at {address:#x}, with rows of {rows}"
                f" bytes: both have to be multiples of {ALIGNMENT} bytes, since it is"
                " copied by boxes; pass an array that starts there, or compile without"
                " copies of boxes",
                Misfit.ALIGNMENT,
            )
        box = tuple(reversed(self.info.box))
        return TensorMap(
            address, self.size, tuple(extents), tuple(strides), box, self.info.swizzle
        )
