"""Matrix products with weights of 4 or 8 bits."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.gemm_nbits import (
    LEAST_GROUP,
    Weights,
    gemm_nbits_kernel,
)
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.launches import DTYPES, launch, tile_rows
from wave_kernels.functions.options import stored_type, whole
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

BYTES = (torch.int8, torch.uint8)
"""Numbers with a sign, and from 0 on."""


@repeated
def matmul_nbits(
    a: torch.Tensor,
    b: torch.Tensor,
    scales: torch.Tensor,
    *,
    zeros: torch.Tensor | None = None,
    group_size: int | None = None,
    out_dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``a weights^T``, where ``weights = (numbers - zeros) * scales``, group by group.

    ``b`` has the numbers, of 8 bits or of 4, and is widened where it is multiplied: no
    other copy of the weights is made. The form is that of ONNX's MatMulNBits.

    Args:
        a: ``[..., M, K]``, or one row ``[K]``; float32, float16 or bfloat16.
        b: ``[N, K]`` of int8 or uint8; or ``[N, K / 2]``, two numbers of 4 bits in a
            byte, that of the lower K in its lower half. Of int8 numbers have a sign, of
            uint8 they have none.
        scales: ``[N, G]``, float32 or a's type, for G groups of a row.
        zeros: ``[N, G]``, of b's type, each in the range of the numbers. By default 0
            for numbers with a sign, half of the range (8 or 128) for those without.
        group_size: How many numbers along K share a scale, a multiple of 32; the last
            group may have fewer. By default all of a row do, and G is 1.
        out_dtype: Of the result: float32, float16 or bfloat16; a's by default.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[..., M, N]``, rounded once. No weight is rounded: sums of a group are scaled
        in f32. Accuracy: 1e-3 of the largest sum(abs(a) abs(weights)), and half a unit
        in the last place. Compiled for each N, K and power of two that holds M.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit.
        UserError: WV0702 where the GPU has no instruction for a's type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import matmul_nbits
        >>> numbers = torch.tensor([[0x21, 0x0F]], dtype=torch.int8)  # 1, 2, -1, 0
        >>> matmul_nbits(torch.ones(1, 4), numbers, torch.tensor([[0.5]]))
        tensor([[1.]])
    """
    given = Arguments.of("matmul_nbits", "a", a)
    if not a.ndim:
        given.refuse("WV0706", "`a` has no dimension", "give [..., M, K]")
    stored = stored_type(given, "out_dtype", out_dtype, a.dtype)
    weights, operands = _weights(given, b, scales, zeros, group_size)
    shape = (*a.shape[:-1], operands[0].shape[0])
    found = given.result(out, shape, stored)
    if not found.numel() or not a.numel():
        return found.zero_()
    rows = prod(a.shape[:-1])
    arguments = (a.reshape(rows, a.shape[-1]), *operands, found.view(rows, shape[-1]))
    _multiply(weights, arguments)
    return found


def _multiply(weights: Weights, arguments: Sequence[torch.Tensor]) -> None:
    """Launch the kernel with all of its arguments, in order."""
    a, b, scales, *_, found = arguments
    what = {
        "weights": weights,
        "dtype": DTYPES[a.dtype],
        "result": DTYPES[found.dtype],
        "scale": DTYPES[scales.dtype],
    }
    sizes = {"N": b.shape[0], "K": a.shape[1], "GROUPS": scales.shape[1]}
    sizes["BLOCK_M"] = tile_rows(a.shape[0])
    launch(gemm_nbits_kernel, what, sizes, arguments, ("M",))


def _weights(
    given: Arguments, b: Any, scales: Any, zeros: Any, group_size: int | None
) -> tuple[Weights, list[torch.Tensor]]:
    """What bytes mean; bytes as the kernel takes them, scales, and zeros if any."""
    kind = b.dtype if isinstance(b, torch.Tensor) and b.dtype in BYTES else BYTES[0]
    n, width = shape_of(given, "b", b, ("N", "K or K / 2"), kind)
    depth = given.first.shape[-1]
    if width != depth and width * 2 != depth:
        advice = f"it has {depth} numbers a row, one or two a byte"
        given.refuse("WV0707", f"`b` is {(n, width)}", advice)
    if group_size is not None:
        group_size = whole(given, "group_size", group_size, LEAST_GROUP)
        if group_size % LEAST_GROUP:
            advice = f"give a multiple of {LEAST_GROUP}, or none"
            given.refuse("WV0707", f"`group_size` is {group_size}", advice)
    groups = 1 if group_size is None else -(-depth // group_size)
    found = [
        given.tensor("b", b, (n, width), kind),
        given.tensor("scales", scales, (n, groups), _scale_type(given, scales)),
    ]
    if zeros is not None:
        found.append(given.tensor("zeros", zeros, (n, groups), kind))
    weights = Weights(
        8 if width == depth else 4,
        group_size or 0,
        signed=kind == torch.int8,
        zeros=zeros is not None,
    )
    return weights, [_as_bytes(each) for each in found]


def _scale_type(given: Arguments, scales: Any) -> torch.dtype:
    """float32 for scales that are, else that of the first argument."""
    wide = isinstance(scales, torch.Tensor) and scales.dtype == torch.float32
    return torch.float32 if wide else given.first.dtype


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.int8) if tensor.dtype == torch.uint8 else tensor
