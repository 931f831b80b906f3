"""Arithmetic means what torch means, op by op and element type by element type."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wave_core.diagnostics import UserError
from wave_core.ops import arithmetic as ops
from wave_core.ops.elementwise import Binary
from wave_core.types import DTYPES

FLOATS = [
    d
    for d in DTYPES.values()
    if d.is_float and d.name != "f8e8m0fnu" and not d.is_packed
]
INTEGERS = [
    d
    for d in DTYPES.values()
    if d.is_integer and d.name not in ("u16", "u32", "u64", "i4")
]
"""Those that torch computes with; tests/integration/test_integers.py has all."""
BITS = [*INTEGERS, DTYPES["bool"]]

EXACT = {
    ops.Add: torch.add,
    ops.Sub: torch.sub,
    ops.Mul: torch.mul,
    ops.Mod: torch.remainder,
    ops.FloorDiv: torch.floor_divide,
    ops.Maximum: torch.maximum,
    ops.Minimum: torch.minimum,
}
LOGIC = {
    ops.And: torch.bitwise_and,
    ops.Or: torch.bitwise_or,
    ops.Xor: torch.bitwise_xor,
}
ROUNDED = {ops.Atan2: torch.atan2, ops.Pow: torch.pow, ops.Rem: torch.fmod}
UNARY_EXACT = {
    ops.Abs: torch.abs,
    ops.Neg: torch.neg,
    ops.Reciprocal: torch.reciprocal,
    ops.Round: torch.round,
    ops.RoundEven: torch.round,
    ops.Floor: torch.floor,
    ops.Ceil: torch.ceil,
}
UNARY_ROUNDED = {
    ops.Sqrt: torch.sqrt,
    ops.Exp: torch.exp,
    ops.Exp2: torch.exp2,
    ops.Rsqrt: torch.rsqrt,
    ops.Log: torch.log,
    ops.Log2: torch.log2,
    ops.Log10: torch.log10,
    ops.Sin: torch.sin,
    ops.Cos: torch.cos,
    ops.Sinh: torch.sinh,
    ops.Tanh: torch.tanh,
    ops.TanhApprox: torch.tanh,
    ops.Erf: torch.erf,
    ops.Sigmoid: torch.sigmoid,
    ops.Silu: torch.nn.functional.silu,
    ops.Cbrt: lambda x: torch.sign(x) * x.abs() ** (1 / 3),
    ops.Softsign: lambda x: x / (1 + (x / 30).abs()),
}
RTOL = {"f64": 1e-12, "f32": 2e-6, "f16": 2e-3, "bf16": 2e-2}


def name(item: object) -> str:
    return getattr(item, "op_name", None) or str(item)


def torch_result(as_torch, function, dtype, *arrays):
    """What torch computes; narrow types go through f32 where torch does not round once.

    It has no f8 arithmetic, and its floor_divide of bf16 rounds every step.
    """
    tensors = [as_torch.tensor(array, dtype) for array in arrays]
    rounds_often = function is torch.floor_divide and dtype.bits == 16
    if dtype.is_float and (dtype.bits == 8 or rounds_often):
        result = function(*(t.float() for t in tensors)).to(as_torch.dtype(dtype))
    else:
        result = function(*tensors)
    return as_torch.array(result, dtype)


@pytest.mark.parametrize("cls", EXACT, ids=name)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_float_binary_is_bit_equal(cls, dtype, build, as_torch, pairs_of, same_values):
    lhs, rhs = pairs_of(dtype)
    expected = torch_result(as_torch, EXACT[cls], dtype, lhs, rhs)
    actual = build.binary(cls, dtype).evaluate(lhs, rhs)
    if cls in (ops.Maximum, ops.Minimum):
        # The sign of the larger of two zeros is nobody's promise.
        actual, expected = np.add(actual, 0), np.add(expected, 0)
    same_values(actual, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_division_of_floats(dtype, build, as_torch, pairs_of, same_values):
    lhs, rhs = pairs_of(dtype)
    expected = torch_result(as_torch, torch.div, dtype, lhs, rhs)
    same_values(build.binary(ops.Div, dtype).evaluate(lhs, rhs), expected)


@pytest.mark.parametrize("cls", EXACT, ids=name)
@pytest.mark.parametrize("dtype", INTEGERS, ids=name)
def test_integer_binary_is_equal(cls, dtype, build, as_torch, pairs_of, same_values):
    lhs, rhs = pairs_of(dtype)
    if cls in (ops.Mod, ops.FloorDiv):
        lhs, rhs = lhs[rhs != 0], rhs[rhs != 0]
        least = np.iinfo(dtype.numpy()).min
        overflows = (lhs == least) & (rhs == -1)
        lhs, rhs = lhs[~overflows], rhs[~overflows]
    expected = torch_result(as_torch, EXACT[cls], dtype, lhs, rhs)
    same_values(build.binary(cls, dtype).evaluate(lhs, rhs), expected)


@pytest.mark.parametrize("cls", [ops.Mod, ops.FloorDiv], ids=name)
def test_integer_division_by_zero_is_zero_and_silent(cls, build):
    zeros = build.binary(cls, DTYPES["i32"]).evaluate(
        np.array([5, -5], np.int32), np.array([0, 0], np.int32)
    )
    assert zeros.tolist() == [0, 0]


@pytest.mark.parametrize("cls", LOGIC, ids=name)
@pytest.mark.parametrize("dtype", BITS, ids=name)
def test_bit_logic(cls, dtype, build, as_torch, pairs_of, same_values):
    lhs, rhs = pairs_of(dtype)
    expected = torch_result(as_torch, LOGIC[cls], dtype, lhs, rhs)
    same_values(build.binary(cls, dtype).evaluate(lhs, rhs), expected)


@pytest.mark.parametrize("dtype", BITS, ids=name)
def test_not_flips_bits_or_truth(dtype, build, as_torch, samples_of, same_values):
    values = samples_of(dtype)
    expected = torch_result(as_torch, torch.bitwise_not, dtype, values)
    same_values(build.unary(ops.Not, dtype).evaluate(values), expected)


@pytest.mark.parametrize("cls", [ops.Abs, ops.Neg], ids=name)
@pytest.mark.parametrize("dtype", INTEGERS, ids=name)
def test_integer_sign_ops_wrap(cls, dtype, build, as_torch, samples_of, same_values):
    values = samples_of(dtype)
    expected = torch_result(as_torch, UNARY_EXACT[cls], dtype, values)
    same_values(build.unary(cls, dtype).evaluate(values), expected)


@pytest.mark.parametrize("cls", UNARY_EXACT, ids=name)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_float_unary_is_bit_equal(cls, dtype, build, as_torch, samples_of, same_values):
    values = samples_of(dtype)
    expected = torch_result(as_torch, UNARY_EXACT[cls], dtype, values)
    same_values(build.unary(cls, dtype).evaluate(values), expected)


@pytest.mark.parametrize("approximate", ops.GELU_FORMS)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_gelu(approximate, dtype, build, samples_of):
    """Within what the rounding of its argument does to a normal distribution."""
    values = samples_of(dtype)
    values = values[np.isfinite(values.astype(np.float64))]
    wide = torch.from_numpy(values.astype(np.float64))
    # torch's own forms lose their digits where the result is near 0.
    bend = (2 / np.pi) ** 0.5 * (wide + 0.044715 * wide**3)
    exact = {
        "none": wide * torch.special.erfc(-wide / 2**0.5) / 2,
        "tanh": wide * torch.sigmoid(2 * bend),
    }[approximate].numpy()
    approximated = torch.nn.functional.gelu(wide, approximate=approximate).numpy()
    assert np.abs(exact - approximated).max() < 1e-12
    op = build.unary(ops.Gelu, dtype, approximate=approximate)
    found = op.evaluate(values).astype(np.float64)
    unit = {"f64": 2.0**-52, "f32": 2.0**-23}.get(dtype.name, 2.0**-23)
    last = 2.0 ** -{"f64": 52, "f32": 23, "f16": 10, "bf16": 7}.get(dtype.name, 2)
    least = {"f64": 0.0, "f32": 1e-38, "f16": 2.0**-24, "bf16": 1e-38}
    steep = 4 + 2 * wide.numpy() ** 2 + bend.abs().numpy()
    bound = np.abs(exact) * (last + unit * steep)
    bound += least.get(dtype.name, 2.0**-9)
    assert (np.abs(found - exact) <= bound).all()


def test_a_form_of_gelu_that_is_none(build):
    with pytest.raises(UserError, match="it is one of none, tanh"):
        build.unary(ops.Gelu, DTYPES["f32"], approximate="erf")


@pytest.mark.parametrize("cls", UNARY_ROUNDED, ids=name)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_float_functions(cls, dtype, build, as_torch, samples_of, same_values):
    values = samples_of(dtype)
    expected = torch_result(as_torch, UNARY_ROUNDED[cls], dtype, values)
    rtol = RTOL.get(dtype.name, 0.3)
    same_values(build.unary(cls, dtype).evaluate(values), expected, rtol)


@pytest.mark.parametrize("cls", ROUNDED, ids=name)
@pytest.mark.parametrize("dtype", FLOATS[:4], ids=name)
def test_float_functions_of_two(cls, dtype, build, as_torch, pairs_of, same_values):
    lhs, rhs = pairs_of(dtype)
    expected = torch_result(as_torch, ROUNDED[cls], dtype, lhs, rhs)
    same_values(build.binary(cls, dtype).evaluate(lhs, rhs), expected, RTOL[dtype.name])


@pytest.mark.parametrize("exponent", [0.5, -0.5, 2.0, 3.0, -1.0])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 5), (5, 1), (5, 5)])
def test_a_power_is_the_same_in_any_shape(shape, exponent, build, same_values):
    base = np.resize(np.float32([-np.inf, -0.0, np.nan, 4, -2]), (5, 5))
    power = build.binary(ops.Pow, DTYPES["f32"])
    expected = torch.pow(torch.from_numpy(base), torch.full((5, 5), exponent))
    same_values(power.evaluate(base, np.full(shape, exponent, np.float32)), expected)
    assert np.isnan(power.evaluate(np.float32(-4), np.float32(0.5)))
    assert power.evaluate(np.float32(-np.inf), np.float32(0.5)) == np.inf


def test_softsign_scales_its_cap(build):
    op = build.unary(
        ops.Softsign, DTYPES["f32"], logit_cap=30.0, apply_scaling=True, head_dim=64
    )
    assert op.cap == 30.0 / 8
    assert op.evaluate(np.float32([3.75])).tolist() == [1.875]


@pytest.mark.parametrize("cls", [c for c in ops.BINARY if c is not ops.Div], ids=name)
def test_scalar_operand_goes_with_every_element(cls, build):
    dtype = DTYPES["f32" if "float" in _families(cls) else "i32"]
    op = build.op(cls, build.register("M N", dtype), build.register("", dtype))
    assert op.type.dims == ("M", "N")
    result = op.evaluate(np.ones((2, 3), dtype.numpy()), np.ones((1, 1), dtype.numpy()))
    assert result.shape == (2, 3)


def _families(cls: type[Binary]) -> set[str]:
    return {family.value for family in cls.allowed}
