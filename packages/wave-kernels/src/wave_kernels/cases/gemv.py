"""The cases of products of few rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.gated_gemm import gated_gemm_case
from wave_kernels.cases.gemm import DTYPES, SIZES, TOLERANCES, Product
from wave_kernels.cases.sizes import with_defaults
from wave_kernels.definitions.gemv import gated_gemv_kernel, gemv_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

ROW = {**SIZES, "M": 1}


def gemv_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` of few rows. ``DYNAMIC=1`` leaves M and N to the launch.

    ``DTYPE``, ``RESULT``, ``BIAS``, ``ACTIVATION``, ``RESIDUAL``: as in `gemm_case`.
    """
    sizes = with_defaults(shape, ROW)
    product = Product.asked("gemv", "NT", settings)
    chosen = with_defaults(settings, {"DYNAMIC": 0})
    return KernelCase(
        kernel=gemv_kernel(
            product.dtype, result=product.result, epilogue=product.epilogue
        ),
        options=_options(sizes, target, dynamic=bool(chosen["DYNAMIC"])),
        shape=sizes,
        settings={**chosen, **product.settings},
        make_arguments=lambda rng: product.arguments(rng, sizes),
        reference=lambda arguments: [product.of(arguments)],
        outputs=(len(product.dims) - 1,),
        tolerance=TOLERANCES[str(product.result)],
        scale=product.magnitude,
        flops=2.0 * sizes["M"] * sizes["N"] * sizes["K"],
    )


def gated_gemv_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = ACTIVATION(a gate^T) * (a up^T)`` of few rows; settings of `gemv_case`."""
    made = gated_gemm_case(with_defaults(shape, ROW), settings, target)
    names = ("ACTIVATION", "DTYPE", "DYNAMIC", "RESULT")
    chosen = {name: made.settings[name] for name in names}
    return replace(
        made,
        kernel=gated_gemv_kernel(
            DTYPES[str(chosen["DTYPE"])],
            activation=str(chosen["ACTIVATION"]),
            result=getattr(tkl, str(chosen["RESULT"])),
        ),
        options=_options(made.shape, target, dynamic=bool(chosen["DYNAMIC"])),
        settings=chosen,
    )


def _options(
    sizes: Mapping[str, int], target: str, *, dynamic: bool
) -> tkl.WaveCompileOptions:
    """The row is bound, which waves hold."""
    bound = {name: getattr(tkl.sym, name) for name in (("K",) if dynamic else sizes)}
    return tkl.WaveCompileOptions(
        subs={symbol: sizes[name] for name, symbol in bound.items()},
        dynamic_symbols=[tkl.sym.M, tkl.sym.N] if dynamic else [],
        target=target,
    )
