"""Numbers of microscaling formats on the host: bytes of elements and of scales.

A matrix ``[rows, K]`` is stored as bytes ``[rows, K * bits / 8]`` and one scale for
each 32 elements of a row, ``[rows, K / 32]``. Source: OCP Microscaling Formats (MX)
Specification 1.0.

Shuffled, it is blocks of some rows by 256 elements, in an order in which lanes of the
scaled instructions of gfx950 find what they take side by side (layouts: `cdna4` of
`wave_backend_amdgpu.targets.cdna`). 64 lanes are 16 rows by 4 groups, and a lane reads
16 bytes at once. Places are expressions of a row and a column, numbers or symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from wave_core.types import DType

BLOCK = 32
"""Elements that share a scale."""

BIAS = 127
"""Of a scale: the byte of 1."""

DEPTH = 256
"""Elements along K in a shuffled block: those of two instructions, side by side."""

ROWS = 16
"""Of an instruction."""

SCALE_ROWS = 128
"""In a shuffled block of scales: those of eight instructions."""

LANE_BYTES = 16
"""What a lane reads at once."""

LINES = 64 * LANE_BYTES
"""Bytes that a wave reads at once."""


def block_shape(bits: int = 0) -> tuple[int, int]:
    """Rows and bytes of a row in a shuffled block: of elements of so many bits.

    Of scales without ``bits``.
    """
    return (ROWS, DEPTH * bits // 8) if bits else (SCALE_ROWS, DEPTH // BLOCK)


def scale_place(row: Any, column: Any) -> tuple[Any, Any, Any]:
    """Where the scale of a row and a block of 32 lies among shuffled scales.

    A lane has the two that lie next to each other along K, for the eight rows that are
    16 apart: what the products of a wave by 128 rows take is one read.

    Returns:
        Block of rows, block along K, byte of 1024.
    """
    height, width = block_shape()
    lane = column % width // 2 * ROWS + row % ROWS
    byte = lane * LANE_BYTES + row // ROWS % (height // ROWS) * 2 + column % 2
    return row // height, column // width, byte


def byte_place(row: Any, column: Any, bits: int) -> tuple[Any, Any, Any]:
    """Where a byte of a row of elements lies among shuffled elements.

    A row of a block is pieces of 16 bytes, ``bits / 2`` for each group of lanes: of 4
    and 6 bits those next to each other; of 8 bits two halves of 32 elements are those
    of two groups, and every second such pair is of the same ones.

    Returns:
        Block of rows, block along K, byte of ``512 * bits``.
    """
    height, width = block_shape(bits)
    number, each = column % width // LANE_BYTES, bits // 2
    group, piece = number // each, number % each
    if bits == 8:
        group = number % 2 + number // 4 % 2 * 2
        piece = number // 2 % 2 + number // 8 * 2
    lane = group * ROWS + row % ROWS
    byte = piece * LINES + lane * LANE_BYTES + column % LANE_BYTES
    return row // height, column // width, byte


def unshuffled(blocks: np.ndarray, shape: tuple[int, int], bits: int = 0) -> np.ndarray:
    """The matrix that was shuffled: elements of so many bits, else scales.

    Args:
        blocks: ``[blocks of rows, blocks along K, bytes]``.
        shape: Of the matrix, in rows and bytes.
        bits: Of an element; 0 for scales.

    Returns:
        ``shape``, of the type of ``blocks``.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    row, column = np.ogrid[: shape[0], : shape[1]]
    found = byte_place(row, column, bits) if bits else scale_place(row, column)
    return blocks[found]


def codes(data: np.ndarray, bits: int) -> np.ndarray:
    """The bits of each element, in a byte each.

    Args:
        data: Bytes, ``[rows, K * bits / 8]``; the first element has the lowest bits.
        bits: Of an element.

    Returns:
        ``[rows, K]``, uint8.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    stream = np.unpackbits(data.view(np.uint8), axis=-1, bitorder="little")
    each = stream.reshape(*data.shape[:-1], data.shape[-1] * 8 // bits, bits)
    return np.packbits(each, axis=-1, bitorder="little")[..., 0]


def numbers(data: np.ndarray, scales: np.ndarray, dtype: DType) -> np.ndarray:
    """The numbers that bytes of elements and scales stand for.

    Args:
        data: Bytes, ``[rows, K * bits / 8]``.
        scales: Bytes, ``[rows, K / 32]``; 255 is NaN.
        dtype: Of the elements.

    Returns:
        ``[rows, K]``, f64.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    elements = codes(data, dtype.bits).view(dtype.numpy()).astype(np.float64)
    bytes_ = scales.view(np.uint8).astype(np.float64)
    factors = np.where(bytes_ == 255, np.nan, np.exp2(bytes_ - BIAS))
    return elements * factors.repeat(BLOCK, axis=-1)
