"""Convolutions of images, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.conv import (
    conv_input_kernel,
    conv_kernel,
    conv_weight_kernel,
)
from wave_kernels.definitions.conv_maps import Order
from wave_kernels.definitions.conv_sizes import ConvSizes, Move, Steps
from wave_kernels.definitions.depthwise import depthwise_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

Moving = int | Sequence[int]
"""One number for both axes of images, or one for rows and one for columns."""

CHANNELS_LAST = (0, 2, 3, 1)
"""The dims of an image as `torch.channels_last` has them in memory."""


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
    steps = _steps(given, stride, padding, dilation, groups)
    sizes = _sizes(given, n, h, w, c, hf, wf, nf, steps)
    image = _Laid.of(given, "x", x, (n, c, h, w))
    filters = _Laid.of(given, "weight", weight, (nf, c // groups, hf, wf))
    added = [] if bias is None else [given.tensor("bias", bias, (nf,))]
    shape = (n, nf, sizes.h_out, sizes.w_out)
    result = _Laid.result(given, out, shape, last=image.last)
    if not result.empty and filters.empty:
        result.tensor.copy_(added[0].view(-1, 1, 1) if added else x.new_zeros(()))
    if not (result.empty or filters.empty):
        each = groups == c == nf > 1
        _launch(
            depthwise_kernel if each else conv_kernel,
            (image, result, filters),
            sizes,
            sizes.forward,
            (image.memory, filters.memory, *added, result.memory),
            bias=bool(added),
        )
    return result.tensor


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
        ``[N, C, H, W]`` of grad's type; accuracy as `conv2d`.

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
    steps = _steps(given, stride, padding, dilation, groups)
    c, (h, w) = within * groups, _pair(given, "size", size)
    sizes = _sizes(given, n, h, w, c, hf, wf, nf, steps)
    moved = _Laid.of(given, "grad", grad, (n, nf, sizes.h_out, sizes.w_out))
    filters = _Laid.of(given, "weight", weight, (nf, within, hf, wf))
    result = _Laid.result(given, out, (n, c, h, w), last=moved.last)
    if moved.empty or filters.empty:
        result.tensor.zero_()
    elif not result.empty:
        _launch(
            conv_input_kernel,
            (result, moved, filters),
            sizes,
            sizes.of_input,
            (moved.memory, filters.memory, result.memory),
        )
    return result.tensor


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
    steps = _steps(given, stride, padding, dilation, groups)
    hf, wf = _pair(given, "size", size)
    sizes = _sizes(given, n, h, w, c, hf, wf, nf, steps)
    image = _Laid.of(given, "x", x, (n, c, h, w))
    moved = _Laid.of(given, "grad", grad, (n, nf, sizes.h_out, sizes.w_out))
    result = _Laid.result(given, out, (nf, c // groups, hf, wf), last=image.last)
    if image.empty or moved.empty:
        result.tensor.zero_()
    elif not result.empty:
        _launch(
            conv_weight_kernel,
            (image, moved, result),
            sizes,
            sizes.of_weight,
            (image.memory, moved.memory, result.memory),
        )
    return result.tensor


@dataclass(frozen=True)
class _Laid:
    """An operand and its memory, which is contiguous.

    Attributes:
        tensor: As callers see it.
        memory: Its dims in the order of memory.
        last: Whether its channels come last there.
    """

    tensor: torch.Tensor
    memory: torch.Tensor
    last: bool

    @classmethod
    def of(
        cls, given: Arguments, name: str, tensor: torch.Tensor, shape: Sequence[int]
    ) -> _Laid:
        """Of a tensor that has this shape, as it lies where a kernel reads that."""
        turned = tensor.permute(CHANNELS_LAST)
        last = not tensor.is_contiguous() and turned.is_contiguous()
        whole = given.tensor(name, tensor, shape)
        return cls(tensor, turned if last else whole, last)

    @classmethod
    def result(
        cls, given: Arguments, out: Any, shape: Sequence[int], *, last: bool
    ) -> _Laid:
        """A new tensor, or ``out`` as it lies."""
        if out is None:
            memory = torch.channels_last if last else torch.contiguous_format
            like = given.first
            tensor = like.new_empty(tuple(shape)).contiguous(memory_format=memory)
        else:
            tensor = out
            turned = shape_of(given, "out", out, "nchw") == tuple(shape) and (
                not out.is_contiguous() and out.permute(CHANNELS_LAST).is_contiguous()
            )
            if not turned:
                given.result(out, shape, given.first.dtype)
        return cls.of(given, "out", tensor, shape)

    @property
    def empty(self) -> bool:
        return not self.tensor.numel()


def _launch(
    make: Callable[..., Any],
    orders: tuple[_Laid, _Laid, _Laid],
    sizes: ConvSizes,
    symbols: Mapping[Any, int],
    arguments: Sequence[torch.Tensor],
    **more: Any,
) -> None:
    """Run a kernel; ``orders`` are those of images, results and filters."""
    image, result, filters = (laid.last for laid in orders)
    words = ("nchw", "nhwc")
    order = Order(words[image], words[result], ("fchw", "fhwc")[filters])
    dtype = DTYPES[arguments[0].dtype]
    what = {"steps": sizes.steps, "order": order, "dtype": dtype, "result": dtype}
    bound = {str(symbol): extent for symbol, extent in symbols.items()}
    launch(make, {**what, **more}, bound, arguments)


def _steps(
    given: Arguments, stride: Moving, padding: Moving, dilation: Moving, groups: int
) -> Steps:
    """How filters go over images."""
    groups = whole(given, "groups", groups, 1)
    pairs = [
        _pair(given, name, value, least)
        for name, value, least in (
            ("stride", stride, 1),
            ("dilation", dilation, 1),
            ("padding", padding, 0),
        )
    ]
    rows, columns = (Move(s, d, p, p) for s, d, p in zip(*pairs, strict=True))
    return Steps(rows, columns, groups)


def _pair(
    given: Arguments, name: str, value: Moving, least: int = 0
) -> tuple[int, int]:
    """Numbers of rows and of columns."""
    both: Sequence[object] = value if isinstance(value, list | tuple) else (value,)
    if len(both) not in (1, 2):
        what = f"`{name}` has {len(both)} numbers"
        given.refuse("WV0707", what, "give one number, or two")
    pair = [whole(given, name, each, least) for each in both]
    return pair[0], pair[-1]


def _sizes(given: Arguments, *extents: Any) -> ConvSizes:
    """All sizes, where they make a convolution."""
    _, h, w, c, hf, wf, nf, steps = extents
    if c % steps.groups or nf % steps.groups:
        what = f"{c} channels and {nf} filters are in {steps.groups} groups"
        given.refuse("WV0707", what, "`groups` divides both")
    fits = steps.rows.results(h, hf) > 0 and steps.columns.results(w, wf) > 0
    if not (fits and hf and wf):
        what = f"filters are {hf} x {wf}, images {h} x {w}"
        given.refuse("WV0707", what, "a filter fits into an image with its padding")
    return ConvSizes(*extents)
