"""Launches of what Triton compiled: `fixtures` has the texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wave_emulator_ptx import LaunchOptions, LaunchResult, TensorMap, emulate, load

FIXTURES = Path(__file__).parent / "fixtures"
SCRATCH = np.zeros(16, np.uint8)
"""What Triton's launcher adds to the arguments, twice."""


def text_of(name: str) -> str:
    """The PTX of a kernel."""
    return (FIXTURES / f"{name}.sm_90a.ptx").read_text()


def gemm(
    text: str, sizes: tuple[int, int, int], order: int | None = None
) -> tuple[float, LaunchResult]:
    """The largest error, and what was reported."""
    m, n, k = sizes
    source = np.random.default_rng(sum(sizes))
    a = source.standard_normal((m, k)).astype(np.float16)
    b = source.standard_normal((n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    result = emulate(
        load(text),
        [a, b, c, m, n, k, SCRATCH, SCRATCH],
        grid=(-(-m // 64), -(-n // 64), 1),
        block=(128, 1, 1),
        shared=49152,
        options=LaunchOptions(order=order, limit=100_000, poison=frozenset({2})),
    )
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    return float(np.abs(c - wanted).max()), result


def attention(
    text: str, sizes: tuple[int, int], order: int | None = None
) -> tuple[float, LaunchResult]:
    """Likewise, of heads and the length of the sequence."""
    heads, length = sizes
    source = np.random.default_rng(sum(sizes))
    q, k, v = source.standard_normal((3, heads, length, 64)).astype(np.float16)
    o = np.full((heads, length, 64), np.nan, np.float32)
    result = emulate(
        load(text),
        [q, k, v, o, length, SCRATCH, SCRATCH],
        grid=(length // 64, heads, 1),
        block=(128, 1, 1),
        shared=40960,
        options=LaunchOptions(order=order, limit=100_000, poison=frozenset({3})),
    )
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1)
    powers = np.exp2(scores - scores.max(axis=-1, keepdims=True))
    wanted = powers / powers.sum(axis=-1, keepdims=True) @ v.astype(np.float64)
    return float(np.abs(o - wanted).max()), result


def gemm_tma(
    text: str, sizes: tuple[int, int, int], order: int | None = None
) -> tuple[float, LaunchResult]:
    """The largest error of a result in f16, and what was reported."""
    m, n, k = sizes
    source = np.random.default_rng(sum(sizes))
    a = source.standard_normal((m, k)).astype(np.float16)
    b = source.standard_normal((n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    tensors = [argument for each in (a, b, c) for argument in _tensor(each)]
    result = emulate(
        load(text),
        [*tensors, k, SCRATCH, SCRATCH],
        grid=(-(-m // 64), -(-n // 64), 1),
        block=(128, 1, 1),
        shared=49176,
        options=LaunchOptions(order=order, limit=100_000),
    )
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    return float(np.nan_to_num(np.abs(c - wanted).max(), nan=np.inf)), result


def _tensor(matrix: np.ndarray) -> list[TensorMap | int]:
    """A descriptor as Triton's launcher passes it: the map, extents and strides."""
    rows, columns = matrix.shape
    shape, strides = (columns, rows), (2 * columns,)
    made = TensorMap("f16", matrix, shape, strides, (64, 64), 128)
    return [made, rows, columns, columns, 1]


def attention_roles(
    text: str, sizes: tuple[int, int], order: int | None = None
) -> tuple[float, LaunchResult]:
    """Likewise, of heads and the length of the sequence."""
    heads, length = sizes
    source = np.random.default_rng(sum(sizes))
    q, k, v = source.standard_normal((3, heads, length, 64)).astype(np.float16)
    o = np.full((heads, length, 64), np.nan, np.float16)
    flat = [each.reshape(-1, 64) for each in (q, k, v, o)]
    result = emulate(
        load(text),
        [*(argument for each in flat for argument in _tensor(each)), length,
         np.zeros(4096, np.uint8), SCRATCH],
        grid=(length // 64, heads, 1),
        block=(384, 1, 1),
        shared=74144,
        options=LaunchOptions(order=order, limit=200_000),
    )  # fmt: skip
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1)
    powers = np.exp2(scores - scores.max(axis=-1, keepdims=True))
    wanted = powers / powers.sum(axis=-1, keepdims=True) @ v.astype(np.float64)
    return float(np.nan_to_num(np.abs(o - wanted).max(), nan=np.inf)), result
