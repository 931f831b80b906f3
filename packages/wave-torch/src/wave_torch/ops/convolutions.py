"""The rows of convolutions, which are each other's gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOVES = "SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, int groups=1"

MOVED = ("stride", "padding", "dilation", "groups")
"""The arguments that say how filters go over images."""


def _laid_as(like: torch.Tensor, shape: Sequence[Any]) -> torch.Tensor:
    """An empty tensor that lies in memory as another one does."""
    last = like.is_contiguous(memory_format=torch.channels_last)
    order = last and not like.is_contiguous()
    memory = torch.channels_last if order else torch.contiguous_format
    return torch.empty(
        tuple(shape), dtype=like.dtype, device=like.device, memory_format=memory
    )


def _convolved(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> torch.Tensor:
    del bias, groups
    places = [
        (size + 2 * pad - hole * (extent - 1) - 1) // step + 1
        for size, extent, step, pad, hole in zip(
            x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True
        )
    ]
    return _laid_as(x, (x.shape[0], weight.shape[0], *places))


def _images(
    grad: torch.Tensor,
    weight: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> torch.Tensor:
    del stride, padding, dilation
    return _laid_as(grad, (grad.shape[0], weight.shape[1] * groups, *size))


def _filters(
    x: torch.Tensor,
    grad: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> torch.Tensor:
    del stride, padding, dilation
    return _laid_as(x, (grad.shape[1], x.shape[1] // groups, *size))


def _moves(call: Call) -> dict[str, Any]:
    return {name: call[name] for name in MOVED}


def _convolved_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    x, weight, moves = call["x"], call["weight"], _moves(call)
    found: dict[str, torch.Tensor] = {}
    if "x" in call.wanted:
        size = x.shape[2:]
        found["x"] = torch.ops.wave.conv2d_input(grad, weight, size, **moves)
    if "weight" in call.wanted:
        size = weight.shape[2:]
        found["weight"] = torch.ops.wave.conv2d_weight(x, grad, size, **moves)
    if "bias" in call.wanted:
        found["bias"] = grad.float().sum((0, 2, 3)).to(grad.dtype)
    return found


def _images_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    moved, weight, moves = call["grad"], call["weight"], _moves(call)
    found: dict[str, torch.Tensor] = {}
    if "grad" in call.wanted:
        found["grad"] = torch.ops.wave.conv2d(grad, weight, **moves)
    if "weight" in call.wanted:
        size = weight.shape[2:]
        found["weight"] = torch.ops.wave.conv2d_weight(grad, moved, size, **moves)
    return found


def _filters_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    x, moved, moves = call["x"], call["grad"], _moves(call)
    found: dict[str, torch.Tensor] = {}
    if "x" in call.wanted:
        found["x"] = torch.ops.wave.conv2d_input(moved, grad, x.shape[2:], **moves)
    if "grad" in call.wanted:
        found["grad"] = torch.ops.wave.conv2d(x, grad, **moves)
    return found


def _lines(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> torch.Tensor:
    """As an image of one row each."""
    image, filters = x.unsqueeze(2), weight.unsqueeze(2)
    pairs = (1, stride), (0, padding), (1, dilation)
    return _convolved(image, filters, bias, *pairs, groups).squeeze(2)


def _lines_gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """That of such images."""
    rows = {"stride": 1, "padding": 0, "dilation": 1}
    values: dict[str, Any] = {n: (rest, call[n]) for n, rest in rows.items()}
    values |= {name: call[name].unsqueeze(2) for name in ("x", "weight")}
    image = Call({**values, "groups": call["groups"]}, call.wanted)
    found = _convolved_gradient(image, grad.unsqueeze(2))
    return {n: each if n == "bias" else each.squeeze(2) for n, each in found.items()}


CONVOLUTIONS = (
    WaveOp(
        "conv1d",
        "(Tensor x, Tensor weight, Tensor? bias=None, SymInt stride=1, "
        "SymInt padding=0, SymInt dilation=1, int groups=1) -> Tensor",
        result=_lines,
        gradient=_lines_gradient,
        saved=("x", "weight", *MOVED),
        narrowed=("x", "weight", "bias"),
    ),
    WaveOp(
        "conv2d",
        f"(Tensor x, Tensor weight, Tensor? bias=None, {MOVES}) -> Tensor",
        result=_convolved,
        gradient=_convolved_gradient,
        saved=("x", "weight", *MOVED),
        narrowed=("x", "weight", "bias"),
    ),
    WaveOp(
        "conv2d_input",
        f"(Tensor grad, Tensor weight, SymInt[2] size, {MOVES}) -> Tensor",
        result=_images,
        gradient=_images_gradient,
        saved=("grad", "weight", *MOVED),
        narrowed=("grad", "weight"),
    ),
    WaveOp(
        "conv2d_weight",
        f"(Tensor x, Tensor grad, SymInt[2] size, {MOVES}) -> Tensor",
        result=_filters,
        gradient=_filters_gradient,
        saved=("x", "grad", *MOVED),
        narrowed=("x", "grad"),
    ),
)
"""The convolution, and the gradients of its images and its filters."""
