"""The case of the copy kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.peers import copying
from wave_kernels.cases.sizes import normal, poisoned, symbols, with_defaults
from wave_kernels.definitions.copy import copy_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import numpy as np


def copy_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Copy an ``M`` x ``N`` matrix of f16, bit for bit."""
    sizes = with_defaults(shape, {"M": 129, "N": 100})
    tiles = with_defaults(settings, {"BLOCK_M": 16, "BLOCK_N": 64, "DYNAMIC": 0})
    subs, dynamic = symbols(sizes, tiles | {"STAGED": 0})
    extents = (sizes["M"], sizes["N"])

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        return [normal(rng, extents, tkl.f16), poisoned(extents, tkl.f16)]

    return KernelCase(
        kernel=copy_kernel(),
        options=tkl.WaveCompileOptions(
            subs=subs, dynamic_symbols=dynamic, target=target
        ),
        shape=sizes,
        settings=tiles,
        make_arguments=make_arguments,
        reference=lambda arguments: [arguments[0].astype("float64")],
        outputs=(1,),
        peers=copying(),
        tolerance=0.0,
    )
