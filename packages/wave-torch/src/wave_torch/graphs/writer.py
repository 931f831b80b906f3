"""Programs of elements, written while nodes are read."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from wave_kernels.definitions.elementwise import Number, Program, Step
from wave_kernels.functions.launches import DTYPES
from wave_kernels.functions.programs import TRUTH
from wave_torch.graphs.nodes import arguments_of, dtype_of, tensor_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.types import DType

CONSTANTS = (torch.ops.aten.full.default, torch.ops.aten.scalar_tensor.default)
"""Ops that make tensors of one number."""

WHOLE = 256
"""Whole numbers up to which floats of 16 bits have all: bfloat16 has 8 bits of them."""


def constant_of(node: fx.Node) -> Number | None:
    """The number that a node without dims is; None for anything else."""
    value = tensor_of(node)
    if node.target not in CONSTANTS or value is None or value.ndim:
        return None
    fill = arguments_of(node)[-1]
    plain = isinstance(fill, (int, float)) and value.dtype != torch.bool
    kept = plain and _is_kept(float(fill), value.dtype)
    return Number(repr(float(fill))) if kept else None


def _is_kept(fill: float, dtype: torch.dtype) -> bool:
    """Whether a tensor of a type has a number as it is, by what every type has."""
    whole = not isfinite(fill) or (fill.is_integer() and abs(fill) <= WHOLE)
    return whole or dtype in (torch.float32, torch.float64)


@dataclass
class Writer:
    """A program while it is written.

    Attributes:
        places: The values of nodes; those that are read come first.
        read: How many these are.
        steps: So far.
    """

    places: dict[fx.Node, int]
    read: int
    steps: list[Step] = field(default_factory=list[Step])

    @classmethod
    def reading(cls, nodes: Sequence[fx.Node]) -> Writer:
        """With these nodes as operands."""
        return cls({node: place for place, node in enumerate(nodes)}, len(nodes))

    def step(self, name: str, *operands: int | Number) -> int:
        """Append a step, of values and numbers; its value."""
        self.steps.append(Step(name, operands))
        return self.read + len(self.steps) - 1

    def value(self, argument: Any) -> int | Number:
        """What an argument of an op is here: a value, or a number."""
        if not isinstance(argument, fx.Node):
            return Number(repr(float(argument)))
        constant = constant_of(argument)
        return self.places[argument] if constant is None else constant

    def real(self, argument: Any) -> int | Number:
        """The same, with 1 for true and 0 for false."""
        found, tensor = self.value(argument), tensor_of(argument)
        if tensor is None or tensor.dtype != torch.bool:
            return found
        return self.step("where", found, Number("1.0"), Number("0.0"))

    def reals(self, node: fx.Node) -> list[int | Number]:
        """All arguments of an op."""
        return [self.real(each) for each in arguments_of(node)]

    def program(self, stored: Sequence[fx.Node]) -> Program:
        """What has been written, with these nodes as results."""
        results = tuple((self.places[each], _stored(each)) for each in stored)
        return Program(self.read, tuple(self.steps), results)


def _stored(node: fx.Node) -> DType:
    dtype = dtype_of(node)
    return TRUTH if dtype == torch.bool else DTYPES[dtype]
