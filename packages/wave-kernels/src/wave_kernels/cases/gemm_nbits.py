"""The case of products with weights of 4 or 8 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.gemm import RESULTS, TOLERANCES
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    one_of,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.gemm_nbits import Weights, gemm_nbits_kernel
from wave_kernels.microscaling import codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.types import DType

TILES = ("BLOCK_M", "BLOCK_N", "WAVES_M", "WAVES_N", "MMA_ROWS", "STAGED")

DTYPES = ("f16", "bf16", "f32")


def gemm_nbits_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a ((b - zeros) scales)^T`` for b of ``BITS``, 4 or 8.

    ``GROUP`` of them along K share a scale, or all with 0. ``SIGNED=0`` counts them
    from 0, ``ZEROS=1`` gives each group a zero. ``DTYPE``, ``RESULT``, ``STAGED``: as
    in `gemm_case`; ``DYNAMIC=1`` leaves M to the launch.
    """
    sizes = with_defaults(shape, {"M": 16, "N": 512, "K": 512})
    usual = {"BITS": 4, "GROUP": 128, "SIGNED": 1, "ZEROS": 0, "DYNAMIC": 0}
    flags = with_defaults(settings, usual)
    weights = Weights(
        flags["BITS"],
        flags["GROUP"],
        signed=bool(flags["SIGNED"]),
        zeros=bool(flags["ZEROS"]),
    )
    words = {
        name: one_of(table, "gemm-nbits", name, settings.get(name), first)
        for name, table, first in (
            ("DTYPE", DTYPES, "f16"),
            ("RESULT", RESULTS["f32"], "f32"),
        )
    }
    dtype, result = (getattr(tkl, words[name]) for name in ("DTYPE", "RESULT"))
    chosen = left_open(settings, TILES)
    rows = {"M": sizes["M"]}
    subs, dynamic = symbols(rows, {**chosen, "DYNAMIC": flags["DYNAMIC"]})
    fixed = {"N": sizes["N"], "K": sizes["K"], "GROUPS": _groups(weights, sizes["K"])}
    subs |= {getattr(tkl.sym, name): size for name, size in fixed.items()}
    return KernelCase(
        kernel=gemm_nbits_kernel(weights, dtype, result=result),
        options=tkl.WaveCompileOptions(
            subs=subs, dynamic_symbols=dynamic, target=target
        ),
        shape=sizes,
        settings={**chosen, **flags, **words},
        make_arguments=lambda rng: _arguments(rng, weights, sizes, (dtype, result)),
        reference=lambda arguments: [_product(arguments, weights)],
        outputs=(4 if weights.zeros else 3,),
        tolerance=TOLERANCES[words["RESULT"]],
        scale=lambda arguments: _magnitude(arguments, weights),
    )


def _groups(weights: Weights, k: int) -> int:
    return -(-k // weights.group) if weights.group else 1


def _arguments(
    rng: np.random.Generator,
    weights: Weights,
    sizes: Mapping[str, int],
    types: tuple[DType, DType],
) -> list[np.ndarray]:
    """Rows, any bytes, scales near 1, any zeros, and a poisoned result."""
    dtype, result = types
    m, n, k = (sizes[name] for name in "MNK")
    groups = _groups(weights, k)
    b = rng.integers(-128, 128, (n, k * weights.bits // 8), "int8")
    scales = rng.random((n, groups), "float32") + 0.5
    least = -weights.half if weights.signed else 0
    zeros = rng.integers(least, least + 2 * weights.half, (n, groups)).astype("int8")
    added = [zeros] if weights.zeros else []
    return [normal(rng, (m, k), dtype), b, scales, *added, poisoned((m, n), result)]


def _numbers(arguments: Sequence[Any], weights: Weights) -> Any:
    """The weights in f64."""
    a, b, scales, *zeros = arguments[: 4 if weights.zeros else 3]
    found = codes(b, weights.bits).astype("float64")
    zero = 0.0 if weights.signed else float(weights.half)
    if weights.signed:
        found -= (found >= weights.half) * 2.0 * weights.half
    size, k = weights.group or a.shape[1], a.shape[1]
    if zeros:
        plain = zeros[0] if weights.signed else zeros[0].view("uint8")
        zero = plain.astype("float64").repeat(size, axis=1)[:, :k]
    return (found - zero) * scales.astype("float64").repeat(size, axis=1)[:, :k]


def _product(arguments: Sequence[Any], weights: Weights) -> Any:
    return arguments[0].astype("float64") @ _numbers(arguments, weights).T


def _magnitude(arguments: Sequence[Any], weights: Weights) -> float:
    """The largest element of abs(a) abs(weights)."""
    a, numbers = abs(arguments[0].astype("float64")), abs(_numbers(arguments, weights))
    return float((a @ numbers.T).max(initial=0.0)) or 1.0
