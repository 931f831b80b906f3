"""Every name of the language has an example in the reference, one that runs."""

from __future__ import annotations

import pytest

import language_page
import name_examples
import wave_core.lang as tkl
from wave_core.plugin import PluginHost

NAMES = dir(tkl)
#: What fits on a screen.
LINES = 24


@pytest.fixture(scope="module")
def page():
    return language_page.language_page(PluginHost(()))


def section(page, name):
    """What the reference says of a name."""
    assert f"\n### `{name}`\n" in page
    return page.partition(f"\n### `{name}`\n")[2].partition("\n##")[0]


def test_there_are_names():
    assert {"read", "mma", "MMA_DELAY", "f16", "Value", "stagger"} <= set(NAMES)


@pytest.mark.parametrize("name", sorted({*NAMES} - {*name_examples.in_torch()}))
def test_the_reference_shows(name, page):
    shown = section(page, name)
    assert "\nFrom [" in shown, f"no page has an example of `{name}`"
    example = shown.rpartition('```python hl_lines="')[2].partition("```")[0]
    assert name in example
    assert example.count("\n") <= LINES + 1


def test_functions_of_elements_have_a_row(page):
    assert "| `cbrt(value)` | The cube root" in page
    assert "| `x ** (1 / 3)` |" in page
    for name in name_examples.in_torch():
        assert f"\n| `{name}(" in page


def test_what_is_refused_is_no_example():
    shown = name_examples.examples().values()
    refused = ("def wrong(", "def half(", "def early(", "def too_early(")
    assert not [each for each in shown if any(name in each.text for name in refused)]


def test_the_shortest_example_of_the_first_folder_is_shown():
    shown = name_examples.examples()["write"].shown("write")
    assert shown.startswith('```python hl_lines="7"\n@tkw.wave(constraints)\ndef copy(')
    assert shown.endswith("](../tutorial/1-copy.md#the-kernel).\n")
