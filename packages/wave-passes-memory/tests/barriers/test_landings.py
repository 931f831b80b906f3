"""Waits for copies to LDS: late, counted, and no weaker than they may be."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.executors import LaunchRequest
from wave_core.ir import parse_graph, set_attributes, verify
from wave_core.passes import PassContext
from wave_core.plugin import PluginHost
from wave_core.targets import generic_target
from wave_passes_memory.barriers.hazards import Order, find_hazards, find_landings
from wave_passes_memory.barriers.landings import CountCopyWaits
from wave_passes_memory.barriers.timeline import Timeline

HEAD = """
kernel "k" target "generic" {{
  bind M = 128
  constraint #HardwareConstraint(threads_per_wave = 64)
  constraint #WorkgroupConstraint(dim = M, tile_size = `128`, workgroup_dim = 0)
  constraint #WaveConstraint(dim = M, tile_size = `64`)
  %a = argument parameter "a" : mem<M, global, f32>
  %b = argument parameter "b" : mem<M, global, f32>
  %t = allocate {{shape = [M], distributed_shape = [`384`], dtype = !f32{more}}} :
      mem<M, shared, f32, physical[384]>
"""
PLACE = "[64*$WV0 + $LANE]"
WAIT = "shared_memory_barrier {wait_async_ops = true}"
BARRIER = "shared_memory_barrier"


def copy(slot, source="a", buffer="t"):
    access = f"@access(coordinates = {PLACE}, registers = 1)"
    landing = f"@landing(coordinates = [{slot}*128 + 64*$WV0 + $LANE], registers = 1)"
    return f"gather_to_lds %{source}, %{buffer}, [] {access} {landing}"


def use(slot, name, buffer="t", memory="b"):
    """Read what the other wave copied."""
    place = f"[{slot}*128 + 127 - 64*$WV0 - $LANE]"
    return (
        f"%{name} = read %{buffer}, [] : reg<M, f32>"
        f" @access(coordinates = {place}, registers = 1)\n"
        f"write %{name}, %{memory}, []"
        f" @access(coordinates = {PLACE}, registers = 1)"
    )


def program(*lines, more=""):
    text = HEAD.format(more=more) + "\n".join(lines) + "\nyield []\n}\n"
    graph = parse_graph(text)
    verify(graph, target=generic_target(), locations=False)
    return graph


def loop(*lines):
    """Four iterations."""
    body = "\n".join(lines)
    return (
        "%l = iterate [], [%a, %b, %t]"
        " {axis = K, induction = $IV, count = `4`} body {\n"
        '%m = argument capture "a" : mem<M, global, f32>\n'
        '%n = argument capture "b" : mem<M, global, f32>\n'
        '%u = argument capture "t" : mem<M, shared, f32, physical[384]>\n'
        f"{body}\nyield []\n}}"
    )


def counted(graph):
    """What barriers wait for: all but so many groups, or nothing."""
    CountCopyWaits().apply(graph, PassContext(generic_target()))
    verify(graph, target=generic_target(), locations=False)
    return [op.groups_left if op.wait_async_ops else None for op in barriers(graph)]


def barriers(graph):
    return [op for op in graph.walk() if op.op_name == BARRIER]


def reports(graph):
    arrays = [np.arange(128, dtype=np.float32), np.zeros(128, np.float32)]
    request = LaunchRequest.of(graph, generic_target(), arrays)
    rows = PluginHost().load_executor("sim").launch(request).reports
    return {row.code for row in rows}


AHEAD = (
    *(copy("0"), BARRIER, copy("1"), BARRIER),
    loop(
        WAIT,
        copy("(($IV + 2) % 3)", "m", "u"),
        use("($IV % 3)", "x", "u", "n"),
    ),
)
"""Two iterations ahead in three parts of a buffer."""

STRAIGHT = (copy("0"), BARRIER, copy("1"), WAIT, use("0", "x"), WAIT, use("1", "y"))


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (STRAIGHT, [None, 1, 1]),
        ((copy("0"), WAIT, BARRIER, use("0", "x")), [None, 1]),
        ((copy("0"), copy("1"), WAIT, use("0", "x"), use("1", "y")), [0]),
        (AHEAD, [None, 0, 1]),
    ],
)
def test_barriers_leave_what_is_needed_later(lines, wanted):
    graph = program(*lines)
    assert counted(graph) == wanted
    assert not reports(graph)


@pytest.mark.parametrize(
    ("lines", "position"), [(STRAIGHT, 1), (STRAIGHT, 2), (AHEAD, 2)]
)
def test_one_group_more_is_a_race(lines, position):
    graph = program(*lines)
    left = counted(graph)[position]
    set_attributes(barriers(graph)[position], groups_left=left + 1)
    assert reports(graph) == {"WV0901"}


def test_a_loop_that_starts_with_its_barrier_gets_one_of_its_own_before():
    lines = (copy("0"), copy("1"), AHEAD[-1])
    graph = program(*lines)
    assert counted(graph) == [0, 1]
    assert not reports(graph)


def test_a_loop_that_ends_with_its_barrier_gets_one_of_its_own_behind():
    body = (copy("(($IV + 2) % 3)", "m", "u"), use("($IV % 3)", "x", "u", "n"))
    behind = (use("1", "y"), use("2", "z"))
    graph = program(copy("0"), copy("1"), WAIT, loop(*body, WAIT), *behind)
    assert counted(graph) == [0, 1, 1]
    assert not reports(graph)


def test_a_second_run_changes_nothing():
    graph = program(*AHEAD)
    counted(graph)
    assert not CountCopyWaits().apply(graph, PassContext(generic_target()))


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        (STRAIGHT, ", guarded = false"),
        ((*STRAIGHT, use("1", "z", memory="a")), ""),
        ((copy("0"), "memory_counter_wait {load = 0}", "workgroup_barrier",
          use("0", "x"), WAIT), ""),
    ],
)  # fmt: skip
def test_what_something_else_orders_stays(lines, more):
    graph = program(*lines, more=more)
    before = [(op.wait_async_ops, op.groups_left) for op in barriers(graph)]
    assert not CountCopyWaits().apply(graph, PassContext(generic_target()))
    assert before == [(op.wait_async_ops, op.groups_left) for op in barriers(graph)]


def store(slot, buffer="t"):
    """Each wave overwrites what the other one reads."""
    place = f"[{slot}*128 + 64*$WV0 + $LANE]"
    return (
        f"%s{slot} = read %a, [] : reg<M, f32>"
        f" @access(coordinates = {PLACE}, registers = 1)\n"
        f"write %s{slot}, %{buffer}, []"
        f" @access(coordinates = {place}, registers = 1)"
    )


@pytest.mark.parametrize(
    "lines",
    [
        (copy(0), BARRIER, use(0, "x"), BARRIER, copy(0), BARRIER, use(0, "y")),
        (copy(0), BARRIER, store(0), BARRIER, use(0, "x")),
        (copy(0), loop(use("$IV % 2", "x", "u", "n"), copy("($IV + 1) % 2", "m", "u"))),
        (store(0), loop(copy("$IV % 3", "m", "u"), use("$IV % 2", "x", "u", "n"))),
    ],
)
def test_hazards_of_copies_are_found_among_all(lines):
    graph = program(*lines)
    accesses = shared_accesses(graph)
    known = PassContext(generic_target()).dependences(graph)
    timeline = Timeline(graph, accesses, known)
    found, among = (
        [(h.source, h.sink, h.points, h.carrier, h.far) for h in each]
        for each in (
            find_landings(accesses, known, timeline),
            [
                h
                for h in find_hazards(accesses, known, timeline)
                if h.order is Order.LANDED
            ],
        )
    )
    assert found
    assert found == among
