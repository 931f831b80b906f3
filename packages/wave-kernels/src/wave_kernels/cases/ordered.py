"""The cases of running sums, and of the greatest elements of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.ordered import (
    cumsum_kernel,
    long_cumsum_kernel,
    topk_kernel,
)
from wave_kernels.definitions.rows import HELD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase


def cumsum_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Sums of each f32 row up to each of its elements.

    ``EXCLUSIVE=1`` leaves out the element, ``REVERSE=1`` begins at the end;
    ``DYNAMIC=1`` leaves M to the launch. ``LONG=1`` goes along the rows, as along those
    that no wave can hold. Elements are so small that sums are about 1.
    """
    sizes = with_defaults(shape, {"M": 64, "N": 1024})
    defaults = {"EXCLUSIVE": 0, "REVERSE": 0, "DYNAMIC": 0}
    defaults["LONG"] = int(sizes["N"] > HELD)
    chosen = with_defaults(settings, defaults)
    exclusive, reverse = bool(chosen["EXCLUSIVE"]), bool(chosen["REVERSE"])
    kernel = long_cumsum_kernel if chosen["LONG"] else cumsum_kernel
    m, n = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        x = normal(rng, (m, n), tkl.f32) * n**-0.5
        return [x.astype("float32"), poisoned((m, n), tkl.f32)]

    def summed(arguments: Sequence[Any]) -> Sequence[Any]:
        rows = arguments[0].astype("float64")[:, :: -1 if reverse else 1]
        found = rows.cumsum(axis=1) - (rows if exclusive else 0)
        return [found[:, :: -1 if reverse else 1]]

    return case_of_rows(
        kernel(exclusive=exclusive, reverse=reverse),
        (sizes, chosen, target),
        ({"N": n}, {"M": m}),
        (make_arguments, summed, (1,)),
    )


def topk_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The ``TOP`` greatest elements of each f32 row; ``DYNAMIC=1`` leaves M open.

    Rows have equal elements, of which the one before comes first.
    """
    sizes = with_defaults(shape, {"M": 64, "N": 1024, "TOP": 8})
    m, n, top = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        x = normal(rng, (m, n), tkl.f32).round(1)
        return [x, poisoned((m, top), tkl.f32), poisoned((m, top), tkl.i32)]

    def picked(arguments: Sequence[Any]) -> Sequence[Any]:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        rows = arguments[0]
        order = np.argsort(-rows, axis=1, kind="stable")[:, :top]
        return [np.take_along_axis(rows, order, axis=1), order]

    return case_of_rows(
        topk_kernel(),
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({"N": n, "TOP": top}, {"M": m}),
        (make_arguments, picked, (1, 2)),
    )
