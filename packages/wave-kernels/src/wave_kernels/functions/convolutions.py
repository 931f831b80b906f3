"""Convolutions of lines and of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_kernels.definitions.conv import conv_kernel
from wave_kernels.definitions.depthwise import depthwise_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.convolution_calls import Laid, run, sizes_of, steps_of
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    import torch

    from wave_kernels.definitions.conv_sizes import ConvSizes
    from wave_kernels.functions.convolution_calls import Moving

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def conv1d(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """`torch.nn.functional.conv1d`: each filter at each place of each line.

    A line is an image of one row: `conv2d` computes it, of tensors as they lie.

    Args:
        x: ``[N, C, L]``, float32, float16 or bfloat16.
        weight: ``[F, C / groups, S]``, of x's type; S at least 1, and not more than
            lines have with their padding.
        bias: ``[F]``, of x's type.
        stride: From one place of a filter to the next.
        padding: Zeros on each side of a line.
        dilation: From one element of a filter to the next.
        groups: Parts of the channels, each with filters of its own.
        out: Takes the result; by default a new tensor that lies as x does.

    Returns:
        ``[N, F, L']`` of x's type, rounded once; accuracy as `conv2d`.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        UserError: WV0702 where the GPU has no instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import conv1d
        >>> conv1d(torch.arange(4.0).view(1, 1, 4), torch.ones(1, 1, 2), padding=1)
        tensor([[[0., 1., 3., 5., 3.]]])
    """
    given = Arguments.of("conv1d", "x", x)
    n, c, length = shape_of(given, "x", x, "ncl")
    nf, _, extent = shape_of(given, "weight", weight, "fcs")
    steps = steps_of(given, (1, stride), (0, padding), (1, dilation), groups)
    sizes = sizes_of(given, n, 1, length, c, 1, extent, nf, steps)
    given.fitting("weight", weight, (nf, c // groups, extent))
    if out is not None:
        given.fitting("out", out, (n, nf, sizes.w_out))
    image, filters = x.unsqueeze(2), weight.unsqueeze(2)
    line = None if out is None else out.unsqueeze(2)
    found = _convolved(given, sizes, (image, filters, bias), line)
    return found.squeeze(2) if out is None else out


@repeated
def conv2d(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    stride: Moving = 1,
    padding: Moving = 0,
    dilation: Moving = 1,
    groups: int = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """`torch.nn.functional.conv2d`: each filter at each place of each image.

    Tensors may be contiguous or `torch.channels_last`, each for itself, and are read as
    they lie. With as many groups as channels and filters there is no matrix product.

    Args:
        x: ``[N, C, H, W]``, float32, float16 or bfloat16.
        weight: ``[F, C / groups, R, S]``, of x's type; R and S at least 1, and not more
            than images have with their padding.
        bias: ``[F]``, of x's type.
        stride: From one place of a filter to the next: one number, or one for rows and
            one for columns. So with the next two.
        padding: Zeros around images.
        dilation: From one element of a filter to the next.
        groups: Parts of the channels, each with filters of its own.
        out: Takes the result; by default a new tensor that lies as x does.

    Returns:
        ``[N, F, H', W']`` of x's type, rounded once. Accuracy: 1e-3 of the largest
        convolution of absolute values, and half a unit in the last place.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        UserError: WV0702 where the GPU has no instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import conv2d
        >>> conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3), padding=1)
        tensor([[[[4., 4.],
                  [4., 4.]]]])
    """
    given = Arguments.of("conv2d", "x", x)
    n, c, h, w = shape_of(given, "x", x, "nchw")
    nf, _, hf, wf = shape_of(given, "weight", weight, "fcrs")
    steps = steps_of(given, stride, padding, dilation, groups)
    sizes = sizes_of(given, n, h, w, c, hf, wf, nf, steps)
    return _convolved(given, sizes, (x, weight, bias), out)


def _convolved(
    given: Arguments,
    sizes: ConvSizes,
    operands: tuple[torch.Tensor, torch.Tensor, torch.Tensor | None],
    out: Any,
) -> torch.Tensor:
    """Images by filters, and what is added to their results."""
    x, weight, bias = operands
    n, c, nf, groups = sizes.n, sizes.c, sizes.nf, sizes.steps.groups
    image = Laid.of(given, "x", x, (n, c, sizes.h, sizes.w))
    within = (nf, c // groups, sizes.hf, sizes.wf)
    filters = Laid.of(given, "weight", weight, within)
    added = [] if bias is None else [given.tensor("bias", bias, (nf,))]
    shape = (n, nf, sizes.h_out, sizes.w_out)
    result = Laid.result(given, out, shape, last=image.last)
    if not result.empty and filters.empty:
        result.tensor.copy_(added[0].view(-1, 1, 1) if added else x.new_zeros(()))
    if not (result.empty or filters.empty):
        each = groups == c == nf > 1
        run(
            depthwise_kernel if each else conv_kernel,
            (image, result, filters),
            sizes,
            sizes.forward,
            (image.memory, filters.memory, *added, result.memory),
            bias=bool(added),
        )
    return result.tensor
