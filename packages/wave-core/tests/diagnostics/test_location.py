from __future__ import annotations

import copy
import functools
import gc
import types
import weakref

import pytest

from wave_core.diagnostics import Location, capture_location, fuse
from wave_core.diagnostics.location import FusedLocation


def run_as(module, text, **names):
    """Execute code as if it stood in a module."""
    code = compile(text, f"<{module}>", "exec")
    exec(code, scope := {"__name__": module, **names})
    return types.SimpleNamespace(**scope)


SURFACE = """
def op():
    return inner()
def inner():
    return capture()
def trace(function):
    return function()
"""


@pytest.fixture
def wave():
    return run_as("wave_core.trace.pretend", SURFACE, capture=capture_location)


def test_line_columns_and_function_of_the_caller():
    here = Location.here()  # é
    assert here.file == __file__
    assert here.function == "test_line_columns_and_function_of_the_caller"
    assert (here.column, here.end_column) == (12, 27)
    assert here.line == here.end_line
    assert str(here) == f"{__file__}:{here.line}:12 in {here.function}"
    assert "Location.here()" in here.source_line(here.line)


def test_columns_count_characters_and_not_bytes():
    word, here = "é日本", Location.here()
    assert here.column == 25
    assert here.end_column - here.column == len("Location.here()")
    assert word


def test_spans_reach_over_lines():
    here = capture_location(
        None,
    )
    assert here.end_line == here.line + 2
    assert (here.column, here.end_column) == (12, 6)


def test_frames_of_wave_are_skipped(wave):
    here = wave.op()
    assert here.file == __file__
    assert here.function == "test_frames_of_wave_are_skipped"


def test_calls_between_wave_and_the_user_are_kept(wave):
    def load():
        return wave.op()

    def kernel():
        return load()

    here = wave.trace(kernel)
    assert [here.function, *(c.function for c in here.callers)] == ["load", "kernel"]
    assert here.callers[0].source_line(here.callers[0].line).strip() == "return load()"


def test_at_most_four_callers_are_kept(wave):
    def nest(depth):
        return nest(depth - 1) if depth else wave.op()

    assert len(wave.trace(lambda: nest(6)).callers) == 4


def test_plain_user_code_has_no_callers(wave):
    assert wave.op().callers == ()


@pytest.mark.parametrize(
    ("module", "key", "own"),
    [
        ("wave_core", None, True),
        ("wave_core.lang", None, True),
        ("wave_core_of_another", None, False),
        ("wave_kernels.gemm", None, False),
        ("torch.fx.proxy", None, True),
        ("wave_core.builtin.kernels", "user", False),
        ("acme_ops", "internal", True),
    ],
)
def test_what_counts_as_wave(module, key, own):
    names = {} if key is None else {"__wave_frames__": key}
    caller = run_as(module, "def op(): return capture()", capture=capture_location)
    caller.op.__globals__.update(names)
    assert (caller.op().function != "op") is own


def test_other_packages_can_be_skipped():
    text = "def op(): return capture(('acme',))"
    caller = run_as("acme.ops", text, capture=capture_location)
    assert caller.op().function == "test_other_packages_can_be_skipped"


def test_globals_without_a_name_are_the_users():
    scope = {"capture": capture_location}
    exec("def f(): return capture()", scope)
    del scope["__builtins__"]
    assert scope["f"]().function == "f"


def test_frames_are_not_kept_alive():
    class Big:
        pass

    def call():
        big = Big()
        return weakref.ref(big), Location.here()

    gone, here = call()
    gc.collect()
    assert gone() is None
    assert here.function == "call"


def test_of_function_points_at_the_def_below_decorators():
    @functools.lru_cache
    @functools.wraps(run_as)
    def decorated():
        """Looked through: `__wrapped__` leads to `run_as`."""

    place = Location.of_function(decorated)
    assert place.function == "run_as"
    assert place.source_line(place.line).startswith("def run_as(")
    assert (place.column, place.end_column) == (1, 11)


def test_of_function_of_lambdas_methods_and_partials():
    double = lambda x: 2 * x  # noqa: E731
    assert Location.of_function(double).column == 14
    assert Location.of_function(functools.partial(double, 1)).column == 14
    assert Location.of_function(Location.to_text).function == "to_text"
    assert not Location.of_function(len).is_known


def test_of_parameter_covers_the_annotation():
    place = Location.of_parameter(typed, "second")
    text = place.source_line(place.line)
    assert text[place.column - 1 : place.end_column - 1] == "second: 'é'"
    assert Location.of_parameter(typed, "third") == Location.of_function(typed)


def typed(first, second: 'é' = 2):  # noqa: F821, UP037 # fmt: skip
    return first, second


def test_fusion_drops_unknown_and_repeated_parts():
    one, two = Location.of_span("a.py", 1), Location.of_span("b.py", 2)
    both = fuse(one, None, Location.unknown(), fuse(two, one))
    assert isinstance(both, FusedLocation)
    assert both.parts == (one, two)
    assert both.line == 1
    assert fuse(one, one) is one
    assert not fuse().is_known


def test_fusing_does_not_decode():
    def places():
        return [Location.here() for _ in range(3)]

    parts = places()
    parts[1].line  # noqa: B018 - a decoded one is still the same place
    assert fuse(*parts) is parts[0]


def test_equality_is_by_decoded_value():
    captured = Location.here()
    span = Location.of_span(*captured.span)
    assert span == captured
    assert hash(span) == hash(captured)
    assert span != Location.here()
    assert captured != "somewhere"


def test_copies_are_equal():
    place = fuse(Location.here(), Location.of_span("a.py", 1))
    assert copy.deepcopy(place) == place
    assert copy.copy(place.parts[0]) == place.parts[0]


def test_no_attribute_can_be_set():
    with pytest.raises(AttributeError):
        Location.here().line = 3
    with pytest.raises(AttributeError):
        Location.here().note = "x"
