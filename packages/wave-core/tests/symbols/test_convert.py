"""Conversion from and to sympy."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from wave_core.symbols import SymbolError, evaluate, from_sympy, symbol

M, BM, K, I = sp.symbols("M BM K i", integer=True, nonnegative=True)
X, Y = sp.symbols("x y", integer=True)

CASES = [
    (7, "7"),
    (sp.Symbol("z", integer=True), "z?"),
    (M**2 - 3, "M*M - 3"),
    (sp.floor(M / BM), "M // BM"),
    (sp.ceiling(M / BM), "ceildiv(M, BM)"),
    (sp.floor(sp.ceiling(M / BM) / 8), "ceildiv(M, BM) // 8"),
    (sp.floor(I / 16 + sp.Rational(1, 2)), "(i + 8) // 16"),
    (sp.Mod(I, 64), "i % 64"),
    (sp.Min(M, K) * 2, "2*min(K, M)"),
    (sp.Piecewise((I, I < 4), (M, K > 4 * BM), (0, True)),
     "select(i < 4, i, select(4*BM < K, M, 0))"),
    (sp.Function("xor")(I, 8 * sp.Mod(M, 8)), "xor(i, 8*(M % 8))"),
    (sp.And(I < M, sp.Ne(K, 0)), "and(i < M, K != 0)"),
    (sp.Not(sp.Eq(I, 3)), "i != 3"),
    (I / 2 < BM, "i < 2*BM"),
    (sp.true, "1"),
    (sp.UnevaluatedExpr(M), "M"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), CASES, ids=[text for _, text in CASES])
def test_from_sympy(value, text):
    obligations = []
    assert str(from_sympy(value, obligations=obligations)) == text
    assert obligations == []


@pytest.mark.parametrize(
    ("value", "text", "obligation"),
    [
        (BM / 2, "BM // 2", "BM % 2 == 0"),
        (M / BM, "M // BM", "M % BM == 0"),
        (sp.Mod(I / 2, 4), "i // 2 % 4", "i % 2 == 0"),
        (K / 2 + M / 4, "(M + 2*K) // 4", "(M + 2*K) % 4 == 0"),
    ],
)
def test_exact_division_leaves_an_obligation(value, text, obligation):
    obligations = []
    assert (
        str(from_sympy(value, obligations=obligations)).replace("2*K + M", "M + 2*K")
        == text
    )
    assert [str(o).replace("2*K + M", "M + 2*K") for o in obligations] == [obligation]


def test_exact_division_that_is_proved_needs_no_obligation():
    obligations = []
    value = sp.Rational(1, 2) * (4 * M + 2 * sp.floor(I / 2))
    assert str(from_sympy(value, obligations)) == "2*M + i // 2"
    assert obligations == []


@pytest.mark.parametrize(
    "value",
    [sp.Float(1.5), sp.sqrt(M), sp.pi * M, sp.Rational(1, 2), M**K, sp.zoo, "M", None,
     sp.Piecewise((I, I < 4))],
)  # fmt: skip
def test_what_has_no_integer_meaning_is_an_error(value):
    with pytest.raises(SymbolError):
        from_sympy(value)


def _random_value(rng, depth):
    """A random sympy expression whose divisors are positive numbers."""
    if depth == 0:
        return [X, Y, sp.Integer(rng.integers(-9, 10))][rng.integers(3)]
    a, b = _random_value(rng, depth - 1), _random_value(rng, depth - 1)
    number = int(rng.integers(1, 9))
    return [
        lambda: a + b,
        lambda: a * b - number,
        lambda: sp.floor(a / number),
        lambda: sp.ceiling((a + b) / number),
        lambda: sp.Mod(a, number),
        lambda: sp.Max(a, sp.Min(b, number)),
        lambda: sp.Piecewise((a, b < number), (b, True)),
    ][rng.integers(7)]()


@pytest.mark.parametrize("seed", range(3))
def test_the_expression_has_the_value_of_sympy(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        value = _random_value(rng, 3)
        read = from_sympy(value)
        for x, y in rng.integers(-20, 20, (4, 2)).tolist():
            own = {symbol("x", False): x, symbol("y", False): y}
            assert evaluate(read, own) == value.subs({X: x, Y: y}), value
