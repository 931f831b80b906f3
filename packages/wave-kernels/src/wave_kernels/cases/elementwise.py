"""The case of programs of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.activations import ACTIVATIONS
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.elementwise import (
    Program,
    Step,
    elementwise_kernel,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import numpy as np

OPERANDS = (("mn", tkl.f16), ("n", tkl.f32), ("m", tkl.f32), ("mn", tkl.i8))

SCALED = (
    Step("mul", (0, 1)),
    Step("where", (3, 4, 2)),
    Step("sigmoid", (5,)),
    Step("mul", (6, 5)),
)
"""``silu(mask ? x * w : r)``."""


def elementwise_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``silu(mask ? x * w : r)``, with a number a column and one a row.

    ``FOLD=1`` subtracts each row's mean from it, and gives these as well.
    """
    sizes = with_defaults(shape, {"M": 128, "N": 256})
    folds = with_defaults(settings, {"FOLD": 0})["FOLD"]
    # Where no row is held whole there are no waves to share it.
    waves = left_open(settings, ("WAVES_N",)) if folds else {}
    subs, _ = symbols(sizes, waves)
    m, n = sizes["M"], sizes["N"]
    fold = (Step("mean", (7,)), Step("sub", (7, 8))) if folds else ()
    last = 9 if folds else 7
    results = ((last, tkl.f32), *(((8, tkl.f32),) if folds else ()))
    extents = [(m, n), *([(m,)] if folds else [])]

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        x, w, r = (
            normal(rng, each, dtype)
            for each, dtype in (((m, n), tkl.f16), ((n,), tkl.f32), ((m,), tkl.f32))
        )
        mask = rng.integers(0, 2, (m, n), tkl.i8.numpy())
        return [x, w, r, mask, *(poisoned(each, tkl.f32) for each in extents)]

    return KernelCase(
        kernel=elementwise_kernel(
            Program(len(OPERANDS), (*SCALED, *fold), results), "mn", OPERANDS
        ),
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=sizes,
        settings={"FOLD": folds, **waves},
        make_arguments=make_arguments,
        reference=_folded if folds else _scaled,
        outputs=tuple(range(len(OPERANDS), len(OPERANDS) + len(extents))),
        tolerance=1e-5,
        scale=lambda arguments: float(abs(_scaled(arguments)[0]).max(initial=1.0)),
    )


def _scaled(arguments: Sequence[Any]) -> list[Any]:
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    x, w, r = (each.astype("float64") for each in arguments[:3])
    return [ACTIVATIONS["silu"](np.where(arguments[3] != 0, x * w, r[:, None]))]


def _folded(arguments: Sequence[Any]) -> list[Any]:
    (rows,) = _scaled(arguments)
    means = rows.mean(axis=1)
    return [rows - means[:, None], means]
