"""The case of the softmax kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.peers import softmax
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.rows import HELD
from wave_kernels.definitions.softmax import softmax_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import numpy as np


def softmax_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Softmax of each row of an f32 matrix; ``DYNAMIC=1`` leaves M to the launch.

    ``LONG=1`` goes along the rows, as along those that no wave can hold.
    """
    sizes = with_defaults(shape, {"M": 128, "N": 256})
    waves = left_open(settings, ("WAVES_N",))
    chosen = {
        **waves,
        **with_defaults(settings, {"DYNAMIC": 0, "LONG": int(sizes["N"] > HELD)}),
    }
    row = {"N": sizes["N"]}
    subs, _ = symbols(row if chosen["DYNAMIC"] else sizes, waves)
    extents = (sizes["M"], sizes["N"])

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        return [normal(rng, extents, tkl.f32) * 5, poisoned(extents, tkl.f32)]

    return KernelCase(
        kernel=softmax_kernel(long=bool(chosen["LONG"])),
        options=tkl.WaveCompileOptions(
            subs=subs,
            dynamic_symbols=[tkl.sym.M] if chosen["DYNAMIC"] else [],
            target=target,
        ),
        shape=sizes,
        settings=chosen,
        make_arguments=make_arguments,
        reference=_softmax,
        outputs=(1,),
        peers=softmax(),
        tolerance=1e-3,
        scale=lambda _: 1.0,
    )


def _softmax(arguments: Sequence[Any]) -> Sequence[Any]:
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    rows = arguments[0].astype("float64")
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return [powers / powers.sum(axis=1, keepdims=True)]
