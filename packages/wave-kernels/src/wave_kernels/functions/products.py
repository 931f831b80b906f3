"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import torch

from wave_kernels.definitions.epilogue import Epilogue
from wave_kernels.definitions.gemm import gemm_kernel
from wave_kernels.definitions.gemv import LONGEST, gemv_kernel
from wave_kernels.functions.arguments import FLOATS, Arguments
from wave_kernels.functions.launches import (
    ALIGNED,
    DTYPES,
    Call,
    launch,
    launch_faster,
    launch_special,
)
from wave_kernels.functions.options import stored_type
from wave_kernels.functions.repeated import repeated
from wave_kernels.functions.requests import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

F8 = (torch.float8_e4m3fn, torch.float8_e5m2)
"""Operands of one byte, whose products are stored wider."""

PARTS = 4
"""Of ``K``, where waves share it: a wave for each SIMD of a compute unit."""

FEW, LONG = 32, 1024
"""The most rows, and the least ``K``, of products whose waves may share it: larger ones
have tiles for all compute units, or end before these would matter."""


@repeated
def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    activation: str = "",
    residual: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``activation(a b + bias) + residual``, summed and finished in f32.

    A transposed view (``b.mT``) is read as it lies in memory.

    Args:
        a: ``[..., M, K]``, float32, float16, bfloat16, float8_e4m3fn or float8_e5m2.
        b: ``[K, N]``, or with the same leading dimensions as a; of a's type.
        bias: ``[N]``, of a's type, added to each row.
        activation: relu, gelu (by erf), silu, sigmoid or tanh; none by default.
        residual: Of the result's shape and a's type.
        out_dtype: Of the result: float32, float16 or bfloat16; a's by default, and
            bfloat16 where a has one byte.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[..., M, N]``, rounded once. Accuracy: 1e-3 of the largest
        sum(abs(a) abs(b)), and half a unit in the last place of its type. Floats of
        32 bits are multiplied as such.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        UserError: WV0823 for an unknown activation; WV0702 where the GPU has no
            instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import matmul
        >>> matmul(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, -4.0]]),
        ...        activation="relu")
        tensor([[1., 2.],
                [3., 0.]])
    """
    given = Arguments.of("matmul", "a", a, (*FLOATS, *F8))
    sizes = _sizes(given, a, b)
    stored = type_of_product(given, out_dtype)
    shape = (*a.shape[:-1], sizes.n)
    found = given.result(out, shape, stored)
    added = [
        given.tensor(name, value, wanted)
        for name, value, wanted in (
            ("bias", bias, (sizes.n,)),
            ("residual", residual, shape),
        )
        if value is not None
    ]
    epilogue = Epilogue(bias is not None, activation, residual is not None)
    if not found.numel():
        return found
    first, layout_a = as_it_lies(a.reshape(sizes.a), "NT")
    second, layout_b = as_it_lies(b.reshape(sizes.b), "NT")
    if residual is not None:
        added[-1] = added[-1].view(sizes.c)
    what = {
        "dtype": DTYPES[a.dtype],
        "layout": layout_a + layout_b,
        "result": DTYPES[stored],
        "epilogue": epilogue,
        "batched": sizes.batched,
    }
    rest = (*added, found.view(sizes.c))
    asked = Request(gemm_kernel, what, sizes.symbols)
    usual = Call(asked, (first, second, *rest))
    if not sizes.batched and is_long_row(first) and what["layout"] == "NT":
        launch_special(usual, lambda: _of_one_row(usual))
    elif sizes.have_parts(a.element_size()):
        launch_faster(usual, lambda: _in_parts(asked, first, second, rest))
    else:
        launch(gemm_kernel, what, sizes.symbols, usual.arguments)
    return found


@dataclass(frozen=True)
class _Sizes:
    """Of a product: ``batch`` independent ones of ``[m, k]`` and ``[k, n]``."""

    batch: int
    m: int
    k: int
    n: int
    batched: bool

    @property
    def lead(self) -> tuple[int, ...]:
        return (self.batch,) if self.batched else ()

    @property
    def a(self) -> tuple[int, ...]:
        return (*self.lead, self.m, self.k)

    @property
    def b(self) -> tuple[int, ...]:
        return (*self.lead, self.k, self.n)

    @property
    def c(self) -> tuple[int, ...]:
        return (*self.lead, self.m, self.n)

    @property
    def symbols(self) -> dict[str, int]:
        """By the names that the kernel has for them."""
        found = {"M": self.m, "N": self.n, "K": self.k}
        return {**found, "B": self.batch} if self.batched else found

    def have_parts(self, bytes_each: int) -> bool:
        """Whether waves may share ``K``: of few rows, in long parts, each aligned."""
        aligned = self.k * bytes_each % (PARTS * ALIGNED) == 0
        return aligned and not self.batched and self.m <= FEW and self.k >= LONG


def is_long_row(rows: torch.Tensor) -> bool:
    """Whether a product with these takes as long as reading its weights.

    One row is, of a length that waves hold.
    """
    count, depth = rows.shape[-2:]
    is_held = depth * rows.element_size() <= LONGEST
    return count == 1 and depth >= LONG and rows.dtype in FLOATS and is_held


def _of_one_row(usual: Call) -> Call:
    """The same product of one row, by no matrix instructions."""
    asked = usual.request
    what = {name: asked.what[name] for name in ("dtype", "result", "epilogue")}
    return Call(Request(gemv_kernel, what, asked.sizes), usual.arguments)


def _in_parts(
    usual: Request,
    a: torch.Tensor,
    b: torch.Tensor,
    rest: Sequence[torch.Tensor],
) -> Call:
    """The same product with ``K`` in parts, each summed by waves of its own."""
    layout_a, layout_b = usual.what["layout"]
    operands = (
        _cut(a, 1 if layout_a == "N" else 0),
        _cut(b, 0 if layout_b == "N" else 1),
    )
    sizes = {**usual.sizes, "K": usual.sizes["K"] // PARTS, "PARTS": PARTS}
    request = Request(usual.make, {**usual.what, "parts": True}, sizes)
    return Call(request, (*operands, *rest))


def _cut(matrix: torch.Tensor, dim: int) -> torch.Tensor:
    """With one dimension in `PARTS`."""
    before, cut, after = matrix.shape[:dim], matrix.shape[dim], matrix.shape[dim + 1 :]
    return matrix.view(*before, PARTS, cut // PARTS, *after)


def _sizes(given: Arguments, a: torch.Tensor, b: object) -> _Sizes:
    """One product where b is one matrix, else as many as a has leading rows."""
    if a.ndim < 2:
        given.refuse("WV0706", f"`a` is {tuple(a.shape)}", "give [..., M, K]")
    *lead, m, k = a.shape
    shape: Sequence[int] = b.shape if isinstance(b, torch.Tensor) else ()
    n = shape[-1] if shape else 0
    single = len(shape) == 2
    given.fitting("b", b, (k, n) if single else (*lead, k, n))
    if single:
        return _Sizes(1, prod(lead) * m, k, n, batched=False)
    return _Sizes(prod(lead), m, k, n, batched=True)


def type_of_product(given: Arguments, asked: torch.dtype | None) -> torch.dtype:
    """The element type of a product of the first argument: its own, if not of a byte.

    Raises:
        LaunchError: WV0705 for one that products are not stored in.
    """
    own = given.first.dtype
    wide = torch.bfloat16 if own in F8 else own
    return stored_type(given, "out_dtype", asked, wide)


def as_it_lies(matrix: torch.Tensor, letters: str) -> tuple[torch.Tensor, str]:
    """A contiguous tensor and its letter: whether it is the matrix or its transpose."""
    if matrix.is_contiguous():
        return matrix, letters[0]
    if matrix.mT.is_contiguous():
        return matrix.mT, letters[1]
    return matrix.contiguous(), letters[0]
