"""The row of products with weights of 4 or 8 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_torch.ops.row import Call, WaveOp

if TYPE_CHECKING:
    from collections.abc import Mapping


def _product(
    a: torch.Tensor,
    b: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor | None = None,
    group_size: int | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    del scales, zeros, group_size
    return a.new_empty((*a.shape[:-1], b.shape[0]), dtype=out_dtype or a.dtype)


def _numbers(call: Call) -> torch.Tensor:
    """What is scaled, ``[N, K]`` in f32."""
    b, zeros = call["b"], call["zeros"]
    whole, signed = b.view(torch.uint8), b.dtype == torch.int8
    bits = 8 if b.shape[1] == call["a"].shape[-1] else 4
    codes = whole if bits == 8 else torch.stack([whole & 15, whole >> 4], -1).flatten(1)
    half = 1 << (bits - 1)
    found = codes.float()
    if signed:
        found = found - (codes >= half) * (2.0 * half)
    if zeros is not None:
        return found - _along_rows(zeros.float(), call)
    return found if signed else found - half


def _along_rows(values: torch.Tensor, call: Call) -> torch.Tensor:
    """What groups have, for each number of a row."""
    depth = call["a"].shape[-1]
    size = call["group_size"] or depth
    return values.repeat_interleave(size, 1)[:, :depth]


def _gradient(call: Call, grad: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Of ``a`` by the weights, written out; of scales by sums over their groups."""
    a, scales, numbers = call["a"], call["scales"], _numbers(call)
    found: dict[str, torch.Tensor] = {}
    if "a" in call.wanted:
        weights = numbers * _along_rows(scales.float(), call)
        rows = grad.to(a.dtype).reshape(-1, grad.shape[-1])
        product = torch.ops.wave.matmul(rows, weights.to(a.dtype))
        found["a"] = product.reshape(a.shape)
    if "scales" in call.wanted:
        left, right = (e.float().reshape(-1, e.shape[-1]) for e in (grad, a))
        parts = torch.ops.wave.matmul(left.mT, right) * numbers
        size = call["group_size"] or a.shape[-1]
        spare = scales.shape[1] * size - parts.shape[1]
        whole = torch.nn.functional.pad(parts, (0, spare))
        sums = whole.reshape(*scales.shape, size).sum(-1)
        found["scales"] = sums.to(scales.dtype)
    return found


MATMUL_NBITS = WaveOp(
    "matmul_nbits",
    "(Tensor a, Tensor b, Tensor scales, Tensor? zeros=None, int? group_size=None,"
    " ScalarType? out_dtype=None) -> Tensor",
    result=_product,
    gradient=_gradient,
    saved=("a", "b", "scales", "zeros", "group_size"),
    narrowed=("a",),
)
