"""The case of transposed matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.transpose import transpose_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase


def transpose_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Each of ``B`` f32 matrices, transposed; ``DYNAMIC=1`` leaves sizes open."""
    sizes = with_defaults(shape, {"B": 2, "M": 256, "N": 256})
    b, m, n = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        return [normal(rng, (b, m, n), tkl.f32), poisoned((b, n, m), tkl.f32)]

    def transposed(arguments: Sequence[Any]) -> Sequence[Any]:
        return [arguments[0].swapaxes(1, 2)]

    return case_of_rows(
        transpose_kernel(),
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({}, sizes),
        (make_arguments, transposed, (1,)),
    )
