"""Every hook is documented, has an example that runs, and is tested."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from textwrap import dedent

import pytest

from wave_core.passes import Pass, PassContext
from wave_core.plugin import PipelineRequest, WaveSpecs
from wave_core.plugin.validate import HOOKS

HERE = Path(__file__).parent


def documentation(hook):
    return inspect.getdoc(getattr(WaveSpecs, hook))


def test_the_hooks_are_these():
    assert HOOKS == (
        "wave_after_pass",
        "wave_amend_pipeline",
        "wave_before_pass",
        "wave_register_backends",
        "wave_register_checks",
        "wave_register_choosers",
        "wave_register_commands",
        "wave_register_constraints",
        "wave_register_diagnostics",
        "wave_register_displays",
        "wave_register_executors",
        "wave_register_kernels",
        "wave_register_lowerings",
        "wave_register_module_passes",
        "wave_register_ops",
        "wave_register_options",
        "wave_register_passes",
        "wave_register_presets",
        "wave_register_strategies",
        "wave_register_targets",
        "wave_register_tile_rules",
        "wave_register_views",
    )


@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_say_when_they_fire_and_what_they_return(hook):
    text = documentation(hook)
    assert "Fires " in text
    assert "Example::" in text
    signature = inspect.signature(getattr(WaveSpecs, hook))
    assert signature.return_annotation


@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_have_a_test(hook):
    tests = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    assert re.search(rf"def test_{hook}\b", tests)


def example(hook):
    return dedent(documentation(hook).partition("Example::\n")[2])


@pytest.mark.parametrize("hook", [h for h in HOOKS if h.startswith("wave_register_")])
def test_examples_register_something(hook, host):
    tables = host(example=example(hook)).tables()
    added = [
        name
        for table in tables.values()
        for name, each in table.items()
        if each.provider.name == "example"
    ]
    assert len(added) == 1


def test_the_example_of_amending(host):
    plugins = host(example=example("wave_amend_pipeline"))
    amend = plugins.amend_pipeline
    assert amend(PipelineRequest("generic")) == []
    assert [str(each) for _, each in amend(PipelineRequest("toy"))] == [
        "disables schedule-loops (no loops)"
    ]


def test_the_examples_around_passes(host):
    class Step(Pass):
        def apply(self, graph, context):
            return True

    sources = {h: example(h) for h in ("wave_before_pass", "wave_after_pass")}
    observer, context = host(**sources).observer(), PassContext(target=None)
    observer.before_pass(Step(), None, context)
    observer.after_pass(Step(), None, context, changed=True)
    assert context.statistics == {
        "runs_of_step": 1,
        "passes_that_changed_something": 1,
    }
