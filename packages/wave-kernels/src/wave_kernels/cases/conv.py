"""The case of the convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.conv import ConvShape, conv_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

_TILES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "WAVES_M", "WAVES_N", "STAGED")

TOLERANCE = 1e-3
"""Of the convolution of absolute values: f16 operands, f32 accumulation."""


def conv_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``N`` images of ``H`` x ``W`` x ``C`` with ``NF`` filters of ``HF`` x ``WF``.

    ``STAGED=1`` stages both in LDS.
    """
    sizes = with_defaults(
        shape, {"N": 2, "H": 16, "W": 20, "C": 16, "HF": 3, "WF": 2, "NF": 32}
    )
    stride = with_defaults(settings, {"STRIDE": 1})
    tiles = stride | left_open(settings, _TILES)
    conv = ConvShape(
        **{name.lower(): size for name, size in sizes.items()}, stride=stride["STRIDE"]
    )
    subs, _ = symbols({}, tiles)
    subs |= conv.symbols()

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        image = (conv.n, conv.h, conv.w, conv.c)
        filters = (conv.hf, conv.wf, conv.c, conv.nf)
        out = (conv.n, conv.h_out, conv.w_out, conv.nf)
        x, we = normal(rng, image, tkl.f16), normal(rng, filters, tkl.f16)
        return [x, we, poisoned(out, tkl.f32)]

    return KernelCase(
        kernel=conv_kernel(conv.stride),
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=sizes,
        settings=tiles,
        make_arguments=make_arguments,
        reference=lambda args: [convolve(args[0], args[1], conv)],
        outputs=(2,),
        tolerance=TOLERANCE,
        scale=lambda args: float(convolve(abs(args[0]), abs(args[1]), conv).max()),
    )


def convolve(x: Any, we: Any, shape: ConvShape) -> Any:
    """The convolution in f64: one matrix product for each filter position."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    out = np.zeros((shape.n, shape.h_out, shape.w_out, shape.nf))
    for r in range(shape.hf):
        for s in range(shape.wf):
            rows = slice(r, r + shape.stride * shape.h_out, shape.stride)
            columns = slice(s, s + shape.stride * shape.w_out, shape.stride)
            patch = x[:, rows, columns].astype("float64")
            out += patch @ we[r, s].astype("float64")
    return out
