"""The gradient of what products of groups of rows multiply by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from wave_kernels.definitions.grouped_weights import grouped_weights_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.grouped_products import check_groups, height, table_of
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def grouped_matmul_weight(
    a: torch.Tensor,
    grad: torch.Tensor,
    starts: torch.Tensor,
    *,
    rows: torch.Tensor | None = None,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``a[m]^T grad[m]``, summed over the rows m of each group: of `grouped_matmul`.

    Args:
        a: ``[M, K]``, or ``[T, K]`` with ``rows``; float32, float16 or bfloat16.
        grad: ``[M, N]``, of a's type: the gradient of ``grouped_matmul(a, b, starts)``.
        starts: ``[E + 1]``, int32, ascending from 0 to M.
        rows: ``[M]``, int32: which row of ``a`` stands at each place of the groups.
        checked: As in `grouped_matmul`.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[E, K, N]``, of a's type, the gradient of ``b``: zeros for a group without
        rows. Summed in f32 and rounded once, as accurate as `matmul`; the same bits
        each time.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        UserError: WV0702 where the GPU has no instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import grouped_matmul_weight
        >>> a = torch.tensor([[1.0], [2.0], [3.0]])
        >>> starts = torch.tensor([0, 2, 2, 3], dtype=torch.int32)
        >>> grouped_matmul_weight(a, torch.ones(3, 1), starts).flatten()
        tensor([3., 0., 3.])
    """
    given = Arguments.of("grouped_matmul_weight", "a", a)
    shape_of(given, "a", a, "MK")
    _, n = shape_of(given, "grad", grad, "MN")
    picked = [] if rows is None else [table_of(given, rows)]
    grown = given.tensor("grad", grad, (height(a, rows), n))
    (ends,) = shape_of(given, "starts", starts, ("E + 1",), torch.int32)
    if not ends:
        given.refuse("WV0707", "`starts` is (0,)", "it has an end, at least")
    first = starts.contiguous()
    if checked:
        check_groups(given, first, len(grown))
        for table in picked:
            given.check_rows("rows", table, "a", a.shape[0])
    found = given.result(out, (ends - 1, a.shape[1], n), a.dtype)
    return _multiply_columns([a.contiguous(), grown, first, *picked], found)


def _multiply_columns(
    operands: Sequence[torch.Tensor], found: torch.Tensor
) -> torch.Tensor:
    """Launch the products of operands that fit, into ``found``."""
    a, grad, starts, *picked = operands
    if not found.numel():
        return found
    if not a.numel() or not grad.numel():
        return found.zero_()
    dtype = DTYPES[a.dtype]
    what = {"dtype": dtype, "result": dtype, "gathered": bool(picked)}
    groups, m, n = found.shape
    sizes = {"M": m, "N": n, "E": groups, "ENDS": groups + 1}
    dynamic = ("K", "TOKENS") if picked else ("K",)
    launch(
        grouped_weights_kernel, what, sizes, (a, grad, starts, *picked, found), dynamic
    )
    return found
