"""Formulas of elements, on tensors."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.elementwise import Program
from wave_kernels.functions.formulas import formula_of
from wave_kernels.functions.launches import DTYPES
from wave_kernels.functions.options import stored_type
from wave_kernels.functions.programs import TRUTH, checked, compute
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_kernels.functions.arguments import Arguments

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def elementwise(
    formula: str,
    tensors: Sequence[torch.Tensor],
    *,
    out_dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """What a formula says of each element of tensors that broadcast, in one kernel.

    A formula is names, an arrow and an expression of Python: ``x, w -> silu(x * w)``.
    It has numbers, ``+ - * / **``, comparisons, which are true or false, ``& | ~`` of
    these, ``where(c, x, y)``, ``maximum`` and ``minimum``, and functions of one value
    as torch has them: ``abs``, ``ceil``, ``cos``, ``erf``, ``exp``, ``exp2``,
    ``floor``, ``gelu`` (by erf), ``log``, ``log2``, ``reciprocal``, ``round``,
    ``rsqrt``, ``sigmoid``, ``silu``, ``sin``, ``sqrt``, ``tanh``. ``sum``, ``mean``,
    ``amax`` and ``amin`` are of a row, the last dimension, and one number for all of
    its elements.

    Args:
        formula: What is computed.
        tensors: One for each name, in order: float32, float16, bfloat16 or bool. Of
            rows that are folded there are 1 to 32,768 elements.
        out_dtype: Of the result: float32, float16 or bfloat16; by default what types of
            the tensors promote to, float32 where none is a float.
        out: Takes the result; a new tensor by default.

    Returns:
        Of the shape to which tensors broadcast, with dims in the order in which the
        first of that shape has them in memory; with 1 for the last dimension where it
        is one number a row. What is true or false is bool. Accuracy: each step is f32,
        functions to 1e-5, folds to 1e-5 of the sum of absolute values; rounded once.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit.
        UserError: WV0823 for what is no formula of these tensors.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import elementwise
        >>> x, y = torch.tensor([[1.0, -2.0]]), torch.tensor([[2.0], [3.0]])
        >>> elementwise("x, y -> where(x > 0, x * y, 0.5)", (x, y))
        tensor([[2.0000, 0.5000],
                [3.0000, 0.5000]])
    """
    given = _first(formula, tensors)
    truths = tuple(each.dtype == torch.bool for each in tensors)
    found = formula_of(formula, truths)
    stored = result_type(given, tensors, out_dtype, truth=found.truth)
    dtype = TRUTH if found.truth else DTYPES[stored]
    program = Program(len(tensors), found.steps, ((found.value, dtype),))
    (result,) = compute(program, *tensors, out=out)
    return result if out is None else out


def _first(formula: Any, tensors: Any) -> Arguments:
    """The first tensor, where there are a formula and tensors that fit.

    Raises:
        LaunchError: WV0704, WV0705, WV0708, WV0714 where there are not.
    """
    several = type(tensors) in (list, tuple) and len(tensors) > 0
    given = checked(tensors if several else (tensors,))
    if not several:
        given.refuse("WV0704", "`tensors` is a tensor", "give a tuple of them")
    if not isinstance(formula, str):
        what = f"`formula` is a {type(formula).__name__}"
        given.refuse("WV0704", what, "give a text: `x, y -> x * y`")
    return given


def result_type(
    given: Arguments,
    tensors: Sequence[torch.Tensor],
    asked: torch.dtype | None,
    *,
    truth: bool,
) -> torch.dtype:
    """The element type of a formula's result.

    Raises:
        LaunchError: WV0705 for one that is not stored, or not for what is true.
    """
    if truth:
        if asked not in (None, torch.bool):
            what = f"`out_dtype` is {asked}"
            given.refuse("WV0705", what, "what is true or false is bool")
        return torch.bool
    floats = [each.dtype for each in tensors if each.dtype != torch.bool]
    wide = reduce(torch.promote_types, floats) if floats else torch.float32
    return stored_type(given, "out_dtype", asked, wide)
