"""Every function of floats against many digits, at special values and in between."""

from __future__ import annotations

import math

import ml_dtypes
import mpmath
import numpy as np
import pytest
from emitted_functions import execute

from wave_backend_nvgpu.codegen.mathematics.bytes import FORMATS
from wave_backend_nvgpu.codegen.mathematics.library import FUNCTIONS
from wave_core.backends.emission import Kind

DTYPES = {"f32": np.float32, "f64": np.float64}
DIGITS = 400
"""Enough for the sine of the greatest f64."""

REAL = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sinh": mpmath.sinh,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sqrt": mpmath.sqrt,
}
NAN, INF = math.nan, math.inf
AT_INFINITY = {
    **dict.fromkeys(("exp", "exp2"), (INF, 0.0)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), (INF, NAN)),
    **dict.fromkeys(("sin", "cos"), (NAN, NAN)),
    **dict.fromkeys(("sinh", "cbrt"), (INF, -INF)),
    **dict.fromkeys(("tanh", "erf"), (1.0, -1.0)),
    "erfc": (0.0, 2.0),
    "rsqrt": (0.0, NAN),
}
FAR = {"exp": (INF, 0.0), "exp2": (INF, 0.0), "sinh": (INF, -INF), **AT_INFINITY}
BEYOND = {"exp": 2000, "exp2": 2000, "sinh": 2000, "tanh": 50, "erf": 30, "erfc": 40}
"""Sizes from which on a function is what it is at infinity, for f64 too."""

OF_POSITIVE = {"log", "log2", "log10", "sqrt", "rsqrt"}
ODD = {"sin", "sinh", "tanh", "erf", "cbrt"}


def real(word, value):
    """The function with many digits; a float where it has no finite value."""
    if math.isnan(value):
        return NAN
    if math.isinf(value) or abs(value) > BEYOND.get(word, INF):
        return FAR[word][value < 0]
    if word in OF_POSITIVE and value == 0:
        return {"sqrt": value, "rsqrt": math.copysign(INF, value)}.get(word, -INF)
    if word in OF_POSITIVE and value < 0:
        return NAN
    if word in ODD and value == 0:
        return value
    with mpmath.workdps(DIGITS):
        return REAL[word](mpmath.mpf(value))


def values(dtype, seed=0):
    """Ends of the type, numbers at which functions change, and random ones."""
    info, rng = np.finfo(dtype), np.random.default_rng(seed)
    plain = (
        0.0,
        1.0,
        0.5,
        0.75,
        2.5,
        3.0,
        1 / 3,
        10.0,
        27.0,
        88.5,
        104.0,
        709.5,
        745.0,
        1e4,
    )
    ends = (float(info.max), float(info.tiny), float(info.smallest_subnormal), INF, NAN)
    edges = np.array([*plain, 1 + float(info.eps), 1e9, *ends])
    wide = np.ldexp(rng.uniform(1, 2, 60), rng.integers(info.minexp, info.maxexp, 60))
    near = [rng.standard_normal(60), rng.uniform(-12, 12, 60)]
    with np.errstate(over="ignore"):
        return np.concatenate([edges, -edges, wide, -wide, *near]).astype(dtype)


def units_off(found, wanted, dtype):
    """How many units in the last place a result is off."""
    info = np.finfo(dtype)
    if isinstance(wanted, float) or not wanted or abs(wanted) > float(info.max):
        with np.errstate(over="ignore"):
            wanted = float(dtype(float(wanted)))
        alike = found == wanted or (math.isnan(found) and math.isnan(wanted))
        near_top = abs(found) == float(info.max) and found * wanted > 0
        return 0 if alike or near_top else INF
    if not math.isfinite(found):
        return INF
    least = int(info.minexp)
    exponent = max(int(mpmath.floor(mpmath.log(abs(wanted), 2))), least)
    unit = mpmath.mpf(2) ** (exponent - int(info.nmant))
    return float(abs(mpmath.mpf(found) - wanted) / unit)


@pytest.mark.parametrize("item", ["f32", "f64"])
@pytest.mark.parametrize("word", sorted(REAL))
def test_function_is_off_by_less_than_three_units(word, item):
    dtype, kind = DTYPES[item], Kind(item)
    given = values(dtype)

    def make(builder, name):
        return builder.apply(word, kind, name)

    found = execute(make, [kind], kind, given)
    worst = max(
        (units_off(float(y), real(word, float(x)), dtype), float(x), float(y))
        for x, y in zip(given, found, strict=True)
    )
    assert worst[0] < 3, worst


@pytest.mark.parametrize("word", ["erf", "erfc"])
def test_error_functions_of_f32_take_no_f64(word):
    """A tile of a matrix product has hundreds of them a thread."""
    text, _ = FUNCTIONS[word, "f32"].define()
    assert "double" not in text


PAIRS = (
    *((x, y) for x in (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, INF, -INF, NAN)
      for y in (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, INF, -INF, NAN)),
    *((1.5, 700.0), (1e-300, 1.01), (0.9999999, 1e6), (7.0, -365.0)),
)  # fmt: skip


def power_of(x, y):
    if x == 0 and y < 0:
        odd = math.isfinite(y) and y % 2 == 1
        return math.copysign(INF, x) if odd else INF
    if x < 0 and math.isfinite(x) and math.isfinite(y) and y != int(y):
        return NAN
    return math.pow(x, y)


@pytest.mark.parametrize("item", ["f32", "f64"])
@pytest.mark.parametrize("word", ["powf", "atan2", "remf"])
def test_function_of_two_is_that_of_c(word, item):
    dtype, kind = DTYPES[item], Kind(item)
    rng = np.random.default_rng(1)
    extra = np.stack([rng.uniform(0, 20, 100), rng.uniform(-30, 30, 100)], axis=1)
    ends = np.float64(np.finfo(dtype).max), np.float64(np.finfo(dtype).tiny)
    rows = np.concatenate([np.array(PAIRS), extra, np.array([ends, ends[::-1]])])
    with np.errstate(over="ignore"):
        one, other = rows.astype(dtype).T.copy()

    def make(builder, *names):
        return builder.apply(word, kind, *names)

    found = execute(make, [kind, kind], kind, one, other)

    def wanted(x, y):
        if word == "remf":
            undefined = y == 0 or math.isinf(x) or math.isnan(x) or math.isnan(y)
            return NAN if undefined else math.fmod(x, y)
        try:
            return power_of(x, y) if word == "powf" else math.atan2(x, y)
        except OverflowError:
            return INF

    aims = [wanted(float(x), float(y)) for x, y in zip(one, other, strict=True)]
    with np.errstate(over="ignore"):
        aim = np.array(aims).astype(dtype)
    if word == "remf":
        np.testing.assert_array_equal(found, aim)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(aim) | np.isnan(aim) &
                                  np.signbit(found))  # fmt: skip
    np.testing.assert_array_max_ulp(
        np.where(np.isfinite(aim), found, 0), np.where(np.isfinite(aim), aim, 0), 2
    )
    np.testing.assert_array_equal(found[~np.isfinite(aim)], aim[~np.isfinite(aim)])


@pytest.mark.parametrize("word", ["exp", "exp2", "log", "log2", "log10"])
def test_fast_function_is_close(word):
    kind = Kind("f32")
    given = np.linspace(0.5, 20, 128, dtype=np.float32)

    def make(builder, name):
        return builder.apply(word, kind, name, fast=True)

    found = execute(make, [kind], kind, given)
    aim = [float(real(word, float(x))) for x in given]
    np.testing.assert_allclose(found, aim, rtol=5e-6, atol=5e-7)


@pytest.mark.parametrize("item", sorted(FORMATS))
def test_floats_of_8_bits_convert_as_numpy_does(item):
    dtype = np.dtype(getattr(ml_dtypes, f"float8_{item[2:].lower()}"))
    codes = np.arange(256, dtype=np.uint8).view(np.int8)
    byte, single = Kind(item), Kind("f32")
    wide = execute(
        lambda builder, name: builder.convert("extf", byte, "f32", name),
        [byte], single, codes,
    )  # fmt: skip
    numbers = codes.view(dtype).astype(np.float32)
    np.testing.assert_array_equal(wide, numbers)
    finite = np.sort(numbers[np.isfinite(numbers)])
    middle = (finite[1:] + finite[:-1]) / 2
    around = [np.nextafter(middle, np.float32(end)) for end in (-np.inf, np.inf)]
    given = np.concatenate([numbers, middle, *around, np.float32([1e38, -1e38, 1e-30])])
    found = execute(
        lambda builder, name: builder.convert("truncf", single, item, name),
        [single], byte, given,
    )  # fmt: skip
    with np.errstate(invalid="ignore", over="ignore"):
        aim = given.astype(dtype)
    np.testing.assert_array_equal(
        found.view(dtype).astype(np.float32), aim.astype(np.float32)
    )
