"""The rows of matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Callable

ATEN = torch.ops.aten

ONE_BYTE = (torch.float8_e4m3fn, torch.float8_e5m2)
"""Operands whose products are stored as bfloat16."""


def _product(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str = "",
    residual: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    del bias, activation, residual
    fits = a.shape[-1] == b.shape[-2]
    torch._check(fits, lambda: _apart(a, b))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType] - documented
    shape = (*a.shape[:-1], b.shape[-1])
    return a.new_empty(shape, dtype=out_dtype or stored_type(a))


def stored_type(a: torch.Tensor) -> torch.dtype:
    """Of a product, where nobody asks for another."""
    return torch.bfloat16 if a.dtype in ONE_BYTE else a.dtype


def _apart(a: torch.Tensor, b: torch.Tensor) -> str:
    return f"`matmul`: `a` is {tuple(a.shape)} and `b` is {tuple(b.shape)}"


def _sigmoid_slope(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return ATEN.sigmoid_backward(grad, x.sigmoid())


def _tanh_slope(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return ATEN.tanh_backward(grad, x.tanh())


def _relu_slope(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return ATEN.threshold_backward(grad, x, 0)


SLOPES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "": lambda grad, _: grad,
    "gelu": ATEN.gelu_backward,
    "relu": _relu_slope,
    "sigmoid": _sigmoid_slope,
    "silu": ATEN.silu_backward,
    "tanh": _tanh_slope,
}
"""Activation -> the gradient of its argument, from its result's and the argument."""


def _sum_before_activation(call: Call, stored: torch.dtype) -> torch.Tensor | None:
    """``a b + bias`` once more: one product costs less than keeping every sum."""
    if not call["activation"]:
        return None
    return torch.ops.wave.matmul(call["a"], call["b"], call["bias"], out_dtype=stored)


def _product_gradient(call: Call, grad: torch.Tensor) -> dict[str, torch.Tensor]:
    """Two products, in the operands' type, of the gradient of the sum."""
    a, b = call["a"], call["b"]
    before = _sum_before_activation(call, grad.dtype)
    inner = grad if before is None else SLOPES[call["activation"]](grad, before)
    inner = inner.to(a.dtype)
    found: dict[str, torch.Tensor] = {}
    if "a" in call.wanted:
        found["a"] = torch.ops.wave.matmul(inner, b.mT)
    if "b" in call.wanted:
        rows = b.ndim == 2
        left = a.flatten(0, -2) if rows else a
        right = inner.flatten(0, -2) if rows else inner
        found["b"] = torch.ops.wave.matmul(left.mT, right)
    if "bias" in call.wanted:
        found["bias"] = inner.float().flatten(0, -2).sum(0).to(a.dtype)
    if "residual" in call.wanted:
        found["residual"] = grad.to(a.dtype)
    return found


MATMUL = WaveOp(
    "matmul",
    '(Tensor a, Tensor b, Tensor? bias=None, str activation="",'
    " Tensor? residual=None, ScalarType? out_dtype=None) -> Tensor",
    result=_product,
    gradient=_product_gradient,
    saved=("a", "b", "bias", "activation"),
    narrowed=("a", "b", "bias", "residual"),
)
