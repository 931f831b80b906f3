"""Convolutions of one and two dimensions, transposed ones, and their gradients."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from wave_torch.graphs.nodes import (
    Left,
    Rule,
    arguments_of,
    emit,
    size_of,
    value_of,
    why_not,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import fx

ATEN = torch.ops.aten
WAVE = torch.ops.wave


def convolution(node: fx.Node) -> fx.Node | Left:
    """`conv2d`, or the gradient of its images, which a transposed convolution is."""
    x, weight, bias, *moves = arguments_of(node)
    moved = _Moved.of(node, moves)
    given = [each for each in (x, weight, bias) if each is not None]
    reason = moved.why_not(*given)
    if reason:
        return Left(reason)
    image, filters = moved.flat(x), moved.flat(weight)
    if not moved.transposed:
        found = moved.emit(WAVE.conv2d.default, image, filters, bias)
        return moved.lined(found)
    size = moved.grown(x, weight)
    found = moved.lined(moved.emit(WAVE.conv2d_input.default, image, filters, size))
    if bias is None:
        return found
    column = [-1, *[1] * (value_of(node).ndim - 2)]
    return emit(
        node, ATEN.add.Tensor, found, emit(node, ATEN.view.default, bias, column)
    )


def gradients(node: fx.Node) -> tuple[fx.Node | None, ...] | Left:
    """Of images, filters and biases, those that are asked for."""
    grad, x, weight, _, *moves, asked = arguments_of(node)
    moved = _Moved.of(node, moves)
    reason = moved.why_not(grad, weight, x)
    if reason:
        return Left(reason)
    made: tuple[Callable[[], fx.Node], ...] = (
        lambda: moved.of_images(grad, x, weight),
        lambda: moved.of_filters(grad, x, weight),
        lambda: emit(node, ATEN.sum.dim_IntList, grad, _all_but_channels(grad)),
    )
    return tuple(
        each() if wanted else None for each, wanted in zip(made, asked, strict=True)
    )


def _all_but_channels(grad: fx.Node) -> list[int]:
    return [dim for dim in range(value_of(grad).ndim) if dim != 1]


@dataclass(frozen=True)
class _Moved:
    """How filters move in one call; a line of pixels is an image of one row."""

    node: fx.Node
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    transposed: bool
    more: Sequence[int]
    groups: int

    @classmethod
    def of(cls, node: fx.Node, moves: Sequence[Any]) -> _Moved:
        """From arguments as torch orders them."""
        return cls(node, *moves)

    def why_not(self, *operands: fx.Node) -> str:
        dims = len(self.stride)
        if dims not in (1, 2):
            return f"the convolution is of {dims} dimensions"
        filters = value_of(operands[1]).shape[2:]
        if not all(isinstance(each, int) for each in filters):
            return "sizes of filters are open"
        return why_not(*map(value_of, operands))

    @property
    def line(self) -> bool:
        return len(self.stride) == 1

    def flat(self, operand: fx.Node) -> fx.Node:
        """An operand as images."""
        return (
            emit(self.node, ATEN.unsqueeze.default, operand, 2)
            if self.line
            else (operand)
        )

    def lined(self, result: fx.Node) -> fx.Node:
        """Images as what the call gives."""
        return emit(self.node, ATEN.squeeze.dim, result, 2) if self.line else result

    def grown(self, x: fx.Node, weight: fx.Node) -> list[Any]:
        """Rows and columns of what a transposed convolution gives."""
        sizes = [
            size if isinstance(size, int) else self._times(x, dim, weight)
            for dim, size in enumerate(value_of(self.node).shape[2:])
        ]
        return [1, *sizes] if self.line else sizes

    def _times(self, x: fx.Node, dim: int, weight: fx.Node) -> fx.Node:
        """One that is known only when the graph runs."""
        reach = self.dilation[dim] * (value_of(weight).shape[2 + dim] - 1) + 1
        rest = reach + self.more[dim] - self.stride[dim] - 2 * self.padding[dim]
        size = size_of(self.node, x, 2 + dim)
        times = emit(self.node, operator.mul, size, self.stride[dim])
        return emit(self.node, operator.add, times, rest)

    def extents(self, like: fx.Node) -> list[Any]:
        """Rows and columns of an operand or a result."""
        dims = range(2, value_of(like).ndim)
        sizes = [size_of(self.node, like, dim) for dim in dims]
        return [1, *sizes] if self.line else sizes

    def emit(self, target: Callable[..., Any], *operands: Any) -> fx.Node:
        moves = self.stride, self.padding, self.dilation
        rest = (1, 0, 1)
        pairs = [
            [other, *given] if self.line else list(given)
            for given, other in zip(moves, rest, strict=True)
        ]
        return emit(self.node, target, *operands, *pairs, self.groups)

    def of_images(self, grad: fx.Node, x: fx.Node, weight: fx.Node) -> fx.Node:
        moved, filters = self.flat(grad), self.flat(weight)
        if self.transposed:
            return self.lined(self.emit(WAVE.conv2d.default, moved, filters, None))
        size = self.extents(x)
        found = self.emit(WAVE.conv2d_input.default, moved, filters, size)
        return self.lined(found)

    def of_filters(self, grad: fx.Node, x: fx.Node, weight: fx.Node) -> fx.Node:
        images, moved = (grad, x) if self.transposed else (x, grad)
        operands = self.flat(images), self.flat(moved), self.extents(weight)
        return self.lined(self.emit(WAVE.conv2d_weight.default, *operands))


CONVOLUTIONS: dict[Any, Rule] = {
    ATEN.convolution.default: convolution,
    ATEN.convolution_backward.default: gradients,
}
"""Op -> its rule."""
