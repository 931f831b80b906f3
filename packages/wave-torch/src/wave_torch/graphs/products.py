"""Matrix products, and what is done to their sums before they are stored."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from wave_torch.graphs.nodes import (
    UNSAFE_VIEW,
    Left,
    Rule,
    arguments_of,
    bound,
    emit,
    lay_as,
    note_origin,
    only_user,
    same_shape,
    tensor_of,
    value_of,
    why_not,
)

ATEN = torch.ops.aten
MATMUL = torch.ops.wave.matmul.default

SCALED = {"input": None, "a": None, "b": None, "beta": 1, "alpha": 1}
"""The arguments of products that are added to something."""

ACTIVATIONS: dict[Any, str] = {
    ATEN.gelu.default: "gelu",
    ATEN.relu.default: "relu",
    ATEN.sigmoid.default: "sigmoid",
    ATEN.silu.default: "silu",
    ATEN.tanh.default: "tanh",
}

VIEWS = (ATEN.view.default, UNSAFE_VIEW, ATEN.reshape.default)
"""What only gives elements other indices; an activation does not see it."""


def product(node: fx.Node) -> fx.Node | Left:
    """``a b``, of matrices or of batches of them."""
    a, b = arguments_of(node)[:2]
    return _matmul(node, a, b)


def product_and_sum(node: fx.Node) -> fx.Node | Left:
    """``a b + input``: a bias where it is one row, a residual where it is whole."""
    call = bound(node, SCALED)
    if (call["beta"], call["alpha"]) != (1, 1):
        return Left(f"factors {call['beta']} and {call['alpha']}")
    role = _role(value_of(call["input"]), value_of(node))
    if not role:
        return Left(f"what is added has shape {tuple(value_of(call['input']).shape)}")
    return _matmul(node, call["a"], call["b"], **{role: call["input"]})


def _matmul(node: fx.Node, a: Any, b: Any, **added: fx.Node) -> fx.Node | Left:
    operands = [value_of(each) for each in (a, b, *added.values())]
    reason = why_not(*operands)
    return Left(reason) if reason else emit(node, MATMUL, a, b, **added)


def _role(added: torch.Tensor, result: torch.Tensor) -> str:
    """As what an epilogue adds a tensor to a result."""
    if same_shape(added.shape, result.shape):
        return "residual"
    return "bias" if same_shape(added.shape, result.shape[-1:]) else ""


PRODUCTS: dict[Any, Rule] = {
    ATEN.mm.default: product,
    ATEN.bmm.default: product,
    ATEN.addmm.default: product_and_sum,
    ATEN.baddbmm.default: product_and_sum,
}
"""Op -> its rule."""


def finished(node: fx.Node) -> fx.Node:
    """A product that does as much of what follows as it can: the last of its nodes."""
    while (step := _Step.after(node)) is not None:
        more = step.more()
        if more is None:
            break
        node = step.taken(more)
    return node


@dataclass(frozen=True)
class _Step:
    """A product and what alone reads it.

    Attributes:
        product: The call of the operator.
        views: Between the two, one behind the other.
        user: The reader.
    """

    product: fx.Node
    views: tuple[fx.Node, ...]
    user: fx.Node

    @classmethod
    def after(cls, product: fx.Node) -> _Step | None:
        """Of a product that somebody computes with, and nobody else."""
        views: list[fx.Node] = []
        user = only_user(product)
        while user is not None and user.target in VIEWS:
            views.append(user)
            user = only_user(user)
        computes = user is not None and user.op == "call_function"
        return cls(product, tuple(views), user) if user and computes else None

    @property
    def seen(self) -> fx.Node:
        """The product as its reader sees it."""
        return self.views[-1] if self.views else self.product

    def more(self) -> dict[str, Any] | None:
        """Arguments with which the product does what its reader does."""
        done = self.product.kwargs
        if "residual" in done:
            return None
        activation = ACTIVATIONS.get(self.user.target)
        if activation is not None and not done.get("activation"):
            plain = len(self.user.args) == 1 and not self.user.kwargs
            return {"activation": activation} if plain else None
        plain = self.user.target is ATEN.add.Tensor and not self.user.kwargs
        return self._added() if plain else None

    def _added(self) -> dict[str, Any] | None:
        first, second = self.user.args
        other = second if first is self.seen else first
        value, result = tensor_of(other), value_of(self.seen)
        if not isinstance(other, fx.Node) or value is None or other is self.seen:
            return None
        fits = same_shape(value_of(self.user).shape, result.shape)
        if why_not(result, value) or not fits:
            return None
        role = _role(value, result)
        if role == "residual":
            return self._residual(other)
        within = same_shape(result.shape[-1:], value_of(self.product).shape[-1:])
        free = not {"bias", "activation"} & set(self.product.kwargs)
        return {"bias": other} if role and within and free else None

    def _residual(self, other: fx.Node) -> dict[str, Any] | None:
        """As the product's rows: the views are undone."""
        if not self.views:
            return {"residual": other}
        shape = value_of(self.product).shape
        if len(shape) != 2 or not isinstance(shape[1], int):
            return None
        flat = emit(self.user, ATEN.reshape.default, other, [-1, shape[1]])
        return {"residual": flat}

    def taken(self, more: dict[str, Any]) -> fx.Node:
        """The product that does it, where its reader stood."""
        kwargs = {**self.product.kwargs, **more}
        made = emit(self.user, MATMUL, *self.product.args, **kwargs)
        note_origin(made, self.product, self.user)
        found = made
        for view in self.views:
            target: Any = view.target
            found = emit(self.user, target, found, *view.args[1:])
        self.user.replace_all_uses_with(lay_as(found, self.user))
        for old in (self.user, *reversed(self.views), self.product):
            old.graph.erase_node(old)
        return made
