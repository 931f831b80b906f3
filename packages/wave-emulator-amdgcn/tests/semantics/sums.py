"""Sums of products in more bits than an instruction has, and what may differ."""

from __future__ import annotations

from functools import cache

import codec
import matrix_tiles
import numpy as np

ULP = {"F32": 2.0**-23, "F64": 2.0**-52}


def random_codes(rng, kind, shape, mode, form=None):
    """Codes of elements: ``small`` integers, ``normal`` numbers, or any bits."""
    bits = matrix_tiles.BITS[kind]
    if kind in ("I8", "IU8", "IU4", "I32") or (mode == "any" and form is None):
        raw = rng.integers(0, 1 << min(bits, 32), shape, dtype=np.uint64)
        return raw.astype(object)
    if mode == "any":
        table = codec.special(form)
        picks = np.array(table, object)[rng.integers(0, len(table), shape)]
        near = encoded(rng.integers(-3, 4, shape).astype(float), form)
        return np.where(rng.random(shape) < 0.03, picks, near)
    value = rng.integers(-3, 4, shape).astype(float)
    if mode == "normal":
        value = rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)
    return encoded(value, form)


@cache
def _code(form, value):
    return codec.encode(form, value, clamp=True)


def encoded(value, form):
    """Codes of random numbers, the nearest ones."""
    if form == codec.F16:
        return value.astype(np.float16).view(np.uint16).astype(object)
    if form in (codec.F32, codec.BF16):
        bits = value.astype(np.float32).view(np.uint32)
        return (bits >> (32 - form.bits)).astype(object)
    flat = [_code(form, float(v)) for v in value.ravel()]
    return np.array(flat, object).reshape(value.shape)


LIMIT = {"F32": 2.0**127, "F64": 2.0**1023}
"""Beyond this a sum may overflow on its way, which depends on the order."""


def product(a, b, c):
    """Sum, and the sum of the magnitudes of finite terms, in more bits than D has."""
    with np.errstate(all="ignore"):
        wide = [v.astype(np.longdouble) for v in (a, b, c)]
        terms = wide[0][:, :, None, :] * wide[1][:, None, :, :]
        parts = np.concatenate([terms, wide[2][..., None]], axis=-1)
        size = np.where(np.isfinite(parts), np.abs(parts), 0).sum(axis=-1)
        return parts.sum(axis=-1), size


def close(got, want, size, depth, out, tiny=0.0):
    """Within one rounding for each step; infinities and NaNs in their places."""
    sure = size < LIMIT[out]
    assert sure.mean() > 0.5
    got, want, size = got[sure], want[sure].astype(np.float64), size[sure]
    finite = np.isfinite(want)
    assert np.array_equal(got[~finite], want[~finite], equal_nan=True)
    bound = (depth + 2) * ULP[out] * size[finite].astype(np.float64) + tiny
    assert (np.abs(got[finite] - want[finite]) <= bound).all()
