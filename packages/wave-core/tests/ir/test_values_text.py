"""Values print as text that reads back to the same value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from wave_core.constraints import WaveConstraint
from wave_core.diagnostics import InternalError
from wave_core.ir.attributes import ValueFormatter
from wave_core.ir.lexer import Reader
from wave_core.ir.value_parser import ValueParser
from wave_core.ir.values import same_value, value_key
from wave_core.symbols import constant, lt, maximum, parse_layout, symbol
from wave_core.targets import MMAType
from wave_core.types import (
    DTYPES,
    AccessMapping,
    AddressSpace,
    MemoryType,
    RegisterType,
)
from wave_core.types.dtype import f16, f32

NAMES = ["M", "$IV:K.1", "true", "none", "inf", "global", "f32", "reg", "a b", 'q"(,`']
SYMBOLS = st.builds(symbol, st.sampled_from(NAMES), st.booleans())
EXPRS = st.recursive(
    st.one_of(SYMBOLS, st.integers(-9, 9).map(constant)),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b * 3, inner, inner),
        st.builds(lambda a, b: maximum(a // 4, b % 8), inner, inner),
        st.builds(lt, inner, inner),
    ),
    max_leaves=6,
)
ELEMENTS = st.sampled_from(list(DTYPES.values()))
SHAPES = st.lists(EXPRS, max_size=3).map(tuple)
SPACES = st.one_of(st.sampled_from(AddressSpace), SYMBOLS)
TYPES = st.one_of(
    st.builds(RegisterType, SHAPES, ELEMENTS),
    st.builds(MemoryType, SHAPES, SPACES, ELEMENTS, st.none() | SHAPES),
)
MAPPINGS = st.builds(
    AccessMapping, st.lists(st.text(max_size=3)).map(tuple), SHAPES, st.just((("M",),))
)
LAYOUT = parse_layout('64x4 {"a b": 4*(lane/16%4) + (reg/1%4), M: (lane/1%16)}')
ATOMS = st.one_of(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    EXPRS | ELEMENTS | TYPES | MAPPINGS,
    st.just(LAYOUT) | st.sampled_from(AddressSpace) | st.sampled_from(MMAType),
)
VALUES = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=3).map(tuple))


def _read(text: str) -> Any:
    parser = ValueParser(Reader(text))
    value = parser.value()
    assert parser.reader.at_end
    return value


@given(VALUES)
def test_values_come_back(value: object) -> None:
    text = ValueFormatter().value(value)
    assert "\n" not in text
    assert same_value(_read(text), value)


@pytest.mark.parametrize(
    "value", [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 0.1, 1e300]
)
def test_floats_come_back_exactly(value: float) -> None:
    found = _read(ValueFormatter().value(value))
    assert value_key(found) == value_key(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (symbol("M") // 4 + 1, "M // 4 + 1"),
        (constant(4), "`4`"),
        ((1, "x", None), '[1, "x", none]'),
        (RegisterType((symbol("M"),), f16), "!reg<M, f16>"),
        (AddressSpace.SHARED, "#AddressSpace.SHARED"),
        (
            MemoryType((symbol("M"),), AddressSpace.SHARED, f32, (constant(68),)),
            "!mem<M, shared, f32, physical[68]>",
        ),
    ],
)
def test_the_form_of(value: object, text: str) -> None:
    assert ValueFormatter().value(value) == text


def test_constraints_come_back_without_location() -> None:
    constraint = WaveConstraint(symbol("M"), 32)
    text = ValueFormatter().value(constraint)
    assert text == "#WaveConstraint(dim = M, tile_size = `32`)"
    assert _read(text) == constraint


@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, b"x", {1}])
def test_other_values_have_no_text(value: object) -> None:
    with pytest.raises(InternalError) as raised:
        ValueFormatter().value(value)
    assert raised.value.code == "WV9905"


@dataclass(frozen=True)
class Depth:
    number: int


def test_same_value_goes_by_type_and_bit() -> None:
    assert not same_value(1, 1.0)
    assert not same_value(1, True)
    assert not same_value((0.0,), (-0.0,))
    assert same_value((math.nan, "a"), (math.nan, "a"))
    assert not same_value(Depth(1), Depth(True))
