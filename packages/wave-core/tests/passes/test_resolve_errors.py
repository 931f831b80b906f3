"""What can be wrong with a set of passes."""

from __future__ import annotations

import pytest

from wave_core.diagnostics import PluginError, UserError
from wave_core.passes import Amendment, InstalledPass, PassSpec, Phase
from wave_core.passes.resolve import check_consumer, check_essential, resolve
from wave_core.passes.selection import Selection


def installed(name, phase=Phase.OPTIMIZE, provider="core", **fields):
    return InstalledPass(PassSpec(name, phase, "some.module:Class", **fields), provider)


def failure(*passes, disabled=()):
    with pytest.raises(PluginError) as caught:
        resolve(passes, disabled)
    return caught.value.diagnostics[0]


def test_cycle_names_passes_providers_and_reasons():
    found = failure(
        installed("c", after=("b",), provider="memory"),
        installed("a", after=("c",)),
        installed("b", requires={"x"}),
        installed("d"),
        installed("e", provides={"x"}, after=("a",)),
    )
    assert found.code == "WV0805"
    assert "`a` (plugin core)" in found.message
    assert "`c` (plugin memory)" in found.message
    assert "`d`" not in found.message
    assert found.notes == (
        "a -> e: after a",
        "e -> b: needs x of e",
        "b -> c: after b",
        "c -> a: after c",
    )


@pytest.mark.parametrize(
    ("relation", "phase"), [("after", Phase.SCHEDULE), ("before", Phase.INFER)]
)
def test_order_against_the_phases(relation, phase):
    wish = {relation: ("other",)}
    found = failure(installed("this", **wish), installed("other", phase))
    assert found.code == "WV0806"
    assert f"wants to run {relation} `other`" in found.message
    assert phase in found.message


def test_unknown_pass_hints_at_the_question_mark():
    found = failure(installed("a", after=("hoist-loop",)), installed("hoist-loops"))
    assert found.code == "WV0807"
    assert found.help[0] == "did you mean `hoist-loops`?"
    assert 'write "hoist-loop?"' in found.help[1]


def test_unknown_replaced_pass():
    assert failure(installed("a", replaces=("b",))).code == "WV0807"


def test_fact_that_nobody_provides():
    found = failure(installed("a", requires={"scheduled"}))
    assert found.code == "WV0808"
    assert found.notes == ("no installed pass provides `scheduled`",)
    assert "install a plugin" in found.help[0]


def test_fact_that_comes_too_late():
    late = installed("late", Phase.SCHEDULE, provides={"x"}, provider="sched")
    found = failure(installed("a", requires={"x"}), late)
    assert found.notes == ("pass `late` (plugin sched) provides it in phase schedule",)


def test_fact_of_a_disabled_pass():
    early = installed("early", Phase.INFER, provides={"x"})
    found = failure(installed("a", requires={"x"}), early, disabled=["early"])
    assert found.help == ("enable pass `early`",)


def test_fact_that_was_broken_on_the_way():
    found = failure(
        installed("early", Phase.INFER, provides={"x"}),
        installed("breaker", Phase.PLACE, clobbers={"x"}, provider="bad"),
        installed("a", requires={"x"}),
    )
    assert found.notes == ("it held until pass `breaker` (plugin bad) broke it",)


@pytest.mark.parametrize("phase", [Phase.OPTIMIZE, Phase.SCHEDULE])
def test_fact_provided_twice(phase):
    found = failure(
        installed("a", provides={"x"}),
        installed("b", phase, provides={"x"}, provider="memory"),
    )
    assert found.code == "WV0810"
    assert "`a` (plugin core) and by pass `b` (plugin memory)" in found.message


def test_two_replacers():
    found = failure(
        installed("a", replaces=("old",), provider="one"),
        installed("b", replaces=("old",), provider="two"),
        installed("old"),
    )
    assert found.code == "WV0811"
    assert "`a` (plugin one) and by `b` (plugin two)" in found.message


@pytest.mark.timeout(10)
@pytest.mark.parametrize("entry", ["", "a"])
def test_replacing_in_circles(entry):
    passes = [
        installed("b", replaces=("c",)),
        installed("c", replaces=("b", *filter(None, [entry]))),
        *(installed(entry) for _ in filter(None, [entry])),
    ]
    found = failure(*passes)
    assert found.code == "WV0811"
    assert "replace each other" in found.message


def test_pass_declared_twice():
    found = failure(installed("a", provider="one"), installed("a", provider="two"))
    assert found.code == "WV0812"
    assert "plugin one and by plugin two" in found.message


@pytest.mark.parametrize(
    ("passes", "disabled", "help_"),
    [
        ((), (), "install a plugin that has a pass providing `scheduled`"),
        (("reorder",), ("reorder",), "enable pass `reorder`"),
    ],
)
def test_consumer_without_its_fact(passes, disabled, help_):
    declared = [installed(name, provides={"scheduled"}) for name in passes]
    pipeline = resolve(declared, disabled)
    with pytest.raises(UserError) as caught:
        check_consumer("backend `amdgpu`", {"scheduled"}, pipeline, declared)
    assert caught.value.code == "WV0813"
    assert "backend `amdgpu` needs `scheduled`" in str(caught.value)
    assert caught.value.diagnostics[0].help == (help_,)


def test_what_a_consumer_needs_has_to_hold_where_it_takes_over():
    declared = [
        installed("a", Phase.INFER, provides={"typed"}),
        installed("b", Phase.EXPAND, provides={"expanded"}, clobbers={"typed"}),
    ]
    pipeline = resolve(declared)
    check_consumer("executor `x`", {"typed"}, pipeline, declared, "infer")
    check_consumer("executor `x`", {"expanded"}, pipeline, declared)
    for fact, stop, where in (
        ("expanded", "infer", "after `infer`, where its pipeline ends"),
        ("expanded", "a", "after `a`, where its pipeline ends"),
        ("typed", None, "at the end of the pipeline"),
    ):
        with pytest.raises(UserError, match=f"`{fact}`, .* {where}") as caught:
            check_consumer("executor `x`", {fact}, pipeline, declared, stop)
        assert caught.value.code == "WV0813"


def essential(disable, *more):
    passes = (installed("need", essential=True, summary="what it does"), *more)
    amendments = [("preset p", Amendment(disable=disable, reason="fast"))]
    check_essential(passes, Selection.of(passes, amendments))


def test_an_essential_pass_is_not_disabled():
    with pytest.raises(UserError, match="valid kernels need") as caught:
        essential(("need",))
    found = caught.value.diagnostics[0]
    assert found.code == "WV0828"
    assert found.message.startswith(
        "preset p (fast) disables pass `need` (plugin core)"
    )
    assert found.notes == ("what it does: what it does",)
    assert found.help[0] == "leave it enabled"


def test_an_essential_pass_may_be_replaced():
    other = installed("instead", provider="memory", replaces=("need",))
    essential((), other)
    essential(("need",), other)
    essential(("instead",), other)
    with pytest.raises(UserError, match="`need`"):
        essential(("need", "instead"), other)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"name": "NotKebab"}, "kebab-case"),
        ({"target": "module.Class"}, "module:Class"),
        ({"phase": "polish"}, "no phase `polish`"),
        ({"essential": True, "enabled": False}, "essential and not enabled"),
        ({"after": "other"}, "`after` is a string"),
        ({"requires": "typed"}, "`requires` is a string"),
    ],
)
def test_malformed_declaration(fields, what):
    good = {"name": "a", "phase": Phase.INFER, "target": "m:C"}
    with pytest.raises(PluginError, match=what) as caught:
        PassSpec(**good | fields)
    assert caught.value.code == "WV0809"


def test_collections_of_a_declaration_are_frozen():
    spec = PassSpec("a", "infer", "m:C", after=["b"], requires={"typed"})
    assert (spec.phase, spec.after) == (Phase.INFER, ("b",))
    assert hash(spec) == hash(PassSpec("a", "infer", "m:C", ("b",), (), {"typed"}))
