"""What a schedule function leaves behind, and what it is told."""

from __future__ import annotations

import pickle  # noqa: TID251 - that it can be is the test

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.passes.manual import Ref

M = tkl.sym.M


def steps(write):
    """The steps of a schedule: name and arguments."""
    return [(step.name, step.arguments) for step in tkw.wave_schedule(write).steps]


def refused(write):
    """The diagnostic of a function that is no schedule."""
    with pytest.raises(UserError) as caught:
        tkw.wave_schedule()(write)
    (found,) = caught.value.diagnostics
    return found.code, found.location.source_line(found.location.line).strip()


def test_nodes_are_references_to_steps():
    def schedule():
        reads = tkw.get_node_by_tag_and_type("a", tkw.Read)
        tkw.partition_by_address_space(reads, tkw.GLOBAL_ADDRESS_SPACE)
        tkw.partition_by_dim(reads, M, 2)
        tkw.filter_nodes(reads[0] + reads[1:], node_type=tkw.MMA)

    assert steps(schedule) == [
        ("tagged", ("a", "read", None)),
        ("in_space", (Ref(0), "global", 0)),
        ("in_space", (Ref(0), "global", 1)),
        ("along_dim", (Ref(0), "M", 2, 0)),
        ("along_dim", (Ref(0), "M", 2, 1)),
        ("picked", (Ref(0), 0)),
        ("picked", (Ref(0), (1, None, None))),
        ("joined", ((Ref(5), Ref(6)),)),
        ("filtered", (Ref(7), None, "mma")),
    ]


def test_a_pipeline_follows_its_stages():
    def schedule():
        loop = tkw.get_node_by_tag("loop")
        with tkw.pipeline(loop, multi_buffer_count=3) as p:
            p.set_stage([(loop,), ()])
            p.set_stage([[], [loop, [loop]]])
            p.unroll_factor = 2
        tkw.stagger(p.KERNEL)

    assert steps(schedule) == [
        ("tagged", ("loop", None, None)),
        ("stage", ((Ref(0),), ())),
        ("stage", ((), (Ref(0), Ref(0)))),
        ("pipeline", (Ref(0), (Ref(1), Ref(2)), False, 3)),
        ("part", (Ref(3), "kernel")),
        ("unroll", (Ref(4), 2)),
        ("part", (Ref(3), "kernel")),
        ("stagger", (Ref(6),)),
    ]


def test_ops_to_insert_are_plain():
    def schedule():
        nodes = tkw.get_node_by_tag("a")
        hint = tkw.SchedulingGroupBarrier({tkw.Operation.MMA: 2}, 1)
        tkw.cluster([nodes, [tkw.SetWavePrio(1)], hint])
        tkw.insert_after(nodes, tkw.SchedulingBarrier([tkw.Operation.VALU]))

    prio = ("op", "set_wave_prio", (("priority", 1),))
    groups = (("instructions", (("mma", 2),)), ("sync_id", 1))
    barrier = ("op", "scheduling_barrier", (("operations", ("valu",)),))
    assert steps(schedule)[1:] == [
        ("cluster", (Ref(0), prio, ("op", "scheduling_group_barrier", groups))),
        ("insert", ("after", Ref(0), barrier)),
    ]


@tkw.wave_schedule.wave_schedule()
def first():
    """Finds one tag."""
    tkw.get_node_by_tag("a")


@tkw.wave_schedule
def same():
    """Finds the same one."""
    tkw.get_node_by_tag("a")


@tkw.wave_schedule
def other():
    """Finds another one."""
    tkw.get_node_by_tag("b")


def test_schedules_are_equal_by_what_they_ask_for():
    assert first == same
    assert hash(first) == hash(same)
    assert first.digest() == same.digest()
    assert first != other
    assert first.digest() != other.digest()


def test_schedules_can_be_pickled_with_their_lines():
    copy = pickle.loads(pickle.dumps(first))
    assert copy == first
    assert copy.steps[0].location.line == first.steps[0].location.line
    assert copy.steps[0].location.file == __file__


def test_a_name_outside_of_a_schedule():
    with pytest.raises(UserError, match="outside a schedule") as caught:
        tkw.get_node_by_tag("a")
    assert caught.value.code == "WV0511"


def inserted():
    tkw.insert_after(tkw.get_node_by_tag("a"), tkw.Read)


def out_of_range():
    tkw.cluster([tkw.SetWavePrio(9)])


def untyped():
    tkw.get_node_by_tag_and_type("a", int)


def indexed():
    tkw.get_node_by_tag("a")["b"]


def below():
    tkw.unroll(tkw.get_node_by_tag("a"), 0)


def unclustered():
    tkw.reorder_graph(tkw.get_node_by_tag("a"), [tkw.get_node_by_tag("a")])


@pytest.mark.parametrize(
    ("write", "code", "line"),
    [
        (
            inserted,
            "WV0511",
            'tkw.insert_after(tkw.get_node_by_tag("a"), tkw.Read)',
        ),
        (out_of_range, "WV0219", "tkw.cluster([tkw.SetWavePrio(9)])"),
        (untyped, "WV0511", 'tkw.get_node_by_tag_and_type("a", int)'),
        (indexed, "WV0511", 'tkw.get_node_by_tag("a")["b"]'),
        (below, "WV0511", 'tkw.unroll(tkw.get_node_by_tag("a"), 0)'),
        (
            unclustered,
            "WV0511",
            'tkw.reorder_graph(tkw.get_node_by_tag("a"), [tkw.get_node_by_tag("a")])',
        ),
    ],
)
def test_what_cannot_be_recorded(write, code, line):
    assert refused(write) == (code, line)


def counted():
    return len(tkw.get_node_by_tag("a"))


def walked():
    return list(tkw.get_node_by_tag("a"))


def asked():
    return bool(tkw.get_node_by_tag("a"))


@pytest.mark.parametrize("write", [counted, walked, asked])
def test_a_schedule_that_counts_nodes_waits_for_a_kernel(write):
    schedule = tkw.wave_schedule(write)
    assert schedule.steps == ()
    assert schedule == tkw.wave_schedule(write)
    assert schedule != tkw.wave_schedule(lambda: len(tkw.get_node_by_tag("a")))
    assert schedule.digest() != schedule.digest()


@tkw.wave_schedule
def counting():
    """Counts nodes, so that it is pickled by its name."""
    len(tkw.get_node_by_tag("a"))


def test_schedules_that_count_are_pickled_by_name():
    copy = pickle.loads(pickle.dumps(counting))
    assert copy == counting
    assert copy.replay is not None


def test_a_schedule_that_counts_and_has_no_name_is_not_pickled():
    with pytest.raises(UserError, match="cannot be pickled") as caught:
        pickle.dumps(tkw.wave_schedule(counted))
    assert caught.value.code == "WV0117"


def never_opened():
    tkw.pipeline(tkw.get_node_by_tag("a"))


def without_stages():
    with tkw.pipeline(tkw.get_node_by_tag("a")):
        pass


def too_early():
    with tkw.pipeline(tkw.get_node_by_tag("a")) as p:
        p.set_stage([()])
        tkw.stagger(p.KERNEL)


def too_late():
    with tkw.pipeline(tkw.get_node_by_tag("a")) as p:
        p.set_stage([()])
    p.set_stage([()])


@pytest.mark.parametrize("write", [never_opened, without_stages, too_early, too_late])
def test_pipelines_that_are_not_closed_in_order(write):
    code, line = refused(write)
    assert code == "WV0513"
    assert "pipeline" in line or "p." in line


def test_a_schedule_takes_no_arguments():
    with pytest.raises(UserError, match="a function of no arguments, not `<lambda>`"):
        tkw.wave_schedule(lambda size: size)


def test_the_function_is_left_when_it_fails():
    def broken():
        raise ValueError

    with pytest.raises(ValueError):
        tkw.wave_schedule(broken)
    with pytest.raises(UserError, match="outside a schedule"):
        tkw.get_node_by_tag("a")
