"""Split barriers of gfx12: who waits for whom, who was first, and what is ordered."""

from __future__ import annotations

import numpy as np
import pytest
import rig

from wave_emulator_amdgcn.errors import EmulatorError, UnknownInstructionError

ARCH = "gfx1201"
MINUS_ONE = 193
FLAG, MINE, OTHER, UNUSED = 10, 20, 21, 22


def signal(number=MINUS_ONE, *, first=False):
    name = "S_BARRIER_SIGNAL_ISFIRST" if first else "S_BARRIER_SIGNAL"
    return rig.encode(ARCH, "SOP1", name, ssrc0=number)


def wait(number=0xFFFF):
    return rig.encode(ARCH, "SOPP", "S_BARRIER_WAIT", simm16=number)


def done():
    return rig.encode(ARCH, "SOPP", "S_WAIT_DSCNT", simm16=0)


def store(row):
    return rig.encode(ARCH, "DS", "DS_STORE_B32", addr=256 + row, data0=256 + 30)


def load(row):
    return rig.encode(ARCH, "DS", "DS_LOAD_B32", addr=256 + row, vdst=256 + 31)


def saves_scc(row):
    return rig.encode(ARCH, "SOP2", "S_CSELECT_B32", sdst=row, ssrc0=129, ssrc1=128)


def prepared():
    m = rig.machine(ARCH, rig.seeded(ARCH), waves=4, groups=2, lds=4096)
    wave = np.arange(4)[:, None] % 2
    m.V[MINE] = wave * 128 + np.arange(32) * 4
    m.V[OTHER] = (wave + 1) % 2 * 128 + np.arange(32) * 4
    m.V[UNUSED] = 1024 + m.V[MINE]
    m.lds.data[:] = 0
    return m


def run(*code):
    return rig.checked(prepared, b"".join(code))


def used():
    """What was loaded goes somewhere."""
    return rig.encode(ARCH, "DS", "DS_STORE_B32", addr=256 + UNUSED, data0=256 + 31)


def test_a_store_before_the_signal_is_ordered():
    m = run(store(MINE), done(), signal(), wait(), load(OTHER), done())
    assert rig.codes(m) == []
    data = m.V[30].reshape(2, 2, 32)
    assert (m.V[31].reshape(2, 2, 32) == data[:, ::-1]).all()


def test_a_store_after_the_signal_is_a_race():
    m = run(signal(), store(MINE), done(), wait(), load(OTHER), done(), used())
    assert rig.codes(m) == ["EM0501"]


def test_a_store_that_was_not_waited_for_at_the_signal_is_a_race():
    m = run(store(MINE), signal(), done(), wait(), load(OTHER), done(), used())
    assert rig.codes(m) == ["EM0501"]


def test_a_load_between_signal_and_wait_is_a_race():
    m = run(store(MINE), done(), signal(), load(OTHER), done(), wait(), used())
    assert rig.codes(m) == ["EM0501"]


def test_work_of_its_own_between_the_halves_is_fine():
    m = run(store(MINE), done(), signal(), load(MINE), done(), wait())
    assert rig.codes(m) == []


def test_the_next_barrier_orders_what_came_after_the_signal():
    m = run(
        signal(), store(MINE), done(), wait(), signal(), wait(), load(OTHER), done()
    )
    assert rig.codes(m) == []


def test_exactly_one_wave_of_a_workgroup_is_first():
    m = run(signal(first=True), saves_scc(FLAG), wait())
    assert m.S[FLAG].reshape(2, 2).tolist() == [[1, 0], [1, 0]]


def test_each_barrier_has_a_first_wave():
    m = run(signal(first=True), saves_scc(FLAG), wait(),
            signal(first=True), saves_scc(FLAG + 1), wait())  # fmt: skip
    assert m.S[FLAG + 1].reshape(2, 2).sum(axis=1).tolist() == [1, 1]


def test_a_wait_without_signals_never_ends():
    with pytest.raises(EmulatorError, match="EM0304"):
        run(wait())


@pytest.mark.parametrize("code", [signal(129), signal(125), wait(0)])
def test_other_barriers_are_refused(code):
    with pytest.raises(UnknownInstructionError, match="EM0302"):
        run(code)


@pytest.mark.parametrize(
    "name", ["S_BARRIER_LEAVE", "S_BARRIER_INIT", "S_GET_BARRIER_STATE"]
)
def test_what_is_not_modelled_is_refused(name):
    cls = "SOPP" if name.endswith("LEAVE") else "SOP1"
    try:
        code = rig.encode(ARCH, cls, name)
    except IndexError:
        pytest.fail(f"the decoder has no {name}")
    with pytest.raises(UnknownInstructionError, match="EM0301"):
        run(code)
