"""Conversions against fractions and the text of the ISA."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from elementwise import elementwise
from exact_rounding import rounded
from operand_samples import floats, integers

COUNT = 500
INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


@pytest.mark.parametrize("mode", INTEGRAL)
@pytest.mark.parametrize("name", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_floats_to_integers_stay_in_range(mode, name):
    a = floats(np.float32, COUNT, 1)
    a[:2] = [2.0**31, -(2.0**63)]
    kind = integers(name, 1, 0).dtype
    found = elementwise(f"cvt.{mode}.{name}.f32 %r, %x;", [a], kind)
    limits = np.iinfo(kind)
    for x, r in zip(a, found.tolist(), strict=True):
        if np.isnan(x):
            wide = name in {"s64", "u64"}
            assert r == (np.uint64(1 << 63).view(kind) if wide else 0)
        elif np.isinf(x):
            assert r == (limits.max if x > 0 else limits.min)
        else:
            whole = int(INTEGRAL[mode](np.float64(x)))
            assert r == min(max(whole, limits.min), limits.max)


@pytest.mark.parametrize("name", ["s8", "s16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_integers_to_floats_round_to_nearest(name, dtype):
    a = integers(name, COUNT, 2)
    to = f"f{np.dtype(dtype).itemsize * 8}"
    found = elementwise(f"cvt.rn.{to}.{name} %r, %x;", [a], dtype)
    wanted = [rounded(Fraction(int(x)), dtype) for x in a]
    assert found.astype(float).tolist() == wanted


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrowing_gives_one_nan(dtype):
    a = np.array([0x7FC00000, 0xFFC00000, 0x7F800001], np.uint32).view(np.float32)
    name = {np.float16: "f16"}.get(dtype, "bf16")
    found = elementwise(f"cvt.rn.{name}.f32 %r, %x;", [a], dtype)
    assert found.view(np.uint16).tolist() == [0x7FFF] * 3


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_narrowing_in_every_direction(mode):
    a = floats(np.float32, COUNT, 3)
    found = elementwise(f"cvt.{mode}.f16.f32 %r, %x;", [a], np.float16)
    for x, r in zip(a, found, strict=True):
        if not np.isfinite(x):
            continue
        near = np.float16(rounded(Fraction(float(x)), np.float16))
        wrong = {
            "rn": False,
            "rz": abs(float(near)) > abs(float(x)),
            "rm": float(near) > float(x),
            "rp": float(near) < float(x),
        }[mode]
        goal = {"rn": 0, "rz": 0, "rm": -np.inf, "rp": np.inf}[mode]
        assert r == (np.nextafter(near, np.float16(goal)) if wrong else near)


@pytest.mark.parametrize(
    ("to", "dtype"),
    [("f16x2", np.float16), ("bf16x2", ml_dtypes.bfloat16)],
)
def test_two_floats_to_one_register(to, dtype):
    a, b = floats(np.float32, COUNT, 4), floats(np.float32, COUNT, 5)
    found = elementwise(f"cvt.rn.{to}.f32 %r, %x, %y;", [a, b], np.uint32)
    pairs = found.view(dtype).reshape(-1, 2).astype(float)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(pairs[:, 0], b.astype(dtype).astype(float))
        np.testing.assert_array_equal(pairs[:, 1], a.astype(dtype).astype(float))


@pytest.mark.parametrize(
    ("name", "dtype", "top"),
    [
        ("e4m3", ml_dtypes.float8_e4m3fn, 448.0),
        ("e5m2", ml_dtypes.float8_e5m2, 57344.0),
    ],
)
def test_eight_bits_stay_finite(name, dtype, top):
    a, b = floats(np.float32, COUNT, 6), floats(np.float32, COUNT, 7)
    body = f"cvt.rn.satfinite.{name}x2.f32 %r, %x, %y;"
    found = elementwise(body, [a, b], np.uint16).view(dtype).reshape(-1, 2)
    for given, column in ((a, 1), (b, 0)):
        wanted = np.clip(given, -top, top).astype(dtype)
        np.testing.assert_array_equal(
            found[:, column].astype(float), wanted.astype(float)
        )
    back = elementwise(
        f"cvt.rn.f16x2.{name}x2 %r, %x;", [found.view(np.uint16)[:, 0]], np.uint32
    )
    np.testing.assert_array_equal(
        back.view(np.float16).reshape(-1, 2).astype(float), found.astype(float)
    )


def test_integers_are_cut_extended_and_limited():
    a = integers("s32", COUNT, 8)
    for to in ("s8", "u8", "s16", "u16", "s64", "u64"):
        kind = integers(to, 1, 0).dtype
        found = elementwise(f"cvt.{to}.s32 %r, %x;", [a], kind)
        assert found.tolist() == a.astype(kind).tolist()
    limits = np.iinfo(np.int16)
    found = elementwise("cvt.sat.s16.s32 %r, %x;", [a], np.int16)
    assert found.tolist() == np.clip(a, limits.min, limits.max).tolist()


def test_tensor_floats_keep_ten_bits():
    a = floats(np.float32, COUNT, 9)
    found = elementwise("cvt.rna.tf32.f32 %r, %x;", [a], np.uint32)
    finite = np.isfinite(a)
    assert (found[finite] & 0x1FFF == 0).all()
    kept = found.view(np.float32)[finite].astype(float)
    exact = a[finite].astype(float)
    with np.errstate(all="ignore"):
        step = np.exp2(np.maximum(np.floor(np.log2(abs(exact))), -126) - 10)
    assert (abs(kept - exact) <= step / 2)[np.isfinite(kept)].all()
