"""Waits by their numbers, without encoding anything."""

from __future__ import annotations

import pytest

from wave_backend_asm.waits.counters import waits
from wave_backend_asm.waits.inserted import inserted
from wave_backend_asm.waits.issued import Issued, Run
from wave_isa_amdgcn.registers import SCALAR
from wave_isa_amdgcn.step import Step


def load(row, counter="vm", **more):
    unit = "vmem" if counter == "vm" else "lds"
    return Issued(Step("LOAD", unit, 0, 1 << row), counter, 1 << row, **more)


def use(*rows, **more):
    return Issued(Step("V_ADD_U32", "valu", sum(1 << r for r in rows), 0), **more)


def straight(*code):
    return waits([Run(code)])[0]


def test_the_latest_loads_may_go_on():
    found = straight(load(1), load(2), load(3), use(1), use(3), use(2))
    assert found == [{}, {}, {}, {"vm": 2}, {"vm": 0}, {}]


def test_counters_are_waited_for_at_once():
    found = straight(load(1), load(2, "lgkm"), use(1, 2))
    assert found[2] == {"vm": 0, "lgkm": 0}


def test_scalar_loads_come_in_any_order():
    scalar = Issued(
        Step("S_LOAD_DWORD", "smem", 0, 1 << SCALAR), "lgkm", 1 << SCALAR, scalar=True
    )
    assert straight(load(1, "lgkm"), scalar, use(1))[2] == {"lgkm": 0}
    assert straight(load(1, "lgkm"), load(2, "lgkm"), use(1))[2] == {"lgkm": 1}


def test_a_loop_keeps_loads_of_the_last_turn_in_flight():
    ahead = Run((load(1), load(2)), (1,))
    turn = Run((use(1), load(1), use(2), load(2)), (1, 2))
    found = waits([ahead, turn, Run((use(1),))])
    assert found[1] == [{"vm": 1}, {}, {"vm": 1}, {}]
    assert found[2] == [{"vm": 1}]


def test_two_ways_to_a_point_wait_for_the_shorter():
    runs = [Run((load(1),), (1, 2)), Run((load(2),), (2,)), Run((use(1),))]
    assert waits(runs)[2] == [{"vm": 0}]


def test_a_demand_waits_only_for_what_may_be_in_flight():
    barrier = Issued(Step("S_BARRIER", "sync", 0, 0), demands={"lgkm": 0, "vm": 2})
    assert straight(load(1, "lgkm"), barrier, barrier)[1:] == [{"lgkm": 0}, {}]
    assert straight(*[load(n) for n in range(4)], barrier)[4] == {"vm": 2}


def test_more_than_a_counter_can_say_is_waited_for_in_its_words():
    found = straight(*[load(n, "lgkm") for n in range(40)], use(0))
    assert found[40] == {"lgkm": 15}


@pytest.mark.parametrize(("chip", "states"), [("gfx942", 7), ("gfx950", 8)])
def test_states_are_counted_from_the_producer(chip, states):
    name = "V_MFMA_F32_16X16X16_F16"
    product = Issued(Step(name, "mfma", 0, 1 << 9, passes=4))
    other = use(1)
    runs = [Run((product, other, use(9)))]
    assert inserted(runs, chip)[0] == [[], [], [f"s_nop {states - 2}"]]


def test_a_wait_counts_as_a_state():
    product = Issued(Step("V_MFMA_F32_16X16X16_F16", "mfma", 0, 1 << 9, passes=4))
    runs = [Run((load(1), product, use(1, 9)))]
    assert inserted(runs, "gfx942")[0][2] == ["s_waitcnt vmcnt(0)", "s_nop 5"]
