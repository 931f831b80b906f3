"""The key of a function changes with everything that tracing it can see."""

from __future__ import annotations

import math
import types
from typing import Any

import pytest
import sympy

from wave_core.compile import fingerprint as fresh
from wave_core.compile.read_log import recall

KNOWN = {}
GLOBAL = 1
SETTINGS = {"tile": [1, 2]}
MODULE = types.ModuleType("settings")
MODULE.tile = 1
MODULE.unread = 1


def fingerprint(function, namespaces=()):
    """The key; what is remembered of the function says the same."""
    found = fresh.fingerprint(function, namespaces)
    assert recall(KNOWN, function, namespaces, fresh.fingerprint) == found
    assert recall(KNOWN, function, namespaces, fresh.fingerprint) == found
    return found


class Opaque:
    """Something whose state cannot be seen."""


OPAQUE = Opaque()


def helper():
    return GLOBAL


def reads_global():
    return GLOBAL


def reads_container():
    return SETTINGS["tile"]


def reads_module():
    return MODULE.tile + math.pi


def calls_helper():
    return helper()


def nested():
    def inner():
        return GLOBAL

    return inner()


def reads_opaque():
    return OPAQUE


def recursive():
    return recursive()


def closure(value):
    return lambda: value


@pytest.mark.parametrize("function", [reads_global, calls_helper, nested])
def test_global(function, monkeypatch):
    before = fingerprint(function)
    assert before is not None
    assert fingerprint(function) == before
    monkeypatch.setitem(globals(), "GLOBAL", 2)
    assert fingerprint(function) != before


def test_types_count(monkeypatch):
    before = fingerprint(reads_global)
    for value in (1.0, True):
        monkeypatch.setitem(globals(), "GLOBAL", value)
        assert fingerprint(reads_global) != before


def test_contents_of_containers(monkeypatch):
    before = fingerprint(reads_container)
    monkeypatch.setitem(SETTINGS, "tile", [1, 3])
    assert fingerprint(reads_container) != before


def test_attributes_of_modules(monkeypatch):
    before = fingerprint(reads_module)
    monkeypatch.setattr(MODULE, "unread", 2)
    assert fingerprint(reads_module) == before
    monkeypatch.setattr(MODULE, "tile", 2)
    assert fingerprint(reads_module) != before


def test_closures():
    assert fingerprint(closure(1)) == fingerprint(closure(1))
    assert fingerprint(closure(1)) != fingerprint(closure(2))
    symbol = sympy.Symbol("M")
    assert fingerprint(closure(symbol)) == fingerprint(closure(sympy.Symbol("M")))
    assert fingerprint(closure(symbol)) != fingerprint(closure(sympy.Symbol("N")))
    assert fingerprint(closure(0.0)) != fingerprint(closure(-0.0))


def test_what_cannot_be_seen_has_no_key():
    assert fingerprint(reads_opaque) is None
    assert fingerprint(closure(Opaque())) is None


def annotated(dtype):
    """Annotations are strings here: nothing but the namespace has their names."""

    def kernel(a: Memory[dtype]):  # noqa: F821 - never evaluated
        return a

    return fingerprint(kernel, ({"dtype": dtype},))


def inner_annotated(dtype):
    def kernel():
        def body(a: Register[dtype]):  # noqa: F821 - never evaluated
            return a

        return body

    return fingerprint(kernel, ({"dtype": dtype},))


@pytest.mark.parametrize("make", [annotated, inner_annotated])
def test_names_in_string_annotations(make):
    assert make(1) == make(1) is not None
    assert make(1) != make(2)


def calls_what_takes_anything():
    return takes_anything(3)


def takes_anything(value: Any) -> Any:
    return value


def test_words_for_any_type_say_nothing_hidden():
    key = fingerprint(calls_what_takes_anything)
    assert key is not None
    assert key == fingerprint(calls_what_takes_anything)


def reads_environment():
    import os

    return os.environ["TILE"]


def reads_by_name():
    return getattr(MODULE, "tile")  # noqa: B009 - the point


def hides():
    return globals()["GLOBAL"]


def tells_time():
    return TIME()


TIME = __import__("time").time
APPEND = [].append


def calls_method():
    return APPEND(1)


@pytest.mark.parametrize(
    "function", [reads_environment, reads_by_name, hides, tells_time, calls_method]
)
def test_hidden_inputs_have_no_key(function):
    assert fingerprint(function) is None


def test_recursion_ends():
    assert fingerprint(recursive) is not None


def test_same_text_twice_is_not_the_same_function():
    def twin(value):
        return lambda: value

    one, other = closure(1), twin(1)
    assert fingerprint(one) != fingerprint(other)


def changing(number=1):
    captured = number

    def kernel(a: int, b=(1, 2)):
        return a, b, captured

    def change(value):
        nonlocal captured
        captured = value

    return kernel, change


def set_defaults(kernel, change):
    kernel.__defaults__ = ((1, 3),)


def set_keywords(kernel, change):
    kernel.__kwdefaults__ = {"b": 3}


def set_annotations(kernel, change):
    kernel.__annotations__ = {"a": "float"}


def add_annotation(kernel, change):
    kernel.__annotations__["b"] = "float"


def set_annotation(kernel, change):
    kernel.__annotations__["a"] = "float"


def set_code(kernel, change):
    kernel.__code__ = changing.__code__.replace(co_freevars=("captured",))


def set_cell(kernel, change):
    change(5)


@pytest.mark.parametrize(
    "edit",
    [
        set_defaults,
        set_keywords,
        set_annotations,
        add_annotation,
        set_annotation,
        set_code,
        set_cell,
    ],
)
def test_edits_of_a_function_are_seen(edit):
    kernel, change = changing()
    before = fingerprint(kernel)
    edit(kernel, change)
    assert fingerprint(kernel) != before


def test_names_that_appear_are_seen():
    def kernel(a: "Memory[late]"):  # noqa: F821, UP037 - never evaluated
        return a

    space = {}
    before = fingerprint(kernel, (space,))
    spaces = (space,)
    assert fingerprint(kernel, spaces) == before
    space["late"] = 1
    assert fingerprint(kernel, spaces) != before


def test_an_unchanged_function_is_not_walked_again():
    calls = []

    def make(*given):
        calls.append(given)
        return fresh.fingerprint(*given)

    known = {}
    keys = [recall(known, calls_helper, (), make) for _ in range(3)]
    assert len(calls) == 1
    assert keys[0] is keys[1] is keys[2] is not None


def test_the_number_of_functions_is_bounded():
    known = {}
    for value in range(600):
        recall(known, closure(value), (), fresh.fingerprint)
    assert len(known) <= 256
