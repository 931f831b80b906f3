"""Passes and their options as text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

import pytest
from hypothesis import given, strategies as st

from wave_core.diagnostics import PluginError, UserError
from wave_core.passes import Pass, PassText, Pipeline


class Mode(Enum):
    FAST = "fast"
    NONE = "none"
    SLOW = 3


@dataclass(frozen=True)
class MinimizeGlobalLoads(Pass):
    max_bits: int = 128
    ratio: float = 0.5
    name: str = "x"
    careful: bool = False
    limit: int | None = None
    mode: Mode = Mode.FAST
    sizes: tuple[int, ...] = ()
    pair: tuple[str, float] = ("a", 1.0)
    kind: Literal["row", "column"] = "row"

    def apply(self, graph, context):
        return False


words = st.from_regex(r"[a-z][a-z0-9]*(-[a-z0-9]+){0,2}", fullmatch=True)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["none", "true", "inf", "nan", "a b", "1", "-1.0", '"', "a.b"]),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)
texts = st.builds(
    PassText,
    words,
    st.dictionaries(words, values, max_size=3).map(lambda d: tuple(d.items())),
)


@given(st.lists(texts, max_size=4))
def test_pipelines_round_trip(passes):
    pipeline = Pipeline(tuple(passes))
    assert Pipeline.parse(str(pipeline)) == pipeline


numbers = st.integers(-(2**63), 2**63 - 1)
instances = st.builds(
    MinimizeGlobalLoads,
    max_bits=numbers,
    ratio=st.floats(allow_nan=False),
    name=st.text(),
    careful=st.booleans(),
    limit=st.none() | numbers,
    mode=st.sampled_from(Mode),
    sizes=st.lists(st.integers()).map(tuple),
    pair=st.tuples(st.text(), st.floats(allow_nan=False)),
    kind=st.sampled_from(["row", "column"]),
)


@given(instances)
def test_passes_round_trip(step):
    text = PassText.parse(str(step))
    assert text.name == "minimize-global-loads"
    assert MinimizeGlobalLoads.with_options(text.options) == step


def test_defaults_are_not_printed():
    assert str(MinimizeGlobalLoads()) == "minimize-global-loads"
    narrow = MinimizeGlobalLoads(max_bits=64, mode=Mode.NONE, sizes=(1, 2))
    text = 'minimize-global-loads{max-bits=64, mode="none", sizes=(1, 2)}'
    assert str(narrow) == text


def test_types_of_values():
    read = PassText.parse('p{a=1,b=1.0,c=one,d="1",e=none,f=true,g=(1, (x)),h=()}')
    assert [value for _, value in read.options] == [
        *(1, 1.0, "one", "1", None, True, (1, ("x",)), ()),
    ]
    assert type(read.options[1][1]) is float


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("mode", "slow", Mode.SLOW),
        ("mode", "SLOW", Mode.SLOW),
        ("mode", None, Mode.NONE),
        ("mode", Mode.FAST, Mode.FAST),
        ("ratio", 2, 2.0),
        ("sizes", [3, 4], (3, 4)),
    ],
)
def test_friendly_values(option, value, expected):
    step = MinimizeGlobalLoads.with_options([(option, value)])
    assert getattr(step, option) == expected


@pytest.mark.parametrize("name", ["max-bits", "max_bits"])
def test_both_spellings_of_an_option(name):
    assert MinimizeGlobalLoads.with_options([(name, 32)]).max_bits == 32


@pytest.mark.parametrize(
    ("option", "value", "takes"),
    [
        ("max-bits", "wide", "it takes int"),
        ("max-bits", True, "it takes int"),
        ("careful", 1, "it takes `true` or `false`"),
        ("limit", 1.5, "it takes int or `none`"),
        ("limit", "", "it takes int or `none`"),
        ("mode", "quick", 'it takes `fast` or `"none"` or `slow`'),
        ("kind", "diagonal", "it takes `row` or `column`"),
        ("pair", ("a",), "it takes (str, float)"),
        ("sizes", (1, "b"), "it takes (int, ...)"),
        ("name", object(), "it takes str"),
    ],
)
def test_unfit_value(option, value, takes):
    with pytest.raises(UserError) as caught:
        MinimizeGlobalLoads.with_options([(option, value)])
    assert caught.value.code == "WV0804"
    assert f"option `{option}` of `minimize-global-loads`" in str(caught.value)
    assert caught.value.diagnostics[0].help == (takes,)


def test_unknown_option_lists_the_options():
    with pytest.raises(UserError) as caught:
        MinimizeGlobalLoads.with_options([("max-bit", 1)])
    assert caught.value.code == "WV0803"
    first, second = caught.value.diagnostics[0].help
    assert first == "did you mean `max-bits`?"
    assert second.startswith("its options are: `max-bits`, `ratio`")


@pytest.mark.parametrize(
    ("text", "column", "found"),
    [
        ("a{b=}", 5, "`}`"),
        ("a b", 3, "`b`"),
        ("a{b=1", 6, "the end"),
        ("a{b 1}", 5, "`1`"),
        ('a{b="x}', 5, '`"`'),
        (r'a{b="\q"}', 5, r'`"\q"`'),
        ("64", 1, "`64`"),
        ("a{b=(1 2)}", 8, "`2`"),
        ("a,,b", 3, "`,`"),
    ],
)
def test_text_that_does_not_fit(text, column, found):
    with pytest.raises(UserError) as caught:
        Pipeline.parse(text)
    assert caught.value.code == "WV0802"
    assert f"at column {column}, found {found}" in str(caught.value)


def test_an_option_given_twice():
    with pytest.raises(UserError, match="has option `b` twice"):
        Pipeline.parse("a{b=1, b=2}")


@dataclass(frozen=True)
class NoDefault(Pass):
    bits: int

    def apply(self, graph, context):
        return False


@dataclass(frozen=True)
class NoText(Pass):
    table: dict[str, int] | None = None

    def apply(self, graph, context):
        return False


@pytest.mark.parametrize("cls", [NoDefault, NoText])
def test_options_that_cannot_be_written(cls):
    with pytest.raises(PluginError) as caught:
        cls.with_options()
    assert caught.value.code == "WV0809"


def test_names_of_passes_follow_from_their_classes():
    class InsertLDSBarriersV2(NoText):
        pass

    assert InsertLDSBarriersV2.pass_name() == "insert-lds-barriers-v2"
