"""Formulas of elements against torch in f64, and what they refuse."""

from __future__ import annotations

import pytest
import torch

from wave_core.diagnostics import LaunchError, UserError
from wave_kernels.definitions.elementwise import FOLDS, FUNCTIONS
from wave_kernels.functions import elementwise
from wave_kernels.functions.formulas import CALLED, WRITTEN

ROUNDED = {torch.float32: 1e-5, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
FORMULAS = {
    "x, y -> (x + y) * 2 - x / (y - 9)": lambda x, y: (x + y) * 2 - x / (y - 9),
    "x, y -> -x ** 2 + y ** 3": lambda x, y: -(x**2) + y**3,
    "x, y -> where(x > -0.5, maximum(x, y), minimum(y, 1e-1))": lambda x, y: (
        torch.where(x > -0.5, torch.maximum(x, y), y.clamp(max=0.1))
    ),
    "a, b -> a - mean(a * b)": lambda x, y: x - (x * y).mean(-1, keepdim=True),
    "x, y -> amax(x) + sum(y)": lambda x, y: (
        x.amax(-1, keepdim=True) + y.sum(-1, keepdim=True)
    ),
}


def near(found, wanted):
    accuracy = ROUNDED[found.dtype]
    torch.testing.assert_close(found.double(), wanted, rtol=accuracy, atol=accuracy)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas(formula, dtype):
    x, y = torch.randn(3, 11).to(dtype), torch.randn(11).to(dtype)
    wanted = FORMULAS[formula](x.double(), y.double())
    near(elementwise(formula, (x, y)), wanted)
    out = torch.full(wanted.shape, torch.nan)
    assert elementwise(formula, [x, y], out_dtype=torch.float32, out=out) is out
    near(out, wanted)


def test_truths_are_bool():
    x, y = torch.tensor([1.0, 2.0, torch.nan]), torch.tensor([True, False, True])
    found = elementwise("x, y -> (x != 2) & ~y | (x >= 2)", (x, y))
    assert found.tolist() == [False, True, False]
    out = torch.ones(3, dtype=torch.bool)
    assert elementwise("x -> x < 0", (x,), out=out) is out
    assert not out.any()


def test_functions_have_signs_or_names():
    assert {*CALLED, *WRITTEN} == {*FUNCTIONS, *FOLDS}


def test_types_promote_as_in_torch():
    half, brain = torch.ones(2).half(), torch.ones(2).bfloat16()
    assert elementwise("x, y -> x + y", (half, brain)).dtype == torch.float32
    assert elementwise("x, y -> where(y, x, 0)", (half, half > 0)).dtype == half.dtype
    assert elementwise("y -> where(y, 1, 0)", (half > 0,)).dtype == torch.float32


X, Y = torch.zeros(2, 3), torch.zeros(3)
NO_FORMULAS = {
    "x + y": "it has no arrow",
    "x, x -> x": "it is of x, x",
    "x, -> x": "it is of x,",
    "x -> x": "it is of 1 tensors",
    "x, y -> z": "`z` is nothing that it has",
    "x, y -> x.y": "`x.y` is nothing",
    "x, y -> x @ y": "`x @ y` is nothing",
    "x, y -> x < y < 1": "`x < y < 1` is nothing",
    "x, y -> -True": "`True` is nothing",
    "x, y -> 1j * x": "`1j` is nothing",
    "x, y -> exp(x": "it cannot be read",
    "x, y -> sine(x)": "there is no function `sine`",
    "x, y -> exp(x, y)": "`exp` has 2 arguments",
    "x, y -> x + (x > y)": "`x > y` is true or false",
    "x, y -> where(x, x, y)": "`x` is a number",
    "x, y -> 3": "it is one number",
    f"x, y -> x * 1{'0' * 400}": "beyond all floats",
    f"x, y -> {' + '.join(['x'] * 3000)}": "it is too deep",
}


@pytest.mark.parametrize("formula", NO_FORMULAS, ids=lambda text: text[:30])
def test_what_is_no_formula_is_refused_by_its_words(formula):
    with pytest.raises(UserError) as raised:
        elementwise(formula, (X, Y))
    assert raised.value.code == "WV0823"
    assert NO_FORMULAS[formula] in str(raised.value)
    assert "test_elementwise.py" in str(raised.value)


REFUSED = [
    ("WV0704", lambda: elementwise(3, (X, Y))),
    ("WV0704", lambda: elementwise("x -> x", X)),
    ("WV0704", lambda: elementwise("x -> x", ())),
    ("WV0704", lambda: elementwise("x -> x", [])),
    ("WV0705", lambda: elementwise("x -> x", (X.double(),))),
    ("WV0705", lambda: elementwise("x -> x", (X,), out_dtype=torch.int8)),
    ("WV0705", lambda: elementwise("x -> x > 0", (X,), out_dtype=torch.float32)),
    ("WV0705", lambda: elementwise("x -> x", (X,), out=X.half())),
    ("WV0707", lambda: elementwise("x, y -> x + y", (X, X.mT))),
    ("WV0707", lambda: elementwise("x -> sum(x)", (X[:, :0],))),
    ("WV0707", lambda: elementwise("x -> sum(x)", (X,), out=torch.zeros(2, 3))),
    ("WV0708", lambda: elementwise("x, y -> x + y", (X, Y.to("meta")))),
    ("WV0709", lambda: elementwise("x -> x", (X,), out=torch.zeros(3, 2).mT)),
    ("WV0712", lambda: elementwise("x -> x", (X,), out=X)),
    ("WV0714", lambda: elementwise("x -> x", (X.clone().requires_grad_(),))),
]


@pytest.mark.parametrize(("code", "call"), REFUSED)
def test_what_does_not_fit_is_refused_at_the_call(code, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert "test_elementwise.py" in str(raised.value)
