"""Attention to some keys, joined with attention to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_kernels.definitions.attention_join import Joining, join_kernel
from wave_kernels.functions.launches import DTYPES, launch

if TYPE_CHECKING:
    import torch

    Found = tuple[torch.Tensor, torch.Tensor]
    """Both results of `attention_with_lse`."""

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


def join_rows(kept: Found, part: Found, into: Found, first: int, end: int) -> None:
    """Put what queries found among two sets of keys into ``into``, in one kernel.

    Args:
        kept: What they found among the first ones: rows ``[B, H, M, DV]``, float32,
            float16 or bfloat16, and logarithms ``[B, H, M]``, float32.
        part: The same of the last ``P`` queries, ``[B, H, P, DV]`` and ``[B, H, P]``,
            among the second ones.
        into: Takes the results, of the shapes of ``kept``, rows of any of its types;
            rows may be those of ``kept``, logarithms not. All are contiguous.
        first: The first query that is joined, ``M - P`` or a later one.
        end: Behind the last one. What others found is neither read nor written.

    Accuracy: 1e-5 of the larger one of both rows, and rounding to the result's type.
    """
    if first >= end or not into[0].numel():
        return
    (b, h, m, n), p = into[0].shape, part[0].shape[2]
    in_place = into[0] is kept[0]
    kinds = [DTYPES[rows.dtype] for rows, _ in (kept, part, into)]
    joining = Joining(first, first - (m - p), *kinds[: 2 if in_place else 3])
    tensors = (*kept, *part, into[1], *(() if in_place else into[:1]))
    sizes = {"HEADS": b * h, "ROWS": m, "PART": p, "M": end - first, "N": n}
    operands = [each.flatten(0, 1) for each in tensors]
    launch(join_kernel, {"joining": joining}, sizes, operands)
