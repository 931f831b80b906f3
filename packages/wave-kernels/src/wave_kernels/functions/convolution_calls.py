"""What calls of convolutions have in common: moves, sizes, how operands lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.conv_maps import Order
from wave_kernels.definitions.conv_sizes import ConvSizes, Move, Steps
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


@dataclass(frozen=True)
class Laid:
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
    ) -> Laid:
        """Of a tensor that has this shape, as it lies where a kernel reads that."""
        turned = tensor.permute(CHANNELS_LAST)
        last = not tensor.is_contiguous() and turned.is_contiguous()
        whole = given.tensor(name, tensor, shape)
        return cls(tensor, turned if last else whole, last)

    @classmethod
    def result(
        cls, given: Arguments, out: Any, shape: Sequence[int], *, last: bool
    ) -> Laid:
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
        """Whether it has no elements."""
        return not self.tensor.numel()


def run(
    make: Callable[..., Any],
    orders: tuple[Laid, Laid, Laid],
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


def steps_of(
    given: Arguments, stride: Moving, padding: Moving, dilation: Moving, groups: int
) -> Steps:
    """How filters go over images."""
    groups = whole(given, "groups", groups, 1)
    pairs = [
        pair_of(given, name, value, least)
        for name, value, least in (
            ("stride", stride, 1),
            ("dilation", dilation, 1),
            ("padding", padding, 0),
        )
    ]
    rows, columns = (Move(s, d, p, p) for s, d, p in zip(*pairs, strict=True))
    return Steps(rows, columns, groups)


def pair_of(
    given: Arguments, name: str, value: Moving, least: int = 0
) -> tuple[int, int]:
    """Numbers of rows and of columns."""
    both: Sequence[object] = value if isinstance(value, list | tuple) else (value,)
    if len(both) not in (1, 2):
        what = f"`{name}` has {len(both)} numbers"
        given.refuse("WV0707", what, "give one number, or two")
    pair = [whole(given, name, each, least) for each in both]
    return pair[0], pair[-1]


def sizes_of(given: Arguments, *extents: Any) -> ConvSizes:
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
