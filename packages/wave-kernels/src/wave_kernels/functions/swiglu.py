"""Gated products."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from wave_kernels.definitions.epilogue import check_activation
from wave_kernels.definitions.gated_gemm import gated_gemm_kernel
from wave_kernels.definitions.gemv import gated_gemv_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.launches import DTYPES, Call, launch, launch_special
from wave_kernels.functions.products import as_it_lies, is_long_row
from wave_kernels.functions.repeated import repeated
from wave_kernels.functions.requests import Request

if TYPE_CHECKING:
    import torch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def swiglu(
    x: torch.Tensor,
    gate: torch.Tensor,
    up: torch.Tensor,
    *,
    activation: str = "silu",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``activation(x gate) * (x up)``, in one launch that stores neither product.

    A transposed view (``gate.mT``) is read as it lies in memory; ``up`` is copied where
    it lies otherwise than ``gate``.

    Args:
        x: ``[..., K]``, float32, float16 or bfloat16.
        gate: ``[K, N]``, of x's type.
        up: ``[K, N]``, of x's type.
        activation: ``silu`` (SwiGLU), ``gelu`` by erf (GEGLU), ``relu`` (ReGLU),
            ``sigmoid`` (GLU) or ``tanh``.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[..., N]``, of x's type, computed in f32 and rounded once. Accuracy: 1e-3 of
        the largest result, and half a unit in the last place of its type.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit.
        UserError: WV0823 for an unknown activation; WV0702 where the GPU has no
            instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import swiglu
        >>> gate, up = torch.tensor([[1.0, -1.0]]), torch.tensor([[3.0, 4.0]])
        >>> swiglu(torch.tensor([[2.0]]), gate, up, activation="relu")
        tensor([[12.,  0.]])
    """
    given = Arguments.of("swiglu", "x", x)
    if x.ndim == 0:
        given.refuse("WV0706", "`x` has no dimension", "give one row, or more")
    *lead, k = x.shape
    _, n = shape_of(given, "gate", gate, "KN")
    for name, weights in (("gate", gate), ("up", up)):
        given.fitting(name, weights, (k, n))
    check_activation(activation)
    found = given.result(out, (*lead, n), x.dtype)
    if not found.numel() or not k:
        return found.zero_()
    rows, first = as_it_lies(x.reshape(prod(lead), k), "NT")
    gates, second = as_it_lies(gate, "NT")
    ups = up.mT.contiguous() if second == "T" else up.contiguous()
    what = {
        "dtype": DTYPES[x.dtype],
        "layout": first + second,
        "activation": activation,
        "result": DTYPES[x.dtype],
    }
    sizes = {"M": prod(lead), "N": n, "K": k}
    asked = Request(gated_gemm_kernel, what, sizes)
    usual = Call(asked, (rows, gates, ups, found.view(-1, n)))
    if is_long_row(rows) and what["layout"] == "NT":
        launch_special(usual, lambda: _of_one_row(usual))
    else:
        launch(gated_gemm_kernel, what, sizes, usual.arguments)
    return found


def _of_one_row(usual: Call) -> Call:
    """The same of one row, by no matrix instructions."""
    asked = usual.request
    what = {name: asked.what[name] for name in ("dtype", "result", "activation")}
    return Call(Request(gated_gemv_kernel, what, asked.sizes), usual.arguments)
