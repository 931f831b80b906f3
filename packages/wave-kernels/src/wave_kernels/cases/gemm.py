"""The cases of the matrix products."""

from __future__ import annotations

from dataclasses import replace
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
from wave_kernels.definitions.gemm import gemm_kernel
from wave_kernels.definitions.staged_gemm import staged_gemm_kernel
from wave_kernels.definitions.stream_k import stream_k_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

_WAVES = ("WAVES_M", "WAVES_N")

WORKERS = 8
"""Workgroups of stream-K where none are asked for: no chip holds fewer at once."""

TOLERANCE = 1e-3
"""Of max(abs(A) abs(B)^T): f16 operands, f32 accumulation."""


def gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` with f16 operands.

    ``DYNAMIC=1`` leaves M, N, K to the launch; ``STAGED=1`` stages a and b in LDS.
    """
    tiles = left_open(settings, ("BLOCK_M", "BLOCK_N", "BLOCK_K", *_WAVES, "STAGED"))
    return _case(gemm_kernel(), shape, settings, tiles, target)


def staged_gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` with the tiles of a and b copied to LDS by the author."""
    tiles = with_defaults(settings, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32})
    return _case(staged_gemm_kernel(), shape, settings, tiles, target)


def stream_k_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` by ``WORKERS`` workgroups, which share what tiles are left over.

    ``STAGED=1`` stages a and b in LDS.
    """
    tiles = with_defaults(settings, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32})
    count = with_defaults(settings, {"WORKERS": WORKERS})
    made = _case(
        stream_k_kernel(),
        shape,
        settings,
        tiles | count | left_open(settings, (*_WAVES, "STAGED")),
        target,
    )
    workers, block = count["WORKERS"], (tiles["BLOCK_M"], tiles["BLOCK_N"])

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        a, b, c = made.make_arguments(rng)
        locks = np.zeros(workers, "int32")
        return [a, b, poisoned((workers, *block), tkl.f32), locks, c]

    given = {tkl.sym.WORKERS: workers, tkl.sym.ONE: 1}
    subs = {**made.options.subs, **given}
    options = replace(made.options, subs=subs)
    return replace(made, options=options, make_arguments=make_arguments, outputs=(4,))


def _case(
    kernel: Any,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    tiles: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    sizes = with_defaults(shape, {"M": 512, "N": 512, "K": 512})
    chosen = {**tiles, **with_defaults(settings, {"DYNAMIC": 0})}
    subs, dynamic = symbols(sizes, chosen)
    m, n, k = sizes["M"], sizes["N"], sizes["K"]

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        a, b = normal(rng, (m, k), tkl.f16), normal(rng, (n, k), tkl.f16)
        return [a, b, poisoned((m, n), tkl.f32)]

    return KernelCase(
        kernel=kernel,
        options=tkl.WaveCompileOptions(
            subs=subs, dynamic_symbols=dynamic, target=target
        ),
        shape=sizes,
        settings=chosen,
        make_arguments=make_arguments,
        reference=_product,
        outputs=(2,),
        tolerance=TOLERANCE,
        scale=_magnitude,
    )


def _product(arguments: Sequence[Any]) -> Sequence[Any]:
    a, b = (arguments[i].astype("float64") for i in (0, 1))
    return [a @ b.T]


def _magnitude(arguments: Sequence[Any]) -> float:
    """The largest element of abs(A) abs(B)^T."""
    a, b = (abs(arguments[i].astype("float64")) for i in (0, 1))
    return float((a @ b.T).max(initial=0.0)) or 1.0
