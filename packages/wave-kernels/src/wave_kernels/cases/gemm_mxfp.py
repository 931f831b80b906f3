"""The cases of products of scaled small floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile import default_session
from wave_core.compile.kernels import KernelCase
from wave_core.diagnostics import user_error
from wave_kernels.cases.sizes import (
    left_open,
    one_of,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.gemm_mxfp import (
    ORDERS,
    gemm_mxfp_by_blocks_kernel,
    gemm_mxfp_kernel,
)
from wave_kernels.microscaling import BIAS, BLOCK, numbers, unshuffled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.types import DType

FORMATS = {
    str(dtype): dtype
    for dtype in (tkl.f4e2m1fn, tkl.f6e2m3fn, tkl.f6e3m2fn, tkl.f8e4m3fn, tkl.f8e5m2)
}
"""MXFP4, both of MXFP6, both of MXFP8."""

RESULTS = {"f32": tkl.f32, "bf16": tkl.bf16}

TOLERANCES = {"f32": 1e-5, "bf16": 2.0**-8}
"""Of max(abs(A) abs(B)^T): sums of f32; a result rounded to bf16."""

SPREAD = 3
"""Scales are from 2 to the power of minus this up to it."""


def gemm_mxfp_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` of operands in ``FORMAT``; ``c`` is of type ``RESULT``.

    Targets without the instruction multiply block by block. ``STAGED=1`` stages
    elements and scales in LDS. ``SHUFFLED=scales`` has scales in the order of lanes,
    ``SHUFFLED=all`` those and the elements of the right side.
    """
    sizes = with_defaults(shape, {"M": 256, "N": 256, "K": 256})
    words = {
        name: one_of(table, "gemm-mxfp", name, settings.get(name), usual)
        for name, table, usual in (
            ("FORMAT", FORMATS, "f4e2m1fn"),
            ("RESULT", RESULTS, "f32"),
            ("SHUFFLED", ORDERS, "none"),
        )
    }
    dtype, result = FORMATS[words["FORMAT"]], RESULTS[words["RESULT"]]
    shuffled = words["SHUFFLED"]
    open_names = ["BLOCK_M", "BLOCK_N", "WAVES_M", "WAVES_N"]
    if _takes_scales(target, dtype):
        kernel = gemm_mxfp_kernel(dtype, result, shuffled=shuffled)
        open_names += ["BLOCK_K", "STAGED"]
    else:
        kernel = gemm_mxfp_by_blocks_kernel(dtype, result, shuffled)
    _check_blocks(sizes["K"])
    chosen = left_open(settings, open_names)
    subs, _ = symbols(sizes, chosen)

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        operands = (_operand(rng, sizes[name], sizes["K"], dtype) for name in "MN")
        bytes_ = [array for pair in operands for array in pair]
        stored = _shuffled(bytes_, dtype.bits, shuffled)
        return [*stored, poisoned((sizes["M"], sizes["N"]), result)]

    def sides(arguments: Sequence[Any]) -> tuple[Any, Any]:
        a, s, b, t = _plain(arguments[:4], sizes, dtype.bits, shuffled)
        return numbers(a, s, dtype), numbers(b, t, dtype)

    def product(arguments: Sequence[Any]) -> Sequence[Any]:
        x, y = sides(arguments)
        return [x @ y.T]

    def magnitude(arguments: Sequence[Any]) -> float:
        x, y = map(abs, sides(arguments))
        return float((x @ y.T).max(initial=0.0)) or 1.0

    return KernelCase(
        kernel=kernel,
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=sizes,
        settings={**chosen, **words},
        make_arguments=make_arguments,
        reference=product,
        outputs=(4,),
        tolerance=TOLERANCES[words["RESULT"]],
        scale=magnitude,
    )


def _check_blocks(k: int) -> None:
    """Every scale has a whole block.

    Raises:
        UserError: WV0823.
    """
    if k % BLOCK:
        raise user_error(
            "WV0823",
            f"size `K` of kernel `gemm-mxfp` is {k}, no whole number of blocks",
            help=f"{BLOCK} elements share a scale: K={-(-k // BLOCK) * BLOCK}, with "
            "elements of 0 at the end",
        )


def _takes_scales(target: str, dtype: DType) -> bool:
    """Whether the target has a matrix instruction for scaled operands."""
    rows = default_session().target(target).matrix_instructions
    return any(row.scale_block == BLOCK and dtype in row.operand_dtypes for row in rows)


def _operand(
    rng: np.random.Generator, rows: int, k: int, dtype: DType
) -> tuple[np.ndarray, np.ndarray]:
    """Random finite elements as bytes, and scales."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    size = (rows, k * dtype.bits // 8)
    data = rng.integers(0, 256, size, np.uint8)
    if not dtype.is_packed:
        finite = np.isfinite(data.view(dtype.numpy()).astype(np.float32))
        data = np.where(finite, data, np.uint8(0))
    span = (BIAS - SPREAD, BIAS + SPREAD + 1)
    scales = rng.integers(*span, (rows, k // BLOCK), np.uint8)
    return data.view(np.int8), scales.view(np.int8)


def _shuffled(
    operands: Sequence[np.ndarray], bits: int, order: str
) -> list[np.ndarray]:
    """The operands as a kernel of this order takes them."""
    if order == "none":
        return list(operands)
    import torch  # noqa: PLC0415 - torch is loaded only when running

    from wave_kernels.functions.shuffles import (  # noqa: PLC0415 - as above
        shuffle_scales,
        shuffle_weights,
    )

    # torch's functions of arrays are untyped.
    a, s, b, t = (torch.from_numpy(x) for x in operands)  # pyright: ignore[reportUnknownMemberType]
    weights = shuffle_weights(b, bits) if order == "all" else b
    stored = (a, shuffle_scales(s), weights, shuffle_scales(t))
    return [tensor.numpy() for tensor in stored]


def _plain(
    operands: Sequence[np.ndarray], sizes: Mapping[str, int], bits: int, order: str
) -> list[np.ndarray]:
    """Those operands as matrices again."""
    a, s, b, t = operands
    if order != "none":
        blocks = sizes["K"] // BLOCK
        s, t = (unshuffled(x, (sizes[n], blocks)) for x, n in ((s, "M"), (t, "N")))
    if order == "all":
        b = unshuffled(b, (sizes["N"], sizes["K"] * bits // 8), bits)
    return [a, s, b, t]
