"""The case of rows that indices pick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.gather import gather_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase


def gather_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``M`` of ``ROWS`` f32 rows; ``DYNAMIC=1`` leaves all sizes to the launch."""
    sizes = with_defaults(shape, {"M": 64, "N": 1024, "ROWS": 100})
    m, n, rows = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        table = normal(rng, (rows, n), tkl.f32)
        indices = rng.integers(0, rows, m, "int32")
        return [table, indices, poisoned((m, n), tkl.f32)]

    def picked(arguments: Sequence[Any]) -> Sequence[Any]:
        table, indices, _ = arguments
        return [table[indices]]

    return case_of_rows(
        gather_kernel(),
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({}, sizes),
        (make_arguments, picked, (2,)),
    )
