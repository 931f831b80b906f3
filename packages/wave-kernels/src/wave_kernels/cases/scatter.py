"""The cases of rows that others replace, or are added to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.scatter import scatter_add_kernel, scatter_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.compile.kernels import KernelCase

    Places = Callable[[np.ndarray[Any, Any], int], Sequence[np.ndarray[Any, Any]]]


def scatter_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``M`` rows in place of some of ``ROWS``; ``DYNAMIC=1`` leaves sizes open."""

    def wanted(arguments: Sequence[Any]) -> Sequence[Any]:
        table, last, rows, _ = arguments
        return [np.where(last[:, None] >= 0, rows[last], table)]

    return _case((shape, settings, target), (scatter_kernel(), _last, wanted), {})


def scatter_add_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``M`` rows added to some of ``ROWS``; ``DYNAMIC=1`` leaves sizes open."""

    def wanted(arguments: Sequence[Any]) -> Sequence[Any]:
        table, order, starts, rows, _ = arguments
        found = table.astype(np.float64)
        owners = np.repeat(np.arange(len(table)), np.diff(starts))
        np.add.at(found, owners, rows[order].astype(np.float64))
        return [found]

    parts = (scatter_add_kernel(), _in_order, wanted)
    return _case((shape, settings, target), parts, {"ENDS": 1})


def _case(
    asked: tuple[Mapping[str, int], Mapping[str, int | str], str],
    parts: tuple[Any, Places, Callable[[Sequence[Any]], Sequence[Any]]],
    more: Mapping[str, int],
) -> KernelCase:
    """Of a kernel that is told where each row belongs."""
    shape, settings, target = asked
    kernel, places, wanted = parts
    sizes = with_defaults(shape, {"M": 64, "N": 1024, "ROWS": 100})
    m, n, count = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        table, rows = (normal(rng, (size, n), tkl.f32) for size in (count, m))
        told = places(rng.integers(0, count, m), count)
        return [table, *told, rows, poisoned((count, n), tkl.f32)]

    symbols = {"N": n, "ROWS": count, "NEW": m}
    symbols |= {"M": m, "ENDS": count + 1} if more else {}
    return case_of_rows(
        kernel,
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({}, symbols),
        (make_arguments, wanted, (4 if more else 3,)),
    )


def _last(places: np.ndarray[Any, Any], count: int) -> Sequence[np.ndarray[Any, Any]]:
    """The last row of each place."""
    found = np.full(count, -1, np.int32)
    np.maximum.at(found, places, np.arange(len(places), dtype=np.int32))
    return [found]


def _in_order(
    places: np.ndarray[Any, Any], count: int
) -> Sequence[np.ndarray[Any, Any]]:
    """Rows by place, and where those of each start."""
    order = np.argsort(places, kind="stable").astype(np.int32)
    starts = np.searchsorted(places[order], np.arange(count + 1)).astype(np.int32)
    return [order, starts]
