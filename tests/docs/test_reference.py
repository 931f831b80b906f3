"""Everything that is declared is documented, and the reference pages follow from it."""

from __future__ import annotations

import inspect

import pytest

import doc_text
import generate_reference
import op_tables
import wave_core.lang as language
import workspace
from name_examples import in_torch
from wave_core.compile import option_table
from wave_core.lang.absent import INSTEAD
from wave_core.plugin import PluginHost
from wave_core.plugin.validate import HOOKS

HOST = PluginHost(workspace.plugins())


@pytest.fixture(scope="module")
def pages():
    return dict(generate_reference.pages(HOST))


def test_pages_are_the_same_each_time(pages):
    assert dict(generate_reference.pages(PluginHost(workspace.plugins()))) == pages


def test_no_page_shows_an_address(pages):
    assert [name for name, text in pages.items() if " at 0x" in text] == []


def test_every_op_is_listed(pages):
    headings = {f"## `{name}`" for name in HOST.op_classes}
    assert headings <= set(pages["ops.md"].splitlines())


@pytest.mark.parametrize("backend", ["sim-logical", "sim", "amdgpu", "asm"])
def test_every_op_runs_on_a_backend_or_says_why_not(backend):
    found = op_tables.op_tables(HOST)[backend]
    silent = [
        cls.op_name
        for cls in HOST.op_classes.values()
        if not found.lowers(cls) and not found.reason(cls)
    ]
    assert silent == []


def test_the_table_of_backends_has_every_op(pages):
    lines = pages["backends.md"].splitlines()
    assert "| op | `sim-logical` | `sim` | `amdgpu` | `asm` | `nvgpu` |" in lines
    listed = {line.partition(" | ")[0] for line in lines}
    assert {f"| `{name}`" for name in HOST.op_classes} <= listed
    assert "| `add` | yes | yes | yes | yes | yes |" in lines
    assert "nobody says why" not in pages["backends.md"]


def test_names_of_other_languages_are_listed(pages):
    missing = [name for name in INSTEAD if f"| `{name}` | " not in pages["backends.md"]]
    assert missing == []


@pytest.mark.parametrize("name", HOST.op_classes)
def test_every_op_says_what_it_means(name):
    doc = inspect.cleandoc(HOST.op_classes[name].__doc__ or "")
    assert doc.partition("\n")[0].rstrip().endswith((".", ",", "or"))


def test_every_option_is_listed(pages):
    rows = {f"| `{row.name}` | {row.owner} " for row in option_table()}
    assert [row for row in rows if row not in pages["options.md"]] == []
    assert "| `schedule-loops.unroll`: iterations in one trip" in pages["options.md"]
    assert "|  |" not in pages["options.md"]


def test_every_code_is_listed(pages):
    headings = {f"### {name}" for name in HOST.diagnostics}
    assert headings <= set(pages["diagnostics.md"].splitlines())


def test_every_hook_is_listed_with_an_example(pages):
    assert set(generate_reference.hook_functions()) == set(HOOKS)
    for name, function in generate_reference.hook_functions().items():
        assert f"\n## `{name}(" in pages["hooks.md"]
        assert f"def {name}(" in (inspect.getdoc(function) or "")


def test_every_constraint_is_listed(pages):
    for name, cls in generate_reference.constraint_classes().items():
        assert f"## `{name}`" in pages["constraints.md"]
        assert cls.__doc__


def test_every_pass_and_its_options_are_listed(pages):
    for name in HOST.pass_specs:
        assert f"### `{name}`" in pages["passes.md"]
    assert all(spec.value.summary for spec in HOST.pass_specs.values())


def test_every_name_of_the_language_is_listed(pages):
    names = dir(language)
    headings = {f"### `{name}`" for name in names if name not in in_torch()}
    assert headings <= set(pages["language.md"].splitlines())


@pytest.mark.parametrize("command", ["run", "pipeline", "inspect", "explain"])
def test_every_command_is_listed(pages, command):
    assert f"## `wave {command}`" in pages["cli.md"]


def test_docstrings_become_markdown():
    doc = """Meaning of ``x``.

    Args:
        a: First, which
            goes on.

    Example::

        f(1)

        g(2)
    """
    assert doc_text.markdown(doc).splitlines() == [
        *("Meaning of `x`.", "", "Args:", "", "* `a`: First, which", "  goes on.", ""),
        *("Example:", "", "```python", "f(1)", "", "g(2)", "```"),
    ]


def test_fields_of_a_docstring():
    doc = "Meaning.\n\nAttributes:\n    a: One\n        two.\n    b: Three.\n"
    assert doc_text.fields_of(doc) == {"a": "One two.", "b": "Three."}


def test_a_cell_may_hold_a_bar():
    assert doc_text.table(("a",), [("x | y",)]).splitlines()[2] == "| x \\| y |"
