"""The cases of the attention kernels."""

from __future__ import annotations

from math import e, log2
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile import default_session
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.peers import attention
from wave_kernels.cases.sizes import (
    OPEN,
    address_space,
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.attention import attention_kernel
from wave_kernels.definitions.attention_tiles import QUERY_SPACE
from wave_kernels.definitions.lazy_attention import ROWS, lazy_attention_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

TOLERANCE = 1e-3
TILES = ("BLOCK_M", "BLOCK_N", "BLOCK_K2", "WAVES_M", "MMA_ROWS")
_WARPGROUP = 64
"""Rows of the products that read queries in LDS."""


def attention_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Attention of ``B`` independent heads, queries scaled beforehand.

    ``STAGED=1`` stages keys and values in LDS. With tiles of which a lane has one row,
    sums are rescaled only where scores have grown.
    """
    return _case(shape, settings, target, causal=False)


def causal_attention_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The same where no query sees a key of larger number."""
    return _case(shape, settings, target, causal=True)


def _case(
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
    *,
    causal: bool,
) -> KernelCase:
    sizes = with_defaults(shape, {"B": 4, "M": 256, "N": 64, "K1": 64, "K2": 256})
    batch = with_defaults(settings, {"BLOCK_B": 1})
    tiles = batch | left_open(settings, (*TILES, "STAGED"))
    subs, _ = symbols(sizes, tiles)
    subs |= query_space(tiles)
    b, m, n, k1, k2 = (sizes[name] for name in ("B", "M", "N", "K1", "K2"))

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        q = normal(rng, (b, m, k1), tkl.f32) * (log2(e) / max(k1, 1) ** 0.5)
        k, v = normal(rng, (b, k2, k1), tkl.f16), normal(rng, (b, k2, n), tkl.f16)
        return [q.astype("float16"), k, v, poisoned((b, m, n), tkl.f32)]

    return KernelCase(
        kernel=lazy_attention_kernel()
        if not causal and _single(tiles, target)
        else attention_kernel(causal=causal),
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=sizes,
        settings=tiles,
        make_arguments=make_arguments,
        reference=lambda arguments: [_attention(*arguments[:3], causal=causal)],
        outputs=(3,),
        flops=(1.0 if causal else 2.0) * b * m * k2 * (k1 + n),
        peers=attention(causal=causal),
        tolerance=TOLERANCE,
        scale=lambda _: 1.0,
    )


def _attention(q: Any, k: Any, v: Any, *, causal: bool = False) -> Any:
    """The softmax in base 2 of ``q k^T``, times ``v``."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    scores = q.astype("float64") @ k.astype("float64").swapaxes(-1, -2)
    if causal:
        seen = np.tri(*scores.shape[-2:], dtype=bool)
        scores = np.where(seen, scores, -np.inf)
    return softmax_product(scores, v.astype("float64"))[0]


def softmax_product(scores: Any, values: Any) -> tuple[Any, Any]:
    """The softmax in base 2 of scores, times values; the logarithms of its sums.

    Rows of minus infinities, or of no score at all, give zeros.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    highest: Any = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    highest = np.maximum(highest, np.finfo(highest.dtype).min)
    powers = np.exp2(scores - highest)
    total = powers.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        sums = (np.log(total) + highest * np.log(2))[..., 0]
    return (powers / np.where(total == 0, 1.0, total)) @ values, sums


def query_space(tiles: Mapping[str, int | str]) -> dict[Any, Any]:
    """Where the products read queries that the settings ask for, if they do."""
    rows = tiles.get("MMA_ROWS", OPEN)
    return {} if rows == OPEN else {QUERY_SPACE: address_space(rows == _WARPGROUP)}


def _single(tiles: Mapping[str, int | str], target: str) -> bool:
    """Whether a lane has one row of queries, in every tile that is left to choose."""
    rows, waves = (tiles.get(name, OPEN) for name in ("MMA_ROWS", "WAVES_M"))
    block = tiles.get("BLOCK_M", OPEN)
    given = [value for value in (rows, waves, block) if value != OPEN]
    if given and (rows, block) != (ROWS, ROWS * int(waves) if waves != OPEN else None):
        return False
    return any(
        row.shape[:2] == (ROWS, ROWS) and not row.acc.reg_digits("N")
        for row in default_session().target(target).matrix_instructions
        if tkl.f16 in row.operand_dtypes
    )
