"""The case of cross entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.cross_entropy import cross_entropy_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase

IGNORED = -100
SMOOTHING = 0.1


def cross_entropy_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Cross entropy of each f32 row, of which every fifth is ignored.

    ``SMOOTHED=1`` gives a tenth to all columns; ``DYNAMIC=1`` leaves M and N to the
    launch.
    """
    sizes = with_defaults(shape, {"M": 64, "N": 4000})
    chosen = with_defaults(settings, {"SMOOTHED": 0, "DYNAMIC": 0})
    m, n = sizes.values()
    smoothing = SMOOTHING if chosen["SMOOTHED"] else 0.0

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        targets = rng.integers(0, n, m, "int32")
        targets[::5] = IGNORED
        logits = normal(rng, (m, n), tkl.f32) * 3
        found = (poisoned((m,), tkl.f32) for _ in range(2))
        return [logits, targets, IGNORED, smoothing, *found]

    return case_of_rows(
        cross_entropy_kernel(smoothed=bool(smoothing)),
        (sizes, chosen, target),
        ({}, sizes),
        (make_arguments, _cross_entropy, (4, 5)),
    )


def _cross_entropy(arguments: Sequence[Any]) -> Sequence[Any]:
    """Losses and logarithms of sums, in f64."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    logits, targets, ignored, smoothing, *_ = arguments
    rows = logits.astype("float64")
    most = rows.max(axis=1)
    lse = most + np.log(np.exp(rows - most[:, None]).sum(axis=1))
    counted = targets != ignored
    own = rows[np.arange(len(rows)), np.where(counted, targets, 0)]
    likely = (1 - smoothing) * own + smoothing * rows.mean(axis=1)
    return [np.where(counted, lse - likely, 0.0), lse]
