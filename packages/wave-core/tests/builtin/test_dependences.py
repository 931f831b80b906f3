"""Which threads of two accesses of LDS meet."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.analysis.dependences.derive import NOWHERE, Reach
from wave_core.analysis.dependences.storage import (
    AddressRange,
    lds_bytes,
    sharing_buffers,
)
from wave_core.ir import ACCESS, Access, problems, set_attributes
from wave_core.ops.memory import Allocate
from wave_core.passes import PassContext
from wave_core.symbols import ge, symbol
from wave_core.targets import generic_target

M, K = tkl.sym.M, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 128, 0),
    tkw.WaveConstraint(M, 64),
    tkw.TilingConstraint(K, 1),
    tkw.HardwareConstraint(threads_per_wave=64),
]
LANE, WAVE, ITERATION = symbol("$LANE"), symbol("$WV0"), symbol("$IV:K")
OWN = LANE + 64 * WAVE
TWIN = OWN + 128 * (ITERATION % 2)


@pytest.fixture(name="pair")
def _pair(lowered):
    """A write and a read of one buffer in a loop, at given coordinates."""

    @tkw.wave(CONSTRAINTS)
    def kernel(a: tkl.Memory[M, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]):
        shared = tkw.allocate((M,), (256,), tkl.f32)

        @tkw.iterate(K)
        def body():
            tkw.write(tkw.read(a), shared)
            tkw.write(tkw.read(shared), b)

    def make(write, read, mask=None, turns=8):
        graph = lowered(kernel, upto="split-accesses", M=128, K=turns)
        first, second = shared_accesses(graph)
        graph.facts.put(ACCESS, first.op, Access((write,), 1, mask))
        graph.facts.put(ACCESS, second.op, Access((read,), 1))
        (loop,) = first.around
        return PassContext(generic_target()).dependences(graph), first, second, loop

    return make


def test_a_lane_meets_itself(pair):
    found, write, read, _ = pair(OWN, OWN)
    assert found.reach(write, read) == Reach(lane=True)


def test_lanes_of_a_wave_meet(pair):
    found, write, read, _ = pair(OWN, 63 - LANE + 64 * WAVE)
    assert found.reach(write, read) == Reach(wave=True)


def test_waves_meet(pair):
    found, write, read, _ = pair(OWN, LANE + 64 - 64 * WAVE)
    assert found.reach(write, read) == Reach(group=True)


def test_halves_of_a_buffer_do_not_meet(pair):
    found, write, read, _ = pair(OWN, OWN + 128)
    assert found.reach(write, read) == NOWHERE


def test_masked_waves_touch_nothing(pair):
    second = ge(WAVE, 1)
    found, write, read, _ = pair(OWN, OWN - 64 * WAVE, mask=second)
    assert found.reach(write, read) == NOWHERE


def test_alternating_buffers_meet_every_other_iteration(pair):
    found, write, read, loop = pair(TWIN, LANE + 64 - 64 * WAVE + 128 * (ITERATION % 2))
    assert found.reach(write, read).group
    assert found.reach(read, write, loop, 1) == NOWHERE
    assert found.reach(read, write, loop, 2).group
    assert found.reach_beyond(read, write, loop).group


@pytest.mark.parametrize("turns", [3, 4, 5, 8, 100])
def test_distances_are_those_of_some_pair_of_turns(pair, turns):
    half = (ITERATION // 2) % 2
    found, write, read, loop = pair(
        OWN + 128 * half, LANE + 64 - 64 * WAVE + 128 * half, turns=turns
    )
    for distance in range(1, min(turns, 8)):
        firsts = range(turns - distance)
        meets = any(i // 2 % 2 == (i + distance) // 2 % 2 for i in firsts)
        assert found.reach(write, read, loop, distance).group == meets, distance


def test_turns_that_never_happen_do_not_meet(pair):
    read = LANE + 64 - 64 * WAVE + 128 * (ITERATION % 2)
    found, write, read, loop = pair(TWIN, read, turns=2)
    assert found.reach_beyond(read, write, loop) == NOWHERE


def test_what_data_decides_may_be_anywhere(pair):
    found, write, read, _ = pair(OWN, symbol("$dynamic_val0"))
    assert found.reach(write, read) == Reach(lane=True, wave=True, group=True)


def test_packed_buffers_share_bytes():
    assert AddressRange(0, 512).meets(AddressRange(511, 600))
    assert not AddressRange(0, 512).meets(AddressRange(512, 600))


def test_packed_buffers_count_once(lowered):
    @tkw.wave(CONSTRAINTS)
    def kernel(a: tkl.Memory[M, GLOBAL, tkl.f32]):
        for _ in range(3):
            tkw.write(tkw.read(a), tkw.allocate((M,), (128,), tkl.f32))

    graph = lowered(kernel, M=128)
    one, two, three = [op for op in graph.walk() if isinstance(op, Allocate)]
    set_attributes(one, offset=0)
    set_attributes(two, offset=256)
    assert lds_bytes([one, two, three], {}) == 768 + 512
    assert groups_of(graph) == [[one, two], [one, two], [three]]
    set_attributes(three, offset=768)
    assert groups_of(graph)[1] == [one, two]
    set_attributes(three, offset=511)
    assert groups_of(graph)[2] == [one, two, three]


def groups_of(graph):
    """For each buffer of LDS those that share bytes with it, in order."""
    near = sharing_buffers(graph)
    buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
    return [[each for each in buffers if each in near[op]] for op in buffers]


def test_an_offset_fits_the_elements(lowered):
    @tkw.wave(CONSTRAINTS)
    def kernel(a: tkl.Memory[M, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(a), tkw.allocate((M,), (128,), tkl.f32))

    graph = lowered(kernel, M=128)
    (buffer,) = [op for op in graph.walk() if isinstance(op, Allocate)]
    set_attributes(buffer, offset=6)
    assert "no multiple" in problems(graph)[0].message
