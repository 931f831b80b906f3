"""Programs of elements against torch in f64, and what they refuse."""

from __future__ import annotations

import doctest

import pytest
import torch

from wave_core.diagnostics import LaunchError
from wave_core.lang import bf16, f16, f32, i8
from wave_kernels.definitions.elementwise import FOLDS, FUNCTIONS, Number, Program, Step
from wave_kernels.functions import programs
from wave_kernels.functions.programs import compute
from wave_kernels.functions.rows import LONGEST


def of_torch(*names):
    """Functions by the names that torch has for them."""
    return {name: getattr(torch, name) for name in names}


UNARY = {
    **of_torch("abs", "ceil", "cos", "erf", "exp", "exp2", "floor", "log", "log2"),
    **of_torch("neg", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "sqrt", "tanh"),
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}
BINARY = of_torch("add", "div", "maximum", "minimum", "mul", "pow", "sub")
COMPARED = of_torch("eq", "ge", "gt", "le", "lt", "ne")
JOINED = {"and": torch.logical_and, "or": torch.logical_or}


def one(name, *operands, result=f32):
    """The program of one step on tensors."""
    tensors = sum(isinstance(each, int) for each in operands)
    return Program(tensors, (Step(name, operands),), ((tensors, result),))


def near(found, wanted, accuracy=1e-5):
    torch.testing.assert_close(
        found.double(), wanted.double(), rtol=accuracy, atol=accuracy, equal_nan=True
    )


def test_every_function_is_tested():
    others = {"not", "where"}
    assert set(FUNCTIONS) == {*UNARY, *BINARY, *COMPARED, *JOINED, *others}


def odd(*shape):
    """Positive numbers, behind zeros, infinities and NaN."""
    x = torch.rand(shape) + 0.1
    x.view(-1)[:5] = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan])
    return x


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_value(name):
    x = odd(3, 11)
    near(*compute(one(name, 0), x), UNARY[name](x.double()))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_values(name):
    x, y = torch.rand(2, 9) + 0.1, odd(9)
    near(*compute(one(name, 0, 1), x, y), BINARY[name](x.double(), y.double()))


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(name):
    x, y = odd(3, 5).round(), odd(5, 3).round().mT
    (found,) = compute(one(name, 0, 1, result=i8), x, y)
    assert found.dtype == torch.bool
    assert torch.equal(found, COMPARED[name](x, y))


def test_truths():
    x, y = torch.rand(7) > 0.5, torch.rand(4, 7) > 0.5
    steps = Step("and", (0, 1)), Step("not", (2,)), Step("or", (3, 0))
    (found,) = compute(Program(2, steps, ((4, i8),)), x, y)
    assert torch.equal(found, ~(x & y) | x)
    (chosen,) = compute(one("where", 0, Number("2.0"), Number("-0.0")), x)
    assert torch.equal(chosen, torch.where(x, 2.0, -0.0))
    assert torch.equal(chosen.signbit(), ~x)


# What operands look like: whole, one a column, one a row, and what needs copies.
SHAPES = [
    ((), ()),
    ((1, 1), (1,)),
    ((7,), ()),
    ((257,), (257,)),
    ((3, 5), (5,)),
    ((3, 5), (3, 1)),
    ((3, 1), (1, 5)),
    ((5, 1025), (1025,)),
    ((2, 3, 4), (3, 1)),
    ((2, 3, 4), (2, 1, 4)),
    ((2, 3, 4, 5), (3, 1, 5)),
    ((2, 1, 4, 1), (1, 3, 1, 5)),
    ((0, 4), (4,)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes(shapes, dtype):
    x, y = (torch.randn(shape).to(dtype) for shape in shapes)
    steps = Step("mul", (0, 1)), Step("sub", (2, 0)), Step("f16", (3,))
    narrow, wide = compute(Program(2, steps, ((4, bf16), (2, f32))), x, y)
    product = x.double() * y.double()
    near(wide, product)
    near(narrow, (product - x.double()).half().bfloat16(), 2**-8)


def test_results_lie_as_a_part_of_something_does():
    x = torch.randn(2, 5, 3, 4)[:, :, 1:].transpose(1, 2)
    (found,) = compute(one("mul", 0, 1), x, torch.randn(4))
    assert found.shape == (2, 2, 5, 4)
    assert found.transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("shapes", [((7,), ()), *SHAPES[3:12]])
def test_rows(name, shapes):
    x, y = map(torch.randn, shapes)
    steps = Step("add", (0, 1)), Step(name, (2,)), Step("tanh", (3,))
    program = Program(2, (*steps, Step("mul", (4, 2))), ((5, f32), (4, f16)))
    whole, rows = compute(program, x, y)
    total = x.double() + y.double()
    wanted = getattr(torch, name)(total, dim=-1, keepdim=True).tanh()
    assert rows.dtype == torch.float16
    near(whole, wanted * total, 1e-4)
    near(rows, wanted, 1e-3)


@pytest.mark.parametrize("shape", [(8,), (3, 6), (2, 3, 5, 514)])
@pytest.mark.parametrize("turned", [False, True])
def test_halves_of_rows_that_are_turned(shape, turned):
    x, y = torch.randn(shape), torch.randn(shape[-1])
    if turned and len(shape) > 2:
        x = x.transpose(1, 2)
    steps = Step("turned", (0,)), Step("mul", (2, 1)), Step("add", (3, 0))
    (found,) = compute(Program(2, steps, ((4, f32),)), x, y)
    first, second = x.chunk(2, -1)
    near(found, torch.cat((-second, first), -1).double() * y + x)


def test_rows_with_nan():
    x = odd(4, 6)
    for name in FOLDS:
        (found,) = compute(one(name, 0), x)
        near(found, getattr(torch, name)(x.double(), dim=-1, keepdim=True))


def test_results_lie_as_operands_do():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    (found,) = compute(one("add", 0, 1), x, torch.ones(3, 1, 1))
    assert found.stride() == x.stride()
    near(found, x + 1)


def test_what_is_the_same_is_not_copied(monkeypatch):
    seen = []
    monkeypatch.setattr(programs, "launch", lambda *call: seen.extend(call[3]))
    compute(one("add", 0, 1), torch.ones(6, 5), torch.ones(5).expand(6, 5))
    assert [each.shape for each in seen] == [(6, 5), (5,), (6, 5)]


X = torch.zeros(2, 3)
REFUSED = [
    ("WV0704", lambda: compute(one("add", 0, 1), X, 1.0)),
    ("WV0705", lambda: compute(one("abs", 0), X.double())),
    ("WV0707", lambda: compute(one("add", 0, 1), X, X.mT)),
    ("WV0707", lambda: compute(one("sum", 0), torch.zeros(2, 0))),
    ("WV0707", lambda: compute(one("sum", 0), torch.zeros(1, LONGEST + 1))),
    ("WV0707", lambda: compute(one("sum", 0), torch.zeros(()))),
    ("WV0708", lambda: compute(one("add", 0, 1), X, X.to("meta"))),
    ("WV0714", lambda: compute(one("abs", 0), X.clone().requires_grad_())),
]


@pytest.mark.parametrize(("code", "call"), REFUSED)
def test_what_does_not_fit_is_refused_at_the_call(code, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert "test_programs.py" in str(raised.value)


def test_the_example():
    found = doctest.DocTestParser().get_doctest(compute.__doc__, {}, "compute", None, 0)
    assert doctest.DocTestRunner().run(found).failed == 0
