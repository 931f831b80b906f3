"""A plugin that does not work is an error that says who, what, and the way out."""

from __future__ import annotations

import pytest

from wave_core.diagnostics import PluginError, UserError
from wave_core.plugin import API_VERSION, PluginHost
from wave_core.plugin.discover import disabled_names

WAY_OUT = "run without it: WAVE_DISABLE_PLUGINS=bad, or upgrade wave-bad"


def failure(action):
    with pytest.raises(PluginError) as caught:
        action()
    found = caught.value.diagnostics[0]
    assert "`bad` (wave-bad 1.2)" in found.render()
    assert WAY_OUT in found.help
    return found


def load(*points):
    return PluginHost(points, ())


def test_import_that_fails(point):
    error = ImportError("no module named x")
    found = failure(lambda: load(point("bad", error)))
    assert found.code == "WV0816"
    assert found.notes == ("ImportError: no module named x",)


NEXT = API_VERSION[1] + 1


@pytest.mark.parametrize(
    ("requires", "what"),
    [
        ("", "does not state the API version"),
        ("'1.0'", "wrongly states the API version"),
        ("(1,)", "wrongly states the API version"),
        (str((API_VERSION[0] + 1, 0)), "needs version 2.0 of the plugin API"),
        (
            str((API_VERSION[0], API_VERSION[1] + 1)),
            f"needs version 1.{API_VERSION[1] + 1}",
        ),
        (str((API_VERSION[0] - 1, 0)), "needs version 0.0"),
    ],
)
def test_api_versions_that_do_not_fit(point, requires, what):
    found = failure(lambda: load(point("bad", "", requires)))
    assert found.code == "WV0817"
    assert what in found.message


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("@hookimpl\ndef wave_register_pases(): ...", "wave_register_pases"),
        ("@hookimpl\ndef wave_register_passes(graph): ...", "graph"),
        ("def wave_register_passes(): ...", "not marked with @hookimpl"),
        ("@hookimpl(wrapper=True)\ndef wave_register_ops():\n  yield", "is a wrapper"),
    ],
)
def test_hooks_that_do_not_fit(point, source, what):
    found = failure(lambda: load(point("bad", source)))
    assert found.code == "WV0818"
    assert what in found.notes[0]


def test_a_misspelt_hook_is_recognised(point):
    source = "@hookimpl\ndef wave_register_pases(): ..."
    found = failure(lambda: load(point("bad", source)))
    assert found.help[0] == "did you mean `wave_register_passes`?"


def test_hook_that_raises(point):
    source = "@hookimpl\ndef wave_register_kernels():\n    yield 1 / 0"
    found = failure(lambda: load(point("bad", source)).kernels)
    assert found.code == "WV0819"
    assert "ZeroDivisionError" in found.message


def test_hook_around_passes_that_raises(point):
    source = "@hookimpl\ndef wave_before_pass():\n    1 / 0"
    observer = load(point("bad", source)).observer()
    found = failure(lambda: observer.before_pass(None, None, None))
    assert found.code == "WV0819"


@pytest.mark.parametrize("body", ["return [1]", "return ['a']"])
def test_results_of_the_wrong_type(point, body):
    source = f"@hookimpl\ndef wave_register_kernels():\n    {body}"
    found = failure(lambda: load(point("bad", source)).kernels)
    assert found.code == "WV0818"
    assert "no KernelSpec" in found.message
    assert found.notes == (
        "the hook returns an iterable of KernelSpec(name, target, summary)",
    )


def test_hook_that_returns_nothing(point):
    source = "@hookimpl\ndef wave_register_kernels(): ..."
    assert failure(lambda: load(point("bad", source)).kernels).code == "WV0819"


def test_malformed_declaration_names_the_plugin(point):
    source = "@hookimpl\ndef wave_register_passes():\n"
    source += "    yield PassSpec('Bad Name', Phase.INFER, 'm:C')"
    found = failure(lambda: load(point("bad", source)).passes)
    assert found.code == "WV0809"


def test_names_registered_twice_name_both_plugins(point):
    source = "@hookimpl\ndef wave_register_kernels():\n    yield KernelSpec('k', 'm:k')"
    points = point("bad", source), point("also", source, version="7")
    found = failure(lambda: load(*points).kernels)
    assert found.code == "WV0812"
    assert "by plugin `also` (wave-also 7) and by plugin `bad`" in found.message


def test_a_name_registered_twice_by_one_plugin(point):
    source = "@hookimpl\ndef wave_register_kernels():\n"
    source += "    return [KernelSpec('k', 'm:k')] * 2"
    found = failure(lambda: load(point("bad", source)).kernels)
    assert "`k` is registered twice by plugin" in found.message


def test_a_pass_of_core_declared_again(point):
    source = "@hookimpl\ndef wave_register_passes():\n"
    source += "    yield PassSpec('infer-types', Phase.INFER, 'm:InferTypes')"
    found = failure(lambda: load(point("bad", source)).passes)
    assert "pass `infer-types` is registered by plugin `bad`" in found.message
    assert "`core` (wave-core" in found.message


def test_two_plugins_of_one_name(point):
    with pytest.raises(PluginError, match="has the name of") as caught:
        load(point("bad"), point("bad", version="2"))
    assert caught.value.code == "WV0812"


def test_nobody_is_called_core(point):
    with pytest.raises(PluginError, match="has the name of Wave's own plugin"):
        load(point("core"))


@pytest.mark.parametrize("named", ["bad", "wave-bad", "all", "other, bad"])
def test_the_way_out_works(point, named):
    points = [point("bad", ImportError("x")), point("good")]
    host = PluginHost(points, disabled_names({"WAVE_DISABLE_PLUGINS": named}))
    assert "bad" in [info.name for info in host.disabled]
    assert "core" in [plugin.info.name for plugin in host.plugins]
    good = [plugin for plugin in host.plugins if plugin.info.name == "good"]
    assert bool(good) == (named != "all")


def test_core_cannot_be_disabled():
    with pytest.raises(UserError) as caught:
        PluginHost([], ["core"])
    assert caught.value.code == "WV0827"


def test_installed_plugins_are_found(point, monkeypatch):
    monkeypatch.setattr(
        "wave_core.plugin.discover.entry_points",
        lambda group: [point("b"), point("a")] if group == "wave_core.plugins" else [],
    )
    names = [plugin.info.name for plugin in PluginHost(disabled=()).plugins]
    assert names == ["core", "a", "b"]
