"""The cases of what leads tokens to experts and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, one_of, poisoned, with_defaults
from wave_kernels.definitions.combine import combine_kernel
from wave_kernels.definitions.routing import (
    SCORES,
    group_tokens_kernel,
    route_kernel,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase


def route_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The ``TOP`` greatest of ``E`` logits for each of ``M`` tokens, as weights.

    ``SCORES`` is softmax or sigmoid; ``NORMALISED=0`` leaves out the division by the
    sum of the weights. ``DYNAMIC=1`` leaves M to the launch.
    """
    sizes = with_defaults(shape, {"M": 64, "E": 64, "TOP": 8})
    flags = with_defaults(settings, {"NORMALISED": 1, "DYNAMIC": 0})
    word = one_of(SCORES, "moe-route", "SCORES", settings.get("SCORES"), "softmax")
    m, e, top = sizes.values()
    normalised = bool(flags["NORMALISED"])

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        logits = normal(rng, (m, e), tkl.f32) * 3
        return [logits, poisoned((m, top), tkl.f32), poisoned((m, top), tkl.i32)]

    def routed(arguments: Sequence[Any]) -> Sequence[Any]:
        return _routed(arguments[0], top, word, normalised=normalised)

    return case_of_rows(
        route_kernel(scores=word, normalised=normalised),
        (sizes, {"SCORES": word, **flags}, target),
        ({"E": e, "CHOICES": top}, {"TOKENS": m}),
        (make_arguments, routed, (1, 2)),
    )


def group_tokens_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Places of ``M`` tokens with ``TOP`` of ``E`` experts each, expert by expert.

    ``DYNAMIC=1`` leaves M to the launch.
    """
    sizes = with_defaults(shape, {"M": 256, "E": 64, "TOP": 8})
    m, e, top = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        experts = rng.integers(0, e, m * top, "int32")
        found = (poisoned((size,), tkl.i32) for size in (m * top, m * top, e + 1))
        return [experts, *found]

    def grouped(arguments: Sequence[Any]) -> Sequence[Any]:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        order = np.argsort(arguments[0], kind="stable")
        counts = np.bincount(arguments[0], minlength=e)
        return [order // top, np.argsort(order), np.append(0, np.cumsum(counts))]

    return case_of_rows(
        group_tokens_kernel(top),
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({"ENDS": e + 1}, {"PAIRS": m * top}),
        (make_arguments, grouped, (1, 2, 3)),
    )


def combine_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Sums of ``TOP`` weighted rows for each of ``M`` tokens, in f32.

    ``DYNAMIC=1`` leaves M to the launch.
    """
    sizes = with_defaults(shape, {"M": 64, "N": 512, "TOP": 8})
    m, n, top = sizes.values()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        rows = normal(rng, (m * top, n), tkl.f32)
        places = rng.permutation(m * top).astype("int32").reshape(m, top)
        weights = rng.random((m, top), "float32")
        return [rows, places, weights, poisoned((m, n), tkl.f32)]

    def combined(arguments: Sequence[Any]) -> Sequence[Any]:
        rows, places, weights, _ = arguments
        return [(weights.astype("float64")[..., None] * rows[places]).sum(1)]

    return case_of_rows(
        combine_kernel(top),
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({"N": n, "CHOICES": top}, {"TOKENS": m, "PAIRS": m * top}),
        (make_arguments, combined, (3,)),
    )


def _routed(logits: Any, top: int, scores: str, *, normalised: bool) -> Sequence[Any]:
    """Weights and experts, in f64."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    rows = logits.astype("float64")
    found = 1.0 / (1.0 + np.exp(-rows))
    if scores == "softmax":
        powers = np.exp(rows - rows.max(axis=1, keepdims=True))
        found = powers / powers.sum(axis=1, keepdims=True)
    experts = np.argsort(-rows, axis=1, kind="stable")[:, :top]
    weights = np.take_along_axis(found, experts, axis=1)
    if normalised:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return [weights, experts]
