"""Putting a pipeline together from plugins, presets and options."""

from __future__ import annotations

import pytest

from wave_core.diagnostics import UserError
from wave_core.passes import Amendment
from wave_core.passes.resolve import check_consumer
from wave_core.plugin import PipelineRequest, plan_pipeline

MEMORY = """
@hookimpl
def wave_register_passes():
    yield PassSpec("merge-loads", Phase.OPTIMIZE, "m:MergeLoads")
    yield PassSpec("pack-buffers", Phase.ALLOCATE, "m:PackBuffers", enabled=False)

@hookimpl
def wave_register_options():
    yield OptionSpec("lines", bool, False, "wave-memory", "lines in the code")
    yield OptionSpec("schedule", str, "none", "wave-sched", "how to pipeline")

@hookimpl
def wave_register_presets():
    yield Preset("packed", "packs", enable=("pack-buffers",))
"""


@pytest.fixture
def plan(host):
    def make(preset="", sources=None, **asked):
        plugins = host(memory=MEMORY, **(sources or {}))
        request = PipelineRequest("t", "", preset)
        return plan_pipeline(plugins, request, asked.items())

    return make


def test_plugins_join_the_pipeline_of_core(plan):
    names = plan().pipeline.names
    assert "merge-loads" in names
    assert "pack-buffers" not in names
    assert names.index("expand-tiles") < names.index("merge-loads")


def test_the_default_preset_changes_nothing(plan):
    assert plan("default").pipeline == plan("").pipeline


def test_naive_means_core_alone(plan):
    providers = {row.provider for row in plan("naive").rows() if row.runs}
    assert providers == {"core"}


def test_the_pipeline_of_core_ends_with_its_facts(plan):
    facts = {"typed", "indexed", "expanded", "bounded", "synchronized"}
    found = plan("naive")
    check_consumer("backend `x`", facts, found.pipeline, found.installed)


def test_a_preset_enables(plan):
    assert "pack-buffers" in plan("packed").pipeline.names


def test_an_unknown_preset(plan):
    with pytest.raises(UserError, match="there is no preset `paked`") as caught:
        plan("paked")
    assert caught.value.diagnostics[0].help[0] == "did you mean `packed`?"


BITS = Amendment(options={"merge-loads": {"max_bits": 64}})


def test_options_of_passes(plan):
    made = plan(user=BITS)
    assert made.selection.options == {"merge-loads": {"max-bits": 64}}
    assert made.selection.log == ("user sets merge-loads.max-bits = 64",)


def test_the_user_has_the_last_word(plan):
    user = Amendment(disable=("pack-buffers",))
    amend = "@hookimpl\ndef wave_amend_pipeline(request):\n"
    amend += "    yield Amendment(enable=('pack-buffers',), reason='why not')\n"
    asked = Amendment(enable=("pack-buffers",))
    made = plan("packed", {"eager": amend}, option=asked, user=user)
    assert "pack-buffers" not in made.pipeline.names
    assert made.selection.log == (
        "preset packed enables pack-buffers (packs)",
        "plugin eager enables pack-buffers (why not)",
        "option enables pack-buffers",
        "user disables pack-buffers",
    )


BARRIERS = "insert-safe-barriers"
AMENDS = f"""
@hookimpl
def wave_amend_pipeline(request):
    yield Amendment(disable=({BARRIERS!r},), reason="faster")
"""
PRESET = f"""
@hookimpl
def wave_register_presets():
    yield Preset("racy", "races", disable=({BARRIERS!r},))
"""


@pytest.mark.parametrize(
    ("asks", "who"),
    [
        ({"user": Amendment(disable=(BARRIERS,))}, "user"),
        ({"sources": {"eager": AMENDS}}, "plugin eager (faster)"),
        ({"sources": {"eager": PRESET}, "preset": "racy"}, "preset racy (races)"),
    ],
)
def test_nobody_disables_an_essential_pass(plan, asks, who):
    with pytest.raises(UserError) as caught:
        plan(**asks)
    assert caught.value.code == "WV0828"
    assert f"{who} disables pass `{BARRIERS}`" in str(caught.value)


def test_an_option_of_a_package_that_is_not_installed(host):
    options = host(memory=MEMORY).options
    assert options.check({"schedule": "none"}) == {}
    with pytest.raises(UserError) as caught:
        options.check({"schedule": "modulo"})
    assert caught.value.code == "WV0824"
    assert "package wave-sched, which is not installed" in str(caught.value)
    assert caught.value.diagnostics[0].help[0] == "pip install wave-sched"


def test_an_option_of_a_disabled_package(host):
    plugins = host("sched", memory=MEMORY, sched="")
    with pytest.raises(UserError, match="is disabled by WAVE_DISABLE_PLUGINS"):
        plugins.options.check({"schedule": "modulo"})


@pytest.mark.parametrize(
    ("options", "code", "help_"),
    [
        ({"line": 1}, "WV0803", "did you mean `lines`?"),
        ({"lines": "many"}, "WV0804", "it takes `true` or `false`"),
    ],
)
def test_wrong_options(host, options, code, help_):
    with pytest.raises(UserError) as caught:
        host(memory=MEMORY).options.check(options)
    assert caught.value.code == code
    assert caught.value.diagnostics[0].help[0] == help_


def test_rows_tell_why_passes_do_not_run(plan):
    rows = {row.name: row for row in plan().rows()}
    assert rows["pack-buffers"].reason == "disabled"
    assert rows["sink-splats"].reason == "after number-loops"


def test_the_runner_has_the_options(plan):
    runner = plan(user=BITS).runner()
    assert runner.options == {"merge-loads": {"max-bits": 64}}
