"""The order of passes is a function of the set of passes."""

from __future__ import annotations

from functools import partial

from hypothesis import given, settings, strategies as st

from wave_core.passes import InstalledPass, PassSpec, Phase
from wave_core.passes.phase import PHASES
from wave_core.passes.resolve import check_consumer, resolve
from wave_core.passes.selection import Selection
from wave_core.plugin.plan import PipelinePlan


def installed(name, phase=Phase.OPTIMIZE, provider="core", **fields):
    return InstalledPass(PassSpec(name, phase, "some.module:Class", **fields), provider)


optimize = partial(installed, phase=Phase.OPTIMIZE)


def order(*passes, disabled=()):
    return resolve(passes, disabled).names


def reasons(*passes):
    return {entry.name: entry.reason for entry in resolve(passes).passes}


def test_phases_come_first_then_names():
    passes = [installed(f"pass-{i}", phase) for i, phase in enumerate(PHASES[::-1])]
    assert order(*passes, installed("a")) == (
        *(f"pass-{i}" for i in (9, 8, 7, 6, 5)),
        *("a", "pass-4", "pass-3", "pass-2", "pass-1", "pass-0"),
    )


def test_after_and_before_beat_names():
    passes = (
        optimize("a", after=("c",)),
        optimize("b"),
        optimize("c"),
        optimize("d", before=("b",)),
    )
    assert order(*passes) == ("c", "a", "d", "b")
    assert reasons(*passes) == {
        "c": "by name",
        "a": "after c",
        "d": "before b",
        "b": "after d",
    }


def test_after_a_pass_of_an_earlier_phase_is_no_edge():
    early = installed("z", Phase.INFER)
    assert reasons(early, optimize("a", after=("z",)))["a"] == "by name"


def test_a_needed_fact_is_an_edge_within_a_phase():
    passes = (
        optimize("a", requires={"bounded"}),
        optimize("b", provides={"bounded"}),
    )
    assert order(*passes) == ("b", "a")
    assert reasons(*passes)["a"] == "needs bounded of b"


def test_a_pass_that_breaks_a_fact_runs_after_those_that_need_it():
    early = installed("early", Phase.INFER, provides={"typed"})
    breaks = optimize("a", clobbers={"typed"})
    passes = (early, breaks, optimize("b", requires={"typed"}))
    assert order(*passes) == ("early", "b", "a")
    assert reasons(*passes)["a"] == "breaks typed, which b needs"
    assert "typed" not in resolve(passes).facts


def test_a_pass_that_breaks_and_mends_a_fact_is_free_to_go_anywhere():
    early = installed("early", Phase.INFER, provides={"typed"})
    mends = optimize("a", clobbers={"typed"}, provides={"typed"})
    passes = (early, mends, optimize("b", requires={"typed"}))
    assert order(*passes) == ("early", "a", "b")
    assert resolve(passes).facts == {"typed": "a"}


def test_optional_references_may_dangle():
    assert order(optimize("a", after=("gone?",), before=("lost?",))) == ("a",)
    assert order(optimize("a", after=("b?",)), optimize("b")) == ("b", "a")


def test_a_replacer_stands_where_the_replaced_pass_is_meant():
    passes = (
        optimize("a", after=("slow",)),
        optimize("slow", provides={"bounded"}),
        optimize("z-fast", replaces=("slow",), provides={"bounded"}),
    )
    assert order(*passes) == ("z-fast", "a")
    assert resolve(passes).replaced == {"slow": "z-fast"}
    assert order(*passes, disabled=["z-fast"]) == ("slow", "a")


def test_replacements_chain():
    passes = (
        optimize("c"),
        optimize("b", replaces=("c",)),
        optimize("a", replaces=("b", "gone?")),
    )
    assert resolve(passes).replaced == {"b": "a", "c": "a"}
    assert order(*passes) == ("a",)


def test_references_to_a_disabled_pass_do_nothing():
    passes = (optimize("a", after=("b",)), optimize("b"))
    assert order(*passes, disabled=["b"]) == ("a",)


def test_a_consumer_is_content_with_what_holds_at_the_end():
    passes = (optimize("a", provides={"typed", "toy.ready"}),)
    check_consumer("executor `x`", {"toy.ready"}, resolve(passes), passes)


def test_the_table_shows_providers_reasons_and_idle_passes():
    passes = (
        optimize("a", provider="memory", after=("b",), summary="does a"),
        optimize("b"),
        optimize("c", replaces=("d",)),
        optimize("d"),
        optimize("e"),
    )
    rows = PipelinePlan(passes, Selection(), resolve(passes, ["e"])).rows()
    assert [(r.name, r.provider, r.reason, r.runs) for r in rows] == [
        ("b", "core", "by name", True),
        ("a", "memory", "after b", True),
        ("c", "core", "by name", True),
        ("d", "core", "replaced by c", False),
        ("e", "core", "disabled", False),
    ]


@st.composite
def pass_sets(draw):
    """Passes that can be ordered, whose names say nothing about the order."""
    count = draw(st.integers(2, 10))
    names = draw(st.permutations([f"p{i}" for i in range(count)]))
    phases = sorted(
        draw(st.lists(st.sampled_from(PHASES), min_size=count, max_size=count)),
        key=lambda phase: phase.ordinal,
    )
    subset = st.sets(st.integers(0, count - 1), max_size=3)
    passes = []
    for i, (name, phase) in enumerate(zip(names, phases, strict=True)):
        linked = draw(subset)
        fields = {
            "after": [names[j] for j in linked if j < i],
            "before": [names[j] for j in linked if j > i],
            "provides": {f"fact-{i}"},
            "requires": {f"fact-{j}" for j in draw(subset) if j < i},
        }
        passes.append(installed(name, phase, **fields))
    return passes


@settings(max_examples=300, deadline=None)
@given(passes=pass_sets(), data=st.data())
def test_the_order_does_not_depend_on_registration(passes, data):
    expected = resolve(passes)
    shuffled = data.draw(st.permutations(passes))
    assert resolve(shuffled) == expected


@settings(max_examples=100, deadline=None)
@given(passes=pass_sets())
def test_every_wish_is_granted(passes):
    names = order(*passes)
    place = {name: i for i, name in enumerate(names)}
    maker = {fact: p.name for p in passes for fact in p.spec.provides}
    for each in passes:
        earlier = [*each.spec.after, *(maker[fact] for fact in each.spec.requires)]
        assert all(place[other] < place[each.name] for other in earlier)
        assert all(place[other] > place[each.name] for other in each.spec.before)
