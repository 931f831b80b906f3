"""The case of gated products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.activations import ACTIVATIONS
from wave_kernels.cases.gemm import RESULTS, SIZES, TOLERANCES, Product
from wave_kernels.cases.sizes import (
    left_open,
    one_of,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.gated_gemm import gated_gemm_kernel
from wave_kernels.definitions.products import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

NAME = "gemm-gated"

TILES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "WAVES_M", "WAVES_N", "MMA_ROWS", "STAGED")


def gated_gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = ACTIVATION(a gate) * (a up)``, by default of silu.

    ``LAYOUT`` says how a lies in memory, then how gate and up do, as letters of the
    other products. ``DTYPE``, ``RESULT``, ``DYNAMIC``, ``STAGED``: as in `gemm_case`.
    """
    sizes = with_defaults(shape, SIZES)
    given = settings.get
    layout = one_of(LAYOUTS, NAME, "LAYOUT", given("LAYOUT"), "NT")
    word = one_of(ACTIVATIONS, NAME, "ACTIVATION", given("ACTIVATION"), "silu")
    plain = {k: v for k, v in settings.items() if k != "ACTIVATION"}
    product = Product.asked(NAME, layout, plain)
    one_of(RESULTS["f32"], NAME, "RESULT", str(product.result), "f32")
    chosen = {**left_open(settings, TILES), **with_defaults(settings, {"DYNAMIC": 0})}
    subs, dynamic = symbols(sizes, chosen)
    words = {"DTYPE": str(product.dtype), "RESULT": str(product.result)}

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        a, gate, c = product.arguments(rng, sizes)
        _, up, _ = product.arguments(rng, sizes)
        return [a, gate, up, c]

    def gated(arguments: Sequence[Any]) -> Any:
        a, gate, up = (each.astype("float64") for each in arguments[:3])
        return ACTIVATIONS[word](product.product(a, gate)) * product.product(a, up)

    def largest(arguments: Sequence[Any]) -> float:
        return float(abs(gated(arguments)).max(initial=0.0)) or 1.0

    return KernelCase(
        kernel=gated_gemm_kernel(
            product.dtype, layout=layout, activation=word, result=product.result
        ),
        options=tkl.WaveCompileOptions(
            subs=subs, dynamic_symbols=dynamic, target=target
        ),
        shape=sizes,
        settings={**chosen, **words, "LAYOUT": layout, "ACTIVATION": word},
        make_arguments=make_arguments,
        reference=lambda arguments: [gated(arguments)],
        outputs=(3,),
        tolerance=TOLERANCES[str(product.result)],
        scale=largest,
        flops=4.0 * sizes["M"] * sizes["N"] * sizes["K"],
    )
