"""What was loaded in front of a point is on its way behind it, until it is read."""

from __future__ import annotations

from test_ordering import AT, loaded, say, stored

from wave_backend_asm.allocate.liveness import Flow
from wave_backend_asm.code import Block
from wave_backend_asm.machine.flights import Flights
from wave_backend_asm.machine.operands import Virtual
from wave_backend_asm.machine.prices import price_of

VALUE, OTHER = Virtual(), Virtual(4)
CHIP = "gfx942"


def wait(load):
    return price_of(load, CHIP).wait // 2


def flying(blocks, number, place, *, alone=True):
    """The values on their way, with the cycles that are left."""
    flow = Flow.of(blocks)
    ((*found,),) = Flights(flow, CHIP, 1, alone=alone).at(number, [place])
    return {flow.bits.values(bits)[0]: cycles for bits, cycles in found}


def test_each_operation_takes_its_time():
    first, second = loaded(VALUE), loaded(OTHER)
    code = [first, say("v_mov_b32", AT, of=(0,)), second, stored(VALUE)]
    blocks = [Block(tuple(code))]
    assert flying(blocks, 0, 1) == {VALUE: wait(first)}
    assert flying(blocks, 0, 3) == {VALUE: wait(first) - 8, OTHER: wait(second)}
    assert flying(blocks, 0, 4) == {OTHER: wait(second) - 4}


def test_what_has_landed_is_not_on_its_way():
    first = loaded(VALUE)
    many = [say("v_mov_b32", AT, of=(0,)) for _ in range(-(-wait(first) // 4))]
    assert flying([Block((first, *many))], 0, len(many) + 1) == {}
    assert flying([Block((first, *many))], 0, len(many)) != {}


def test_a_turn_begins_with_what_the_one_before_it_has_loaded():
    load = loaded(VALUE)
    blocks = [
        Block((say("v_mov_b32", AT, of=(0,)),), (1,)),
        Block((stored(VALUE), load), (1, 2), 1),
        Block((stored(VALUE),)),
    ]
    assert flying(blocks, 0, 1) == {}
    assert flying(blocks, 1, 0) == flying(blocks, 2, 0) == {VALUE: wait(load)}
    assert flying(blocks, 1, 1) == {}


def test_others_work_meanwhile_where_several_waves_fit():
    load = loaded(VALUE)
    loop = [Block((load,), (0, 1), 1), Block(())]
    assert flying(loop, 0, 1, alone=False) == {}
    assert flying(loop, 0, 1) != {}
    assert flying([Block((load,))], 0, 1, alone=False) == {VALUE: wait(load)}
