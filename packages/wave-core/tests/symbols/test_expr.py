"""Canonical forms: expressions that are equal by rule are the same object."""

from __future__ import annotations

import copy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from wave_core.symbols import (
    Kind,
    SymbolError,
    as_expr,
    ceildiv,
    constant,
    eq,
    floordiv,
    ge,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    parse_expr,
    select,
    symbol,
    total,
    xor,
)
from wave_core.symbols.logic import absolute, gt, ne

A, B, N, LANE = symbol("a"), symbol("b"), symbol("n"), symbol("$LANE")
Z = symbol("z", False)

SAME = {
    "like terms": (A + B + A - B, 2 * A),
    "distribute": ((A + 1) * (B + 2), A * B + 2 * A + B + 2),
    "remainder": (A - 16 * (A // 16), A % 16),
    "symbolic remainder": (A - N * (A // N), A % N),
    "negative divisor": (Z // -4, -Z // 4),
    "remainder takes the sign of the divisor": (Z % -4, Z + 4 * (-Z // 4)),
    "multiple leaves a floor": ((16 * A + B) // 16, A + B // 16),
    "symbolic multiple leaves a floor": ((N * A + B) // N, A + B // N),
    "common factor": ((6 * A + 4) // 2, 3 * A + 2),
    "common factor with the divisor": ((4 * A) // 8, A // 2),
    "common factor with a rest": ((2 * A + 5) // 8, (A + 2) // 4),
    "symbolic common factor": ((A * B) // (A * N), B // N),
    "nested floors": (A // 3 // 5, A // 15),
    "nested floors with a shift": ((A // 4 + 1) // 2, (A + 4) // 8),
    "floor of a remainder": (LANE % 16 // 4, LANE // 4 % 4),
    "remainder of a remainder": (A % 64 % 16, A % 16),
    "ceiling by a constant": (ceildiv(A, 16), (A + 15) // 16),
    "ceiling as negated floor": (-(-A // 16), (A + 15) // 16),
    "min of shifted": (minimum(A + 3, A + 5), A + 3),
    "max with zero": (maximum(A, 0), A),
    "min of quotients": (minimum((A + 8) // 32, A // 32), A // 32),
    "max of quotients": (maximum(A // 4 + 1, (A + 3) // 4), A // 4 + 1),
    "min flattens": (minimum(Z, minimum(B, 3), Z), minimum(3, B, Z)),
    "absolute": (absolute(A + 1), A + 1),
    "select of equals": (select(lt(A, B), N, N), N),
    "select of flags": (select(lt(A, B), 0, 1), ge(A, B)),
    "xor cancels": (xor(A, B, A), B),
    "xor of everything": (xor(A, -1), -A - 1),
    "xor of multiples": (xor(8 * A, 8 * B), 8 * xor(A, B)),
    "xor keeps odd factors inside": (xor(6 * A, 6 * B), 2 * xor(3 * A, 3 * B)),
    "not less": (logical_not(lt(A, B)), ge(A, B)),
    "greater is less": (gt(A, B), lt(B, A)),
    "scaled comparison": (lt(2 * A, 2 * B + 1), ge(B, A)),
    "impossible equality": (eq(2 * A, 2 * B + 1), constant(0)),
    "scaled equality": (eq(2 * A, -2 * Z), eq(Z, -A)),
    "never negative": (ge(A + 1, 0), constant(1)),
    "de morgan": (
        logical_not(logical_and(lt(A, B), N)),
        logical_or(ge(A, B), eq(N, 0)),
    ),
    "contradiction": (logical_and(lt(A, B), ge(A, B)), constant(0)),
    "flag compared": (eq(lt(A, B), 0), ge(A, B)),
    "total": (total([A, 1, B, A]), 2 * A + B + 1),
}


@pytest.mark.parametrize("name", SAME)
def test_equal_expressions_are_one_object(name):
    left, right = SAME[name]
    assert left is right, f"{left} and {right}"


def test_integers_mix_with_expressions():
    assert (3 - A) + A is constant(3)
    assert 100 // constant(7) is constant(14)
    assert -7 % constant(4) is constant(1)
    assert as_expr(True) is constant(1)


def test_kinds_and_values():
    assert (A + 1).kind is Kind.SUM
    assert (A // N).kind is Kind.FLOORDIV
    assert constant(-5).constant_value == -5
    assert lt(A, B).is_boolean
    assert not A.is_boolean
    assert (A * N + B // N).free_symbols == {A, B, N}
    assert (3 * A - B + 7).linear() == (7, ((A, 3), (B, -1)))


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: A // 0,
        lambda: A % 0,
        lambda: as_expr(1.5),
        lambda: symbol(""),
        lambda: symbol("a\nb"),
        lambda: A.constant_value,
        lambda: bool(A),
        minimum,
        lambda: setattr(A, "name", "b"),
        lambda: (A // N).subs({N: 0}),
        lambda: A.subs({constant(1): 2}),
    ],
)
def test_misuse_is_a_symbol_error(misuse):
    with pytest.raises(SymbolError):
        misuse()


def test_substitution_is_simultaneous():
    assert (2 * A + B).subs({A: B, B: A}) is 2 * B + A
    assert (A + N).subs({B: 3}) is A + N
    assert (A // N + 1).subs({A // N: B}) is B + 1


def test_substitution_builds_only_the_branch_taken():
    guarded = select(ne(N, 0), A // N, 7)
    assert guarded.subs({N: 0}) is constant(7)
    assert guarded.subs({N: 4}) is A // 4


def test_huge_products_stay_products_and_read_back():
    sums = [total([symbol(f"{c}{i}") for i in range(9)]) for c in "abc"]
    value = sums[0] * sums[1] * sums[2]
    assert value.kind is Kind.PRODUCT
    assert parse_expr(str(value)) is value
    assert value is sums[2] * (sums[1] * sums[0])


def test_nesting_is_limited():
    def nest(levels):
        value = A
        for i in range(levels):
            value = xor(value // 3, symbol(f"s{i}"))
        return value

    assert parse_expr(str(nest(40))) is nest(40)
    with pytest.raises(SymbolError, match="nested"):
        nest(500)


def test_copies_are_the_same_object():
    value = A % N
    assert copy.copy(value) is value
    assert copy.deepcopy([value])[0] is value


def test_dead_nodes_are_swept():
    from wave_core.symbols.expr import TABLE

    for i in range(50_000):
        symbol("once") * i + i
    assert len(TABLE) < 45_000


def test_threads_agree_on_one_node():
    def build(_):
        return [(symbol(f"t{i}") * 3 + i) // 7 for i in range(300)]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(build, range(8))
    assert all(a is b for row in others for a, b in zip(first, row, strict=True))


PROGRAM = """
from wave_core.symbols import *
s = [symbol(n) for n in ("$LANE", "z", "b", "$WG0", "q")]
e = total([s[i] * s[j] // (3 + i) % 5 for i in range(5) for j in range(5)])
print(minimum(*s, e), xor(*s), logical_and(*[lt(a, e) for a in s]), e.key)
"""


def test_order_and_text_do_not_depend_on_hashing():
    texts = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


def test_import_is_light():
    program = (
        "import sys, wave_core.symbols;"
        "print(sorted({'sympy', 'numpy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"


def test_division_by_zero_in_operators_names_the_numerator():
    with pytest.raises(SymbolError, match="division of a by zero"):
        floordiv(A, 0)
