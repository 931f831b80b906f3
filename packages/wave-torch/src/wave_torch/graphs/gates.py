"""Two products of the same rows, of which one gates the other: one kernel."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import torch
from torch import fx

from wave_torch.graphs.nodes import (
    emit,
    lay_as,
    note_origin,
    only_user,
    same_shape,
    value_of,
)
from wave_torch.graphs.products import MATMUL, VIEWS

ATEN = torch.ops.aten
SWIGLU = torch.ops.wave.swiglu.default


def gate_products(graph: fx.Graph) -> None:
    """Let one kernel do ``activation(x gate) * (x up)``, either factor first.

    Products whose sums somebody else reads stay: gradients need them.
    """
    for node in list(graph.nodes):
        if node.target is not ATEN.mul.Tensor:
            continue
        for first, second in permutations(map(_Factor.of, node.args)):
            if first and second and first.gates(second):
                _replace(node, first, second)
                break


@dataclass(frozen=True)
class _Factor:
    """A product that nobody but one multiplication reads.

    Attributes:
        product: The call of the operator.
        views: Between the two, one behind the other.
    """

    product: fx.Node
    views: tuple[fx.Node, ...]

    @classmethod
    def of(cls, argument: Any) -> _Factor | None:
        """What an argument is, if it is one of matrices, without a bias."""
        views: list[fx.Node] = []
        while isinstance(argument, fx.Node) and only_user(argument) is not None:
            if argument.target is MATMUL:
                plain = set(argument.kwargs) <= {"activation"}
                matrices = value_of(argument.args[1]).ndim == 2
                return cls(argument, tuple(views[::-1])) if plain and matrices else None
            if argument.target not in VIEWS:
                return None
            views.append(argument)
            argument = argument.args[0]
        return None

    @property
    def shape(self) -> Any:
        """Of what is multiplied."""
        return value_of(self.views[-1] if self.views else self.product).shape

    @property
    def activation(self) -> Any:
        """Of its sums; none where there is none."""
        return self.product.kwargs.get("activation")

    def gates(self, other: _Factor) -> bool:
        """Whether its activation is all that keeps it from being like the other."""
        (a, gate), (b, up) = self.product.args, other.product.args
        return (
            bool(self.activation)
            and not other.activation
            and _same(a, b)
            and same_shape(value_of(gate).shape, value_of(up).shape)
            and same_shape(self.shape, other.shape)
        )


def _same(a: Any, b: Any) -> bool:
    """Whether nodes are the same, or views of the same shape of the same one."""
    if a is b:
        return True
    views = a.target in VIEWS and b.target in VIEWS and a.args[0] is b.args[0]
    return views and same_shape(value_of(a).shape, value_of(b).shape)


def _replace(node: fx.Node, gate: _Factor, up: _Factor) -> None:
    """The kernel where the factors were multiplied."""
    x, weights = gate.product.args
    more = {"activation": gate.activation}
    made = emit(node, SWIGLU, x, weights, up.product.args[1], **more)
    note_origin(made, gate.product, up.product, node)
    found = made
    for view in gate.views:
        target: Any = view.target
        found = emit(node, target, found, *view.args[1:])
    node.replace_all_uses_with(lay_as(found, node))
    for old in (node, *gate.views[::-1], *up.views[::-1], gate.product, up.product):
        old.graph.erase_node(old)
