"""Matrix products of groups of rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.grouped_gemm import grouped_gemm_kernel
from wave_kernels.functions.arguments import FLOATS, Arguments, shape_of
from wave_kernels.functions.launches import DTYPES, launch, tile_rows
from wave_kernels.functions.products import F8, as_it_lies, type_of_product
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def grouped_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    starts: torch.Tensor,
    *,
    rows: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``a[m] b[g]`` for each row m, where g is the group that it belongs to.

    Rows come group by group: those of group g from ``starts[g]`` up to
    ``starts[g + 1]``, of any number, none included. All groups take one launch. A
    transposed view of ``b`` (``b.mT``) is read as it lies in memory.

    Args:
        a: ``[M, K]``, or ``[T, K]`` with ``rows``; float32, float16, bfloat16,
            float8_e4m3fn or float8_e5m2.
        b: ``[E, K, N]``, of a's type.
        starts: ``[E + 1]``, int32, ascending from 0 to M.
        rows: ``[M]``, int32: which row of ``a`` stands at each place of the groups.
        out_dtype: Of the result, as in `matmul`.
        checked: Whether numbers in starts and rows are looked at, which waits for a
            GPU; without it those out of range touch other memory.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[M, N]``, summed in f32 and rounded once, as accurate as `matmul`. Compiled
        for each E, N, K and a tile that suits the mean size of a group.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit.
        UserError: WV0702 where the GPU has no instruction for the type.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import grouped_matmul
        >>> weights = torch.tensor([1.0, 10.0, 100.0]).view(3, 1, 1)
        >>> starts = torch.tensor([0, 2, 2, 3], dtype=torch.int32)
        >>> grouped_matmul(torch.ones(3, 1), weights, starts).flatten()
        tensor([  1.,   1., 100.])
    """
    given = Arguments.of("grouped_matmul", "a", a, (*FLOATS, *F8))
    stored = type_of_product(given, out_dtype)
    operands = grouped_operands(given, a, b, starts, rows, checked=checked)
    found = given.result(out, (height(a, rows), b.shape[2]), stored)
    return multiply_groups(operands, found)


@repeated
def grouped_swiglu(
    a: torch.Tensor,
    b: torch.Tensor,
    starts: torch.Tensor,
    *,
    rows: torch.Tensor | None = None,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``silu(a[m] gate[g]) * (a[m] up[g])`` for each row m of group g, in one launch.

    Args:
        a: ``[M, K]``, or ``[T, K]`` with ``rows``; float32, float16 or bfloat16.
        b: ``[E, K, 2 * N]``, of a's type: the columns of gate, then those of up.
        starts: As in `grouped_matmul`.
        rows: As in `grouped_matmul`.
        checked: As in `grouped_matmul`.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[M, N]``, of a's type, computed in f32 and rounded once. Accuracy: 1e-3 of the
        largest result, and half a unit in its last place. Compiled as `grouped_matmul`.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import grouped_swiglu
        >>> weights = torch.tensor([[[100.0, 1.0]], [[-100.0, 1.0]]])
        >>> starts = torch.tensor([0, 1, 2], dtype=torch.int32)
        >>> grouped_swiglu(torch.ones(2, 1), weights, starts)
        tensor([[100.],
                [ -0.]])
    """
    given = Arguments.of("grouped_swiglu", "a", a)
    operands = grouped_operands(given, a, b, starts, rows, checked=checked)
    columns, odd = divmod(b.shape[2], 2)
    if odd:
        advice = "it has as many columns of gate as of up"
        given.refuse("WV0707", f"`b` is {tuple(b.shape)}", advice)
    found = given.result(out, (height(a, rows), columns), a.dtype)
    return multiply_groups(operands, found, gated=True)


def grouped_operands(
    given: Arguments, a: Any, b: Any, starts: Any, rows: Any, *, checked: bool
) -> list[torch.Tensor]:
    """``a``, ``b`` as given, starts and rows, seen to fit.

    Raises:
        LaunchError: WV0704 to WV0708, WV0714 for what does not.
    """
    shape_of(given, "a", a, "MK")
    groups, _, n = shape_of(given, "b", b, "EKN")
    given.fitting("b", b, (groups, a.shape[1], n))
    first = given.tensor("starts", starts, (groups + 1,), torch.int32)
    picked = [] if rows is None else [table_of(given, rows)]
    if checked:
        check_groups(given, first, height(a, rows))
        for table in picked:
            given.check_rows("rows", table, "a", a.shape[0])
    return [a.contiguous(), b, first, *picked]


def height(a: torch.Tensor, rows: torch.Tensor | None) -> int:
    """Rows of all groups together."""
    return a.shape[0] if rows is None else rows.shape[0]


def multiply_groups(
    operands: Sequence[torch.Tensor], found: torch.Tensor, *, gated: bool = False
) -> torch.Tensor:
    """Launch the product of operands that fit, into ``found``."""
    a, b, starts, *picked = operands
    if not found.numel():
        return found
    if not a.numel() or not b.numel():
        return found.zero_()
    weights, layout = as_it_lies(b, "NT")
    what = {
        "groups": b.shape[0],
        "dtype": DTYPES[a.dtype],
        "layout": f"N{layout}",
        "result": DTYPES[found.dtype],
        "gathered": bool(picked),
        "gated": gated,
    }
    groups, sizes = b.shape[0], {"N": found.shape[1], "K": a.shape[1]}
    sizes |= {"E": groups, "ENDS": groups + 1}
    sizes["BLOCK_M"] = tile_rows(found.shape[0] // groups)
    dynamic = ("M", "TOKENS") if picked else ("M",)
    launch(
        grouped_gemm_kernel, what, sizes, (a, weights, starts, *picked, found), dynamic
    )
    return found


def table_of(given: Arguments, rows: Any) -> torch.Tensor:
    """Which rows stand where, of any number."""
    count = rows.numel() if isinstance(rows, torch.Tensor) else 0
    return given.tensor("rows", rows, (count,), torch.int32)


def check_groups(given: Arguments, starts: torch.Tensor, rows: int) -> None:
    """See that each row belongs to one group.

    Raises:
        LaunchError: WV0707 where that is not so.
    """
    numbers = [int(each) for each in starts.cpu()]
    ascending = all(start <= end for start, end in pairwise(numbers))
    if (numbers[0], numbers[-1]) != (0, rows) or not ascending:
        what = f"`starts` does not ascend from 0 to {rows}"
        given.refuse("WV0707", what, "it has the first row of each group, and an end")
