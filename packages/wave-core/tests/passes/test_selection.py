"""Presets, plugins and users say which passes run."""

from __future__ import annotations

import pytest

from wave_core.diagnostics import UserError
from wave_core.passes import Amendment, InstalledPass, PassSpec, Phase, Pipeline, Preset
from wave_core.passes.selection import Selection


def installed(name, provider="core", **fields):
    return InstalledPass(PassSpec(name, Phase.OPTIMIZE, "m:C", **fields), provider)


PASSES = (
    installed("a"),
    installed("b", "memory"),
    installed("c", "sched", enabled=False),
)


def select(*amendments):
    return Selection.of(PASSES, [(f"no. {i}", a) for i, a in enumerate(amendments)])


def test_passes_say_whether_they_run_by_default():
    assert select().disabled == {"c"}


def test_the_last_word_counts():
    chosen = select(Amendment(disable=("a", "b")), Amendment(enable=("b", "c")))
    assert chosen.disabled == {"a"}


def test_who_disables_a_pass_is_known():
    chosen = select(
        Amendment(disable=("a", "b"), reason="because"),
        Amendment(disable=("b", "c"), enable=("c",)),
        Amendment(enable=("a",)),
    )
    assert chosen.disabled_by == {"b": "no. 1"}
    assert select(Amendment(disable=("a",), reason="so")).disabled_by == {
        "a": "no. 0 (so)"
    }


def test_a_preset_keeps_essential_passes_of_other_plugins():
    passes = (*PASSES, installed("d", "memory", essential=True))
    preset = Preset("naive", only=("core",))
    assert set(preset.amendment(passes).disable) == {"b", "c"}


def test_options_of_later_amendments_win():
    chosen = select(
        Amendment(options={"a": {"max_bits": 1, "x": 2}}),
        Amendment(options={"a": {"max-bits": 3}}),
    )
    assert chosen.options == {"a": {"max-bits": 3, "x": 2}}


def test_text_enables_passes_and_sets_options():
    chosen = select(Amendment.of_text(Pipeline.parse("c{stages=2}")))
    assert (chosen.disabled, chosen.options) == (frozenset(), {"c": {"stages": 2}})


def test_a_preset_may_be_confined_to_plugins():
    preset = Preset("naive", only=("core",))
    assert select(preset.amendment(PASSES)).disabled == {"b", "c"}


def test_every_amendment_is_logged():
    first = Amendment(enable=("c",), disable=("b",), reason="because")
    chosen = select(first, Amendment(options={"a": {"max_bits": 8}}), Amendment())
    assert chosen.log == (
        "no. 0 enables c, disables b (because)",
        "no. 1 sets a.max-bits = 8",
    )


@pytest.mark.parametrize(
    "amendment",
    [
        Amendment(enable=("bb",)),
        Amendment(disable=("bb",)),
        Amendment(options={"bb": {}}),
    ],
)
def test_unknown_passes(amendment):
    with pytest.raises(UserError) as caught:
        select(amendment)
    assert caught.value.code == "WV0801"
    assert caught.value.diagnostics[0].help == (
        "did you mean `b`?",
        "installed: `a`, `b`, `c`",
    )


def test_optional_passes_may_be_absent():
    assert select(Amendment(enable=("zz?", "c?"))).disabled == set()
