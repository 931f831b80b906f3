"""The gradients of convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_kernels.definitions.conv import conv_input_kernel, conv_weight_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.convolution_calls import (
    Laid,
    pair_of,
    run,
    sizes_of,
    steps_of,
)
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from wave_kernels.functions.convolution_calls import Moving

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def conv2d_input(
    grad: torch.Tensor,
    weight: torch.Tensor,
    size: Sequence[int],
    *,
    stride: Moving = 1,
    padding: Moving = 0,
    dilation: Moving = 1,
    groups: int = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The gradient of `conv2d`'s images, which is also the transposed convolution.

    Args:
        grad: ``[N, F, H', W']``, the gradient of the result.
        weight: ``[F, C / groups, R, S]``, of grad's type.
        size: ``(H, W)`` of the images: strides leave more than one possible.
        stride: This and the next three as in `conv2d`.
        padding: See there.
        dilation: See there.
        groups: See there.
        out: Takes the result; by default a new tensor that lies as grad does.

    Returns:
        ``[N, C, H, W]`` of grad's type; accuracy as `conv2d`. Outside of the gradient
        there are zeros: beside them NaN or infinity in a filter is NaN.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        UserError: WV0702 where the GPU has no instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import conv2d_input
        >>> conv2d_input(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2), (1, 3))
        tensor([[[[1., 2., 1.]]]])
    """
    given = Arguments.of("conv2d_input", "grad", grad)
    n, _, *_ = shape_of(given, "grad", grad, "nfhw")
    nf, within, hf, wf = shape_of(given, "weight", weight, "fcrs")
    steps = steps_of(given, stride, padding, dilation, groups)
    c, (h, w) = within * groups, pair_of(given, "size", size)
    sizes = sizes_of(given, n, h, w, c, hf, wf, nf, steps)
    moved = Laid.of(given, "grad", grad, (n, nf, sizes.h_out, sizes.w_out))
    filters = Laid.of(given, "weight", weight, (nf, within, hf, wf))
    result = Laid.result(given, out, (n, c, h, w), last=moved.last)
    if moved.empty or filters.empty:
        result.tensor.zero_()
    elif not result.empty:
        run(
            conv_input_kernel,
            (result, moved, filters),
            sizes,
            sizes.of_input,
            (moved.memory, filters.memory, result.memory),
        )
    return result.tensor


@repeated
def conv2d_weight(
    x: torch.Tensor,
    grad: torch.Tensor,
    size: Sequence[int],
    *,
    stride: Moving = 1,
    padding: Moving = 0,
    dilation: Moving = 1,
    groups: int = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The gradient of `conv2d`'s filters.

    Args:
        x: ``[N, C, H, W]``, float32, float16 or bfloat16.
        grad: ``[N, F, H', W']``, the gradient of the result, of x's type.
        size: ``(R, S)`` of the filters: strides leave more than one possible.
        stride: This and the next three as in `conv2d`.
        padding: See there.
        dilation: See there.
        groups: See there.
        out: Takes the result; by default a new tensor that lies as x does.

    Returns:
        ``[F, C / groups, R, S]`` of x's type; accuracy as `conv2d`.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        UserError: WV0702 where the GPU has no instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import conv2d_weight
        >>> conv2d_weight(torch.ones(2, 1, 1, 4), torch.ones(2, 1, 1, 3), (1, 2))
        tensor([[[[6., 6.]]]])
    """
    given = Arguments.of("conv2d_weight", "x", x)
    n, c, h, w = shape_of(given, "x", x, "nchw")
    _, nf, *_ = shape_of(given, "grad", grad, "nfhw")
    steps = steps_of(given, stride, padding, dilation, groups)
    hf, wf = pair_of(given, "size", size)
    sizes = sizes_of(given, n, h, w, c, hf, wf, nf, steps)
    image = Laid.of(given, "x", x, (n, c, h, w))
    moved = Laid.of(given, "grad", grad, (n, nf, sizes.h_out, sizes.w_out))
    result = Laid.result(given, out, (nf, c // groups, hf, wf), last=image.last)
    if image.empty or moved.empty:
        result.tensor.zero_()
    elif not result.empty:
        run(
            conv_weight_kernel,
            (image, moved, result),
            sizes,
            sizes.of_weight,
            (image.memory, moved.memory, result.memory),
        )
    return result.tensor
