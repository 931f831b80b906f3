"""Operands of scaled products in the order in which lanes take them."""

from __future__ import annotations

import torch

from wave_kernels.functions.arguments import Arguments
from wave_kernels.functions.options import whole
from wave_kernels.functions.repeated import repeated
from wave_kernels.microscaling import BLOCK, DEPTH, LANE_BYTES, ROWS, block_shape

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

BYTES = (
    torch.int8,
    torch.uint8,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    *([torch.float8_e8m0fnu] if hasattr(torch, "float8_e8m0fnu") else []),
)
"""Types of one byte; torch has the last one since 2.7."""

LANE_GROUPS = 4
"""Of 16 lanes each."""

_PIECES = {
    4: ((LANE_GROUPS, 2), (0, 2, 4, 3, 1, 5)),
    6: ((LANE_GROUPS, 3), (0, 2, 4, 3, 1, 5)),
    8: ((2, 2, 2, 2), (0, 2, 3, 5, 4, 6, 1, 7)),
}
"""By bits, how numbers of pieces are cut, and the axes in order of memory."""


@repeated
def shuffle_scales(scales: torch.Tensor) -> torch.Tensor:
    """Scales as ``gemm-mxfp`` with ``SHUFFLED=scales`` or ``all`` reads them.

    `wave_kernels.microscaling.scale_place` says where each lies. Bytes of rows and of
    blocks that do not exist are 0.

    Args:
        scales: ``[rows, K / 32]``, of a type of one byte.

    Returns:
        ``[ceil(rows / 128), ceil(K / 256), 1024]``, of the same type.

    Raises:
        LaunchError: WV0704 to WV0706, WV0714 for what is no such tensor.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import shuffle_scales
        >>> shuffle_scales(torch.tensor([[7, 8, 9]], dtype=torch.uint8))[0, 0, :3]
        tensor([7, 8, 0], dtype=torch.uint8)
    """
    _matrix("shuffle_scales", "scales", scales)
    blocks = _in_blocks(scales, *block_shape())
    above, height, along, _ = blocks.shape
    parts = blocks.view(above, height // ROWS, ROWS, along, LANE_GROUPS, 2)
    lanes = parts.permute(0, 3, 4, 2, 1, 5)
    return lanes.reshape(above, along, height * LANE_GROUPS * 2).view(scales.dtype)


@repeated
def shuffle_weights(weights: torch.Tensor, bits: int) -> torch.Tensor:
    """Weights as ``gemm-mxfp`` with ``SHUFFLED=all`` reads them.

    `wave_kernels.microscaling.byte_place` says where each byte lies. Those of rows and
    elements that do not exist are 0.

    Args:
        weights: ``[N, K * bits / 8]``, of a type of one byte; elements of 4 and 6 bits
            are packed, the first in the lowest bits.
        bits: Of an element: 4, 6 or 8.

    Returns:
        ``[ceil(N / 16), ceil(K / 256), 512 * bits]``, of the same type.

    Raises:
        LaunchError: WV0704 to WV0706, WV0714 for what is no such tensor; WV0707 where
            a row is not whole blocks of 32 elements; WV0715 for other ``bits``.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import shuffle_weights
        >>> shuffle_weights(torch.ones(40, 192, dtype=torch.uint8), bits=6).shape
        torch.Size([3, 1, 3072])
    """
    given = _matrix("shuffle_weights", "weights", weights)
    bits = whole(given, "bits", bits, 0)
    if bits not in _PIECES:
        given.refuse("WV0715", f"`bits` is {bits}", "elements have 4, 6 or 8")
    if weights.shape[1] % (BLOCK * bits // 8):
        what = f"a row of `weights` has {weights.shape[1]} bytes"
        advice = f"{BLOCK} elements share a scale, {BLOCK * bits // 8} bytes"
        given.refuse("WV0707", what, advice)
    blocks = _in_blocks(weights, *block_shape(bits))
    above, _, along, _ = blocks.shape
    split, order = _PIECES[bits]
    parts = blocks.view(above, ROWS, along, *split, LANE_BYTES)
    size = ROWS * DEPTH * bits // 8
    return parts.permute(order).reshape(above, along, size).view(weights.dtype)


def _matrix(function: str, name: str, value: torch.Tensor) -> Arguments:
    """The call, of a matrix of bytes."""
    given = Arguments.of(function, name, value, BYTES)
    if value.ndim != 2:
        what = f"`{name}` has {value.ndim} dimensions"
        given.refuse("WV0706", what, "give a matrix, a row for each of the product's")
    return given


def _in_blocks(matrix: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Bytes ``[blocks, rows, blocks, columns]``, with zeros up to whole blocks."""
    height, width = matrix.shape
    above, along = -(-height // rows), -(-width // columns)
    whole = matrix.new_zeros((above * rows, along * columns), dtype=torch.uint8)
    whole[:height, :width] = matrix.view(torch.uint8)
    return whole.view(above, rows, along, columns)
