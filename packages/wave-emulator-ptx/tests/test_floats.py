"""Float instructions against fractions, and their corners by the ISA's text."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from elementwise import elementwise
from exact_rounding import fused, rounded
from operand_samples import floats

COUNT = 500
TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@pytest.mark.parametrize("name", TYPES)
def test_fused_multiply_and_add_rounds_once(name):
    dtype = TYPES[name]
    a, b, c = (floats(dtype, COUNT, seed) for seed in (1, 2, 3))
    with np.errstate(all="ignore"):
        c[::3] = -(a * b)[::3]  # what is left is the error of the product
    found = elementwise(f"fma.rn.{name} %r, %x, %y, %z;", [a, b, c], dtype)
    for x, y, z, r in zip(a, b, c, found, strict=True):
        wanted = fused(x, y, z, dtype)
        if wanted is not None:
            assert float(r) == wanted, (x, y, z)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_two_operands_round_to_nearest(op, name):
    dtype = TYPES[name]
    a, b = floats(dtype, COUNT, 4), floats(dtype, COUNT, 5)
    found = elementwise(f"{op}.rn.{name} %r, %x, %y;", [a, b], dtype)
    for x, y, r in zip(a, b, found, strict=True):
        if not np.isfinite([x, y]).all():
            continue
        x, y = Fraction(float(x)), Fraction(float(y))  # noqa: PLW2901
        total = {"add": x + y, "sub": x - y, "mul": x * y}[op]
        assert float(r) == rounded(total, dtype)


@pytest.mark.parametrize("name", TYPES)
def test_products_and_addends_of_zero_have_the_sign_of_both(name):
    zeros = np.array([0.0, -0.0], TYPES[name])
    a, c = np.repeat(zeros, 2), np.tile(zeros, 2)
    one = np.ones(4, TYPES[name])
    found = elementwise(f"fma.rn.{name} %r, %x, %y, %z;", [a, one, c], TYPES[name])
    assert np.signbit(found).tolist() == [False, False, False, True]


def test_reciprocals_of_the_largest_divisors_are_zero():
    edge = np.float32(2.0**126)
    above = np.nextafter(edge, np.float32(np.inf))
    a = np.array([3e38, -3e38, np.inf, np.nan, 3e38, 3e38, np.inf], np.float32)
    b = np.array([above, above, -above, above, edge, np.inf, edge], np.float32)
    found = elementwise("div.approx.f32 %r, %x, %y;", [a, b], np.float32)
    wanted = [0.0, -0.0, np.nan, np.nan, np.float32(3e38) / edge, 0.0, np.inf]
    np.testing.assert_array_equal(found, np.array(wanted, np.float32))
    assert np.signbit(found[:2]).tolist() == [False, True]
    whole = elementwise("div.full.f32 %r, %x, %y;", [a, b], np.float32)
    np.testing.assert_array_equal(whole[0], a[0] / above)


def test_the_sign_of_a_number_goes_to_what_is_none():
    signs = np.array([1.0, -1.0], np.float32)
    nothing = np.array([0xFFB639D6, 0x7FB639D6], np.uint32)
    found = elementwise("copysign.f32 %r, %x, %y;", [signs, nothing], np.uint32)
    assert found.tolist() == [0x7FB639D6, 0xFFB639D6]


@pytest.mark.parametrize("name", TYPES)
def test_minimum_and_maximum(name):
    dtype = TYPES[name]
    a, b = floats(dtype, COUNT, 6), floats(dtype, COUNT, 7)
    a[:4], b[:4] = [0.0, -0.0, np.nan, 1], [-0.0, 0.0, 1, np.nan]
    low = elementwise(f"min.{name} %r, %x, %y;", [a, b], dtype)
    high = elementwise(f"max.{name} %r, %x, %y;", [a, b], dtype)
    assert np.signbit(low[:2]).all()
    assert not np.signbit(high[:2]).any()
    assert low[2] == low[3] == high[2] == high[3] == 1
    np.testing.assert_array_equal(low, np.fmin(a, b))
    np.testing.assert_array_equal(high, np.fmax(a, b))
    if name != "f64":
        strict = elementwise(f"max.NaN.{name} %r, %x, %y;", [a, b], dtype)
        np.testing.assert_array_equal(strict, np.maximum(a, b))
    if name == "f32":
        some = elementwise("min.NaN.f32 %r, %x, 0f3F800000;", [a], dtype)
        np.testing.assert_array_equal(some, np.minimum(a, np.float32(1)))


def test_halves_are_compared_apart():
    a, b = (floats(np.float16, 2 * COUNT, seed) for seed in (8, 9))
    a[:4] = b[:4] = [1, np.nan, 0, np.inf]
    text = (
        "{\n.reg .pred %l, %h;\n.reg .b32 %u;\n"
        "setp.le.f16x2 %l|%h, %x, %y;\n"
        "selp.b32 %r, 1, 0, %l;\nselp.b32 %u, 2, 0, %h;\n"
        "or.b32 %r, %r, %u;\n}"
    )
    found = elementwise(text, [a.view(np.uint32), b.view(np.uint32)], np.uint32)
    low, high = (a <= b).reshape(-1, 2).T
    np.testing.assert_array_equal(found, low + 2 * high)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32)],
)
def test_arithmetic_gives_one_nan(name, dtype):
    a = floats(dtype, COUNT, 20)
    a[:2] = [np.nan, -np.nan]
    word = f"u{a.dtype.itemsize}"
    for op, operands in (("add.rn", "%x, %x"), ("fma.rn", "%x, %x, %x"), ("abs", "%x")):
        found = elementwise(f"{op}.{name} %r, {operands};", [a], dtype)
        nans = np.unique(found.view(word)[np.isnan(a.astype(np.float32))])
        assert nans.tolist() == [(1 << 8 * a.dtype.itemsize - 1) - 1]


def test_an_infinite_addend_wins_over_a_product_that_overflows():
    big, least = np.full(4, 1e300), np.full(4, -np.inf)
    found = elementwise("fma.rn.f64 %r, %x, %x, %y;", [big, least], np.float64)
    assert (found == -np.inf).all()


def test_flushing_subnormals():
    a, b = floats(np.float32, COUNT, 8), floats(np.float32, COUNT, 9)
    tiny = np.float32(2.0**-126)
    found = elementwise("mul.ftz.f32 %r, %x, %y;", [a, b], np.float32)
    x, y = (np.where(abs(v) < tiny, np.copysign(0, v), v) for v in (a, b))
    with np.errstate(all="ignore"):
        product = (x * y).astype(np.float32)
    wanted = np.where(abs(product) < tiny, np.copysign(0, product), product)
    np.testing.assert_array_equal(found, wanted)
    zero = wanted == 0
    assert (np.signbit(found) == np.signbit(wanted))[zero].all()


def test_saturation():
    a, b = floats(np.float32, COUNT, 10), floats(np.float32, COUNT, 11)
    found = elementwise("add.sat.f32 %r, %x, %y;", [a, b], np.float32)
    with np.errstate(all="ignore"):
        total = a + b
    wanted = np.where(np.isnan(total), 0, np.clip(total, 0, 1))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("sqrt.rn.f32", np.sqrt),
        ("rcp.rn.f32", lambda x: 1 / x),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)),
        ("ex2.approx.f32", np.exp2),
        ("lg2.approx.f32", np.log2),
        ("tanh.approx.f32", np.tanh),
        ("neg.f32", np.negative),
        ("abs.f32", np.abs),
    ],
)
def test_functions(op, function):
    a = floats(np.float32, COUNT, 12)
    found = elementwise(f"{op} %r, %x;", [a], np.float32)
    with np.errstate(all="ignore"):
        wanted = function(a.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)


def test_packed_halves():
    a, b = (floats(np.float16, 2 * COUNT, seed) for seed in (13, 14))
    c = floats(np.float16, 2 * COUNT, 15)
    words = [each.view(np.uint32) for each in (a, b, c)]
    packed = elementwise("fma.rn.f16x2 %r, %x, %y, %z;", words, np.uint32)
    single = elementwise("fma.rn.f16 %r, %x, %y, %z;", [a, b, c], np.float16)
    np.testing.assert_array_equal(packed.view(np.float16), single)


def test_brain_floats():
    a, b = (floats(ml_dtypes.bfloat16, COUNT, seed) for seed in (16, 17))
    found = elementwise("mul.rn.bf16 %r, %x, %y;", [a, b], ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        wanted = (a.astype(np.float32) * b.astype(np.float32)).astype(
            ml_dtypes.bfloat16
        )
    np.testing.assert_array_equal(found.astype(float), wanted.astype(float))


RELATIONS = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: (x < y) | (x > y),
    "lt": lambda x, y: x < y,
    "geu": lambda x, y: ~(x < y),
    "neu": lambda x, y: x != y,
    "num": lambda x, y: ~np.isnan(x) & ~np.isnan(y),
    "nan": lambda x, y: np.isnan(x) | np.isnan(y),
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_comparisons_and_nan(relation):
    a, b = floats(np.float32, COUNT, 18), floats(np.float32, COUNT, 19)
    b[::4] = a[::4]
    body = (
        f"setp.{relation}.f32 %p|%q, %x, %y;\n"
        f" selp.b32 %r, 1, 2, %p;\n"
        f"@%q add.u32 %r, %r, 4;"
    )
    found = elementwise(body, [a, b], np.uint32)
    held = RELATIONS[relation](a, b)
    assert found.tolist() == np.where(held, 1, 6).tolist()
