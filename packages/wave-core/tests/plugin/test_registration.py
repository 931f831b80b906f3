"""What hooks register, hook by hook."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from wave_core.constraints import Constraint
from wave_core.diagnostics import PluginError, UserError
from wave_core.passes import PassContext, PassSpec, Phase
from wave_core.passes.resolve import resolve
from wave_core.passes.run import PipelineRunner
from wave_core.plugin import PipelineRequest


def hook(name, *results, arguments=""):
    body = "\n".join(f"    yield {result}" for result in results)
    return f"@hookimpl\ndef {name}({arguments}):\n{body or '    yield from ()'}\n"


@pytest.fixture
def module(monkeypatch):
    """A module that declarations can name."""
    made = SimpleNamespace(__name__="wave_test_made")
    monkeypatch.setitem(sys.modules, "wave_test_made", made)
    return made


class FakeOp:
    op_name = "toy"


class OtherOp:
    op_name = "other"


def test_wave_register_ops(host, module):
    module.ToyOp, module.both = FakeOp, lambda: (OtherOp,)
    one = hook("wave_register_ops", 'OpSet("wave_test_made:ToyOp")')
    two = hook("wave_register_ops", 'OpSet("wave_test_made:both")')
    found = host(one=one, two=two).op_classes
    assert (found["toy"], found["other"]) == (FakeOp, OtherOp)
    assert {"read", "write", "mma"} <= found.keys()


def test_wave_register_module_passes(host):
    spec = 'ModulePassSpec("{}", "{}", "wave_toy:{}", {{"most": 2}})'
    rows = (("b", "amdgpu", "b"), ("a", "amdgpu", "a"), ("c", "other", "c"))
    results = [spec.format(*row) for row in rows]
    plugins = host(one=hook("wave_register_module_passes", *results))
    found = plugins.module_passes("amdgpu")
    assert [(each.name, each.target) for each in found] == [
        ("a", "wave_toy:a"),
        ("b", "wave_toy:b"),
    ]
    assert found[0].plugin == "`one` (wave-one 1.2)"
    assert found[0].options == {"most": 2}
    assert plugins.lowering_table("amdgpu").module_passes == found


def test_options_of_module_passes_are_plain_values(host):
    result = 'ModulePassSpec("a", "amdgpu", "wave_toy:a", {"most": object()})'
    plugins = host(one=hook("wave_register_module_passes", result))
    with pytest.raises(PluginError, match="no JSON values") as caught:
        plugins.module_passes("amdgpu")
    assert caught.value.code == "WV0818"


def test_two_ops_of_one_name(host, module):
    module.A, module.B = FakeOp, type("Other", (), {"op_name": "toy"})
    one = hook("wave_register_ops", 'OpSet("wave_test_made:A")')
    two = hook("wave_register_ops", 'OpSet("wave_test_made:B")')
    with pytest.raises(PluginError) as caught:
        _ = host(one=one, two=two).op_classes
    assert caught.value.code == "WV0812"
    assert "op `toy` is registered by plugin `one` (wave-one 1.2)" in str(caught.value)


def test_op_sets_hold_ops(host, module):
    module.A = "no op"
    with pytest.raises(PluginError, match="'no op', which is no op class"):
        _ = host(a=hook("wave_register_ops", 'OpSet("wave_test_made:A")')).op_classes


def test_wave_register_passes(host):
    spec = 'PassSpec("z-pass", Phase.INFER, "m:ZPass", summary="does z")'
    plugins = host(memory=hook("wave_register_passes", spec))
    (found,) = [each for each in plugins.passes if each.provider == "memory"]
    assert found.spec == PassSpec("z-pass", Phase.INFER, "m:ZPass", summary="does z")
    assert any(each.provider == "core" for each in plugins.passes)


def test_wave_register_targets(host, module):
    module.toy, module.make = SimpleNamespace(name="toy"), lambda: "made"
    specs = (
        'TargetSpec("toy", "wave_test_made:toy")',
        'TargetSpec("made", "wave_test_made:make")',
    )
    plugins = host(toy=hook("wave_register_targets", *specs))
    assert plugins.load_target("toy") is module.toy
    assert plugins.load_target("made") == "made"
    assert list(plugins.targets) == ["generic", "generic128", "made", "toy"]


def test_an_unknown_target_lists_the_known(host):
    with pytest.raises(UserError, match="there is no target `genric`") as caught:
        host().load_target("genric")
    assert caught.value.code == "WV0701"
    helps = caught.value.diagnostics[0].help
    assert helps[:2] == (
        "did you mean `generic`?",
        "installed: `generic`, `generic128`",
    )


def test_wave_register_lowerings(host, monkeypatch):
    monkeypatch.setitem(sys.modules, "wave_test_made", lowering_module())
    spec = 'LoweringSpec("sim", "wave_test_made", {"topk": "no time"})'
    plugins = host(toy=hook("wave_register_lowerings", spec))
    table = plugins.lowering_table("sim")
    assert table.unsupported == {"topk": "no time"}
    assert [each.name for each in table.rules[FakeOp]] == ["wave_test_made.rule"]
    assert plugins.lowering_table("amdgpu").rules == {}


def lowering_module():
    made = ModuleType("wave_test_made")
    source = "from wave_core.plugin import lowers\n@lowers(Op)\n"
    source += "def rule(x):\n    return f'lowered {x}'\n"
    vars(made)["Op"] = FakeOp
    exec(source, vars(made))
    return made


def test_wave_register_constraints(host, module):
    module.Whole = type("Whole", (Constraint,), {})
    spec = 'ConstraintSet("wave_test_made:Whole")'
    found = host(toy=hook("wave_register_constraints", spec)).constraint_classes
    assert [(cls.__name__, info.name) for cls, info in found.items()] == [
        ("Whole", "toy")
    ]


def test_a_constraint_class_registered_twice(host, module):
    module.Whole = module.Again = type("Whole", (Constraint,), {})
    one = hook("wave_register_constraints", 'ConstraintSet("wave_test_made:Whole")')
    two = hook("wave_register_constraints", 'ConstraintSet("wave_test_made:Again")')
    with pytest.raises(PluginError, match="constraint `Whole` is registered by") as got:
        _ = host(one=one, two=two).constraint_classes
    assert got.value.code == "WV0812"


def test_wave_register_tile_rules(host, monkeypatch):
    source = "from wave_core.plugin.tiles import supplies\n@supplies(Op)\n"
    source += "def rule(op, solver):\n    return 'a layout'\n"
    made = ModuleType("wave_test_made")
    vars(made)["Op"] = FakeOp
    exec(source, vars(made))
    monkeypatch.setitem(sys.modules, "wave_test_made", made)
    plugins = host(toy=hook("wave_register_tile_rules", 'TileRules("wave_test_made")'))
    (rule,) = plugins.pass_context(target=None).tile_rules
    assert (rule.role, rule.name) == ("layout", "wave_test_made.rule")


def test_wave_register_executors(host, module):
    module.Toy = type("Toy", (), {"launch": lambda self, request: [request]})
    spec = 'ExecutorSpec("toy", "wave_test_made:Toy", requires={Fact.EXPANDED})'
    plugins = host(toy=hook("wave_register_executors", spec))
    assert plugins.load_executor("toy").launch(1) == [1]
    assert plugins.executors["toy"].value.requires == frozenset({"expanded"})


def test_wave_register_backends(host, module):
    module.Toy = type("Toy", (), {"versions": lambda self: {"toy": "1"}})
    spec = 'BackendSpec("toy", "wave_test_made:Toy", targets={"toy"}, forms=("asm",))'
    plugins = host(toy=hook("wave_register_backends", spec))
    assert plugins.load_backend("toy").versions() == {"toy": "1"}
    assert plugins.load_backend("toy") is plugins.load_backend("toy")
    assert plugins.backends["toy"].value.targets == frozenset({"toy"})


def test_wave_register_kernels(host, module):
    module.saxpy = object()
    spec = 'KernelSpec("saxpy", "wave_test_made:saxpy")'
    plugins = host(toy=hook("wave_register_kernels", spec))
    assert plugins.load_kernel("saxpy") is module.saxpy


def test_wave_register_commands(host, module):
    module.app = object()
    spec = 'CommandSpec("tune", "wave_test_made:app", "search")'
    plugins = host(toy=hook("wave_register_commands", spec))
    assert plugins.load_command("tune") is module.app


def test_wave_register_views(host, module):
    module.count = object()
    spec = 'ViewSpec("bytes", "wave_test_made:count", "hsaco", "size")'
    plugins = host(toy=hook("wave_register_views", spec))
    assert plugins.load_view("bytes") is module.count
    assert plugins.tables()["views"]["bytes"].value.form == "hsaco"


def test_wave_register_displays(host, module):
    module.drawn = object()
    spec = 'DisplaySpec("toy", "wave_test_made:drawn", "a picture")'
    plugins = host(toy=hook("wave_register_displays", spec))
    assert plugins.load_display("toy") is module.drawn


def test_wave_register_strategies(host, module):
    module.slow = object()
    spec = 'StrategySpec("slow", "wave_test_made:slow", "one op a cycle")'
    plugins = host(toy=hook("wave_register_strategies", spec))
    assert plugins.strategy_loaders["slow"]() is module.slow


def test_wave_register_choosers(host, module):
    module.choose = list
    spec = 'ChooserSpec("toy", "wave_test_made:choose", "small tiles first")'
    plugins = host(toy=hook("wave_register_choosers", spec))
    assert plugins.load_chooser("toy") is list


CODES = """
from wave_core.diagnostics import Code

@hookimpl
def wave_register_diagnostics():
    yield Code({!r}, "too many toys", "Cause: x.")
"""


def test_wave_register_diagnostics(host):
    plugins = host(toy=CODES.format("TOY001"))
    assert plugins.diagnostics["TOY001"].value.title == "too many toys"
    assert plugins.diagnostics["WV0203"].provider.name == "core"


CLASHES = [
    ({"toy": "TOY001", "zoo": "TOY001"}, "WV0812", "is registered by plugin `toy`"),
    ({"toy": "WV0203"}, "WV0812", "is registered by plugin `core`"),
    ({"toy": "WV0777"}, "WV0818", "`WV0777` of plugin `toy` (wave-toy 1.2) does not"),
    ({"toy": "toy-1"}, "WV0818", "`toy-1` of plugin `toy` (wave-toy 1.2) does not fit"),
]


@pytest.mark.parametrize(("sources", "code", "says"), CLASHES)
def test_codes_that_clash(host, sources, code, says):
    plugins = host(**{name: CODES.format(code) for name, code in sources.items()})
    with pytest.raises(PluginError) as caught:
        plugins.diagnostics  # noqa: B018 - a property that raises
    assert caught.value.code == code
    assert says in str(caught.value)
    assert f"by plugin `{max(sources)}` (wave-" in str(caught.value) or code != "WV0812"


def test_wave_register_presets(host):
    spec = 'Preset("fast", "runs fast")'
    plugins = host(toy=hook("wave_register_presets", spec))
    assert plugins.presets["fast"].value.summary == "runs fast"
    assert plugins.presets["naive"].provider.name == "core"


def test_wave_register_options(host):
    spec = 'OptionSpec("bits", int, 128, "wave-toy", "widest load")'
    plugins = host(toy=hook("wave_register_options", spec))
    assert plugins.options.check({"bits": 64}) == {"bits": 64}


def test_wave_amend_pipeline(host):
    source = hook(
        "wave_amend_pipeline",
        "Amendment(disable=request.passes[:1], reason=request.kernel)",
        arguments="request",
    )
    request = PipelineRequest("generic", "gemm", passes=("a", "b"))
    ((origin, amendment),) = host(toy=source).amend_pipeline(request)
    assert (origin, str(amendment)) == ("plugin toy", "disables a (gemm)")


def recording(name, arguments):
    return f"@hookimpl\ndef {name}({arguments}):\n    context.count({name!r})\n"


@pytest.fixture
def watched(host):
    """The counts of a pipeline of one pass that runs, watched by a plugin."""

    def run(source, cls="wave_core.passes:Pass"):
        pipeline = resolve([])
        runner = PipelineRunner(pipeline, observers=[host(toy=source).observer()])
        observer, context = runner.observers[0], PassContext(target=None)
        observer.before_pass(None, None, context)
        observer.after_pass(None, None, context, changed=True)
        return context.statistics

    return run


def test_wave_before_pass(watched):
    source = recording("wave_before_pass", "step, graph, context")
    assert watched(source) == {"wave_before_pass": 1}


def test_wave_after_pass(watched):
    source = recording("wave_after_pass", "context, changed")
    assert watched(source) == {"wave_after_pass": 1}


def test_hooks_are_called_once_a_session(host):
    source = "calls = []\n@hookimpl\ndef wave_register_kernels():\n"
    source += "    calls.append(1)\n    return [KernelSpec('k', 'm:k')]\n"
    plugins = host(toy=source)
    assert plugins.kernels is plugins.kernels
    (toy,) = [p.module for p in plugins.plugins if p.info.name == "toy"]
    assert toy.calls == [1]


def test_the_tables_of_plugins(host):
    plugins = host("b", a=hook("wave_register_kernels", 'KernelSpec("k", "m:k")'), b="")
    core, a = (each.info for each in plugins.plugins)
    assert (core.name, core.distribution) == ("core", "wave-core")
    assert (a.name, a.distribution, a.version) == ("a", "wave-a", "1.2")
    assert [info.name for info in plugins.disabled] == ["b"]
    tables = plugins.tables()
    assert tables["targets"]["generic"].provider == core
    assert tables["kernels"]["k"].provider == a
