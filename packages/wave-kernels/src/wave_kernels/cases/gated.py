"""The case of gated activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.activations import ACTIVATIONS
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, one_of, poisoned, with_defaults
from wave_kernels.definitions.gated import gated_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase


def gated_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``silu`` of one half of each f32 row, or another ``ACTIVATION``, times the other.

    ``N`` columns are of the result. ``DYNAMIC=1`` leaves M and N to the launch.
    """
    sizes = with_defaults(shape, {"M": 64, "N": 1024})
    given = settings.get("ACTIVATION")
    word = one_of(ACTIVATIONS, "gated", "ACTIVATION", given, "silu")
    flags = with_defaults(settings, {"DYNAMIC": 0})
    m, n = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        return [normal(rng, (m, 2 * n), tkl.f32), poisoned((m, n), tkl.f32)]

    def gated(arguments: Sequence[Any]) -> Sequence[Any]:
        rows = arguments[0].astype("float64")
        return [ACTIVATIONS[word](rows[:, :n]) * rows[:, n:]]

    return case_of_rows(
        gated_kernel(word),
        (sizes, {"ACTIVATION": word, **flags}, target),
        ({}, {**sizes, "PAIR": 2 * n}),
        (make_arguments, gated, (1,)),
    )
