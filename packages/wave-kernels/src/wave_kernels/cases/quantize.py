"""The case of rows in types of one byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    one_of,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.quantize import GREATEST, quantize_kernel
from wave_kernels.definitions.rows import HELD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

STORED = {dtype.name: dtype for dtype in GREATEST}

HALF_STEP = {"f8e4m3fn": 16.0, "f8e5m2": 4096.0, "i8": 0.5}
"""Half of the distance of the two greatest numbers of a type."""

LARGE = 1e6
"""Of what is quantised, so that scales are as large as what they scale."""


def quantize_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Each f32 row as i8, or another ``DTYPE``, and its scale.

    The reference is not rounded. ``DYNAMIC=1`` leaves M to the launch; ``LONG=1`` goes
    along the rows, as along those that no wave can hold.
    """
    sizes = with_defaults(shape, {"M": 128, "N": 1024})
    waves = left_open(settings, ("WAVES_N",))
    word = one_of(STORED, "quantize-rows", "DTYPE", settings.get("DTYPE"), "i8")
    long = int(sizes["N"] > HELD)
    flags = with_defaults(settings, {"DYNAMIC": 0, "LONG": long})
    m, n = sizes.values()
    subs, _ = symbols({"N": n} if flags["DYNAMIC"] else sizes, waves)

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        x = normal(rng, (m, n), tkl.f32) * LARGE
        return [x, poisoned((m, n), STORED[word]), poisoned((m,), tkl.f32)]

    def quotients(arguments: Sequence[Any]) -> Sequence[Any]:
        rows = arguments[0].astype("float64")
        scales = abs(rows).max(axis=1) / GREATEST[STORED[word]]
        return [rows / scales[:, None], scales]

    return KernelCase(
        kernel=quantize_kernel(STORED[word], long=bool(flags["LONG"])),
        options=tkl.WaveCompileOptions(
            subs=subs,
            dynamic_symbols=[tkl.sym.M] if flags["DYNAMIC"] else [],
            target=target,
        ),
        shape=sizes,
        settings={**waves, "DTYPE": word, **flags},
        make_arguments=make_arguments,
        reference=quotients,
        outputs=(1, 2),
        tolerance=HALF_STEP[word] * 1.0001,
        scale=lambda _: 1.0,
    )
