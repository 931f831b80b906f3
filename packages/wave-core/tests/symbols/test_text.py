"""The text form and its parser."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from wave_core.symbols import (
    SymbolError,
    ceildiv,
    eq,
    evaluate,
    ge,
    logical_and,
    lt,
    minimum,
    parse_expr,
    select,
    symbol,
    xor,
)
from wave_core.symbols.surface import Op, surface

A, B, N, LANE = symbol("a"), symbol("b"), symbol("n"), symbol("$LANE")
WG = symbol("$WG0")

TEXTS = [
    (
        64 * WG + LANE % 16 + 4 * (LANE // 16 % 4),
        "64*$WG0 + $LANE % 16 + 4*($LANE // 16 % 4)",
    ),
    ((A + 3) % 16, "(a + 3) % 16"),
    (5 * A - 16 * (A // 16), "4*a + a % 16"),
    (A % N, "a % n"),
    (ceildiv(A, N), "ceildiv(a, n)"),
    (-(A // 4), "-(a // 4)"),
    (3 - A, "3 - a"),
    (A * B // 4, "a*b // 4"),
    (minimum(A, B + 1), "min(a, b + 1)"),
    (select(lt(A, B), A, N), "select(a < b, a, n)"),
    (xor(8 * A, 8 * (B % 8)), "8*xor(a, b % 8)"),
    (eq(A % 16, 0), "a % 16 == 0"),
    (lt(A, 64), "a < 64"),
    (lt(4 * A, N), "4*a < n"),
    (logical_and(lt(A, N), ge(B, 3)), "and(a < n, 3 <= b)"),
    (symbol("$IV:K") * 2, "2*$IV:K"),
    (symbol("z", False), "z?"),
    (symbol("a b"), 'sym"a b"'),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_text_is_readable_and_reads_back(value, text):
    assert str(value) == text
    assert parse_expr(text) is value


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), st.booleans())
def test_any_printable_name_reads_back(name, nonnegative):
    value = symbol(name, nonnegative) * 3 + 1
    assert parse_expr(str(value)) is value


@pytest.mark.parametrize("name", ["min", "and", "sym", "K:", "1a", 'q"u', "ü", "a?"])
def test_awkward_names_are_quoted(name):
    assert str(symbol(name)).startswith('sym"')
    assert parse_expr(str(symbol(name))) is symbol(name)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("a +", 3),
        ("a b", 2),
        ("(a", 2),
        ("a # b", 2),
        ("min()", 4),
        ("select(a, b)", 0),
        ("a // 0", 5),
        ("a % (b - b)", 4),
        ('sym"a', 3),
        ('sym"\\q"', 0),
        ("a < b < c", 6),
        ("9" * 200, 0),
        ("(" * 5000, 101),
        ("-" * 5000, 5000),
        ("min(" * 3000 + "a", 404),
    ],
)
def test_malformed_text_names_the_character(text, position):
    with pytest.raises(SymbolError, match=f"at character {position} of"):
        parse_expr(text)


@given(st.text('ab0123 +-*/%<>=(),min?"sym$', max_size=40))
def test_hostile_text_fails_only_with_symbol_errors(text):
    try:
        value = parse_expr(text)
    except SymbolError:
        return
    assert parse_expr(str(value)) is value


def test_long_flat_text_is_no_problem():
    text = " + ".join(f"{i}*v{i}" for i in range(1, 2000))
    assert parse_expr(str(parse_expr(text))) is parse_expr(text)
    assert str(parse_expr("*".join(["(a + 1)"] * 100))).count("(a + 1)") == 100


def test_surface_shows_remainders_and_shares_forms():
    form = surface(xor(LANE % 16, 4 * (LANE % 16)))
    assert form.op is Op.XOR
    remainder, scaled = form.args
    assert (remainder.op, scaled.op) == (Op.MOD, Op.MUL)
    assert scaled.args[1].op is Op.MOD


def test_parser_follows_python_precedence():
    for text in ("-7 // 2", "2 - -3*4", "7 - 2 - 1", "17 // 3 % 4", "3*(2 + 4) % 5"):
        python = {"-7 // 2": -4, "2 - -3*4": 14, "7 - 2 - 1": 4, "17 // 3 % 4": 1}
        assert evaluate(parse_expr(text), {}) == python.get(text, 3)
