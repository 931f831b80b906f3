"""Values that instructions are tried on: corners first, then random bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np

CORNERS = (0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256)


def integers(name: str, count: int, seed: int) -> np.ndarray:
    """Values of an integer type such as ``s32``."""
    width, source = int(name[1:]), np.random.default_rng(seed)
    limit = 1 << width
    found = [each % limit for each in CORNERS]
    found += [limit - 1, limit - 2, limit // 2, limit // 2 - 1, limit // 2 + 1]
    words = (
        source.integers(0, limit, 1024, dtype=np.uint64, endpoint=False)
        if width < 64
        else source.integers(0, 2**64 - 1, 1024, dtype=np.uint64)
    )
    small = source.integers(0, 70, 256, dtype=np.uint64)
    bits = np.concatenate([np.array(found, np.uint64), words, small])
    bits = source.permutation(np.resize(bits, count))
    kind = "i" if name[0] == "s" else "u"
    return bits.astype(f"u{width // 8}").view(f"{kind}{width // 8}")


def floats(dtype: type, count: int, seed: int) -> np.ndarray:
    """Values of a float type: zeros, subnormals, infinities, NaN, halves, any bits."""
    source, kind = np.random.default_rng(seed), np.dtype(dtype)
    info = ml_dtypes.finfo(kind)
    corners = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]
    corners += [info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal]
    with np.errstate(all="ignore"):
        near = (source.standard_normal(count) * 3).astype(kind)
        halves = (source.integers(-40, 40, count) / 2).astype(kind)
    size = kind.itemsize
    words = source.integers(0, 256, (count, size), dtype=np.uint8).view(kind)[:, 0]
    pool = np.concatenate([np.array(corners).astype(kind), near, halves, words])
    return source.permutation(pool)[:count]
