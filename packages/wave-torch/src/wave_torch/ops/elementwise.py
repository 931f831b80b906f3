"""The row of formulas of elements."""

# Torch declares types for no function that takes functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as torch_functions

from wave_kernels.definitions.elementwise import FOLDS, Number, Program
from wave_kernels.functions.formulas import formula_of
from wave_kernels.functions.programs import TRUTH, order_of
from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_kernels.functions.formulas import Formula

NAMED: dict[str, Callable[..., torch.Tensor]] = {
    "and": torch.logical_and,
    "gelu": torch_functions.gelu,
    "not": torch.logical_not,
    "or": torch.logical_or,
    "silu": torch_functions.silu,
}
"""Steps that have another name in torch."""


def _formula(text: str, tensors: Sequence[torch.Tensor]) -> Formula:
    return formula_of(text, tuple(each.dtype == torch.bool for each in tensors))


def _result(
    formula: str,
    tensors: Sequence[torch.Tensor],
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    found = _formula(formula, tensors)
    program = Program(len(tensors), found.steps, ((found.value, TRUTH),))
    floats = [each.dtype for each in tensors if each.dtype != torch.bool]
    wide = reduce(torch.promote_types, floats) if floats else torch.float32
    dtype = torch.bool if found.truth else out_dtype or wide
    whole = torch.broadcast_shapes(*(each.shape for each in tensors))
    order = order_of(tensors, whole, program)
    if order is not None:
        lying = tensors[0].new_empty([whole[dim] for dim in order], dtype=dtype)
        return lying.permute([order.index(dim) for dim in range(len(order))])
    rows = found.value in program.of_rows
    return tensors[0].new_empty((*whole[:-1], 1) if rows else whole, dtype=dtype)


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, Any]:
    """What torch's own functions have, each step in f32."""
    tensors = call["tensors"]
    found = _formula(call["formula"], tensors)
    places = [i for i, each in enumerate(tensors) if each.dtype != torch.bool]

    def computed(*floats: torch.Tensor) -> torch.Tensor:
        values = list(tensors)
        for place, each in zip(places, floats, strict=True):
            values[place] = each.float()
        return _computed(found, values)

    _, back, *_ = torch.func.vjp(computed, *(tensors[place] for place in places))
    slopes = dict(zip(places, back(grad.float()), strict=True))
    return {"tensors": [slopes.get(place) for place in range(len(tensors))]}


def _computed(formula: Formula, values: list[torch.Tensor]) -> torch.Tensor:
    """A formula by torch's functions."""
    for step in formula.steps:
        operands = [
            values[0].new_full((), float(each.text), dtype=torch.float32)
            if isinstance(each, Number)
            else values[each]
            for each in step.operands
        ]
        named = {"dim": -1, "keepdim": True} if step.name in FOLDS else {}
        function = NAMED.get(step.name) or getattr(torch, step.name)
        values.append(function(*operands, **named))
    return values[formula.value]


ELEMENTWISE = WaveOp(
    "elementwise",
    "(str formula, Tensor[] tensors, ScalarType? out_dtype=None) -> Tensor",
    result=_result,
    gradient=_gradient,
    saved=("formula", "tensors"),
)
