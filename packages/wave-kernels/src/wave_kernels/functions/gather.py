"""Rows that indices pick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_kernels.definitions.gather import gather_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.indices import in_32_bits, indices_of
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    import torch

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def gather_rows(
    table: torch.Tensor,
    indices: torch.Tensor,
    *,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``table[indices]``: an embedding for each index.

    Args:
        table: ``[V, N]``, float32, float16 or bfloat16.
        indices: Of any shape, int64 or int32, from 0 to V - 1.
        checked: Whether indices are looked at first, which waits for a GPU. Otherwise
            one that is no row gives zeros.
        out: Takes the result, ``[*indices.shape, N]`` of table's type; a new tensor by
            default.

    Returns:
        The rows, exact.

    Raises:
        LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit; WV0707 for
            indices that are no rows.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import gather_rows
        >>> gather_rows(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1]))
        tensor([[3., 4.],
                [3., 4.]])
    """
    given = Arguments.of("gather_rows", "table", table)
    rows, length = shape_of(given, "table", table, ("V", "N"))
    places = indices_of(given, "indices", indices, getattr(indices, "shape", ()))
    found = given.result(out, (*places.shape, length), table.dtype)
    if checked:
        given.check_rows("indices", places, "table", rows)
    if not rows:
        return found.zero_()
    if found.numel():
        launch(
            gather_kernel,
            {"dtype": DTYPES[table.dtype]},
            {},
            (table, in_32_bits(places).view(-1), found.view(-1, length)),
            dynamic=("M", "N", "ROWS"),
        )
    return found
