"""Loads from LDS that race with a write of another wave: no error until one is used."""

from __future__ import annotations

import numpy as np
import pytest
import rig

ARCH = "gfx942"
MINE, OTHER, FREE, GIVEN, GOT, KEPT = 20, 21, 22, 30, 31, 32
BOTH = 256 + GOT
TARGET, COUNT = 40, 50


def lds(name, **rows):
    return rig.encode(ARCH, "DS", name, **{k: 256 + row for k, row in rows.items()})


def done():
    return rig.encode(ARCH, "SOPP", "S_WAITCNT", simm16=0)


def vop(cls, name, **fields):
    return rig.encode(ARCH, cls, name, **fields)


BARRIER = rig.encode(ARCH, "SOPP", "S_BARRIER")
STORE = lds("DS_WRITE_B32", addr=MINE, data0=GIVEN)
LOAD = lds("DS_READ_B32", addr=OTHER, vdst=GOT) + done()
KEEP_OLD = vop("VOP3", "V_CNDMASK_B32", vdst=256 + KEPT, src0=256 + GIVEN, src1=BOTH,
               src2=TARGET)  # fmt: skip
"""Where a mask is 0, what was there before, else what was loaded."""


def to_buffer(row):
    return rig.encode(
        ARCH, "GLOBAL", "GLOBAL_STORE_DWORD", addr=256 + FREE, data=256 + row,
        saddr=TARGET + 4,
    ) + done()  # fmt: skip


def scalar_branch():
    """A branch on whether the first lane loaded zero."""
    return (
        vop("VOP1", "V_READFIRSTLANE_B32", vdst=256 + COUNT, src0=BOTH)
        + vop("SOPC", "S_CMP_EQ_U32", ssrc0=COUNT, ssrc1=128)
        + vop("SOPP", "S_CBRANCH_SCC1", simm16=0)
    )


def on_some_lanes():
    """Lanes that loaded zero go on, without a branch."""
    return vop("VOPC", "V_CMP_EQ_U32", src0=128, vsrc1=256 + GOT) + vop(
        "SOP1", "S_AND_SAVEEXEC_B64", sdst=COUNT, ssrc0=106
    )


def chosen():
    """One of two numbers, by the lowest bit of what the first lane loaded."""
    return (
        vop("VOP1", "V_READFIRSTLANE_B32", vdst=256 + COUNT, src0=BOTH)
        + vop("SOP2", "S_AND_B32", sdst=COUNT, ssrc0=COUNT, ssrc1=129)
        + vop("SOP2", "S_CSELECT_B32", sdst=COUNT, ssrc0=129, ssrc1=128)
        + vop("VOP1", "V_MOV_B32", vdst=256 + KEPT, src0=COUNT)
        + to_buffer(KEPT)
    )


USES = {
    "stored to a buffer": to_buffer(GOT),
    "stored to LDS": lds("DS_WRITE_B32", addr=FREE, data0=GOT),
    "added to LDS": lds("DS_ADD_U32", addr=FREE, data0=GOT),
    "compared with in LDS": lds("DS_CMPST_B32", addr=FREE, data0=GIVEN, data1=GOT),
    "an address": lds("DS_READ_B32", addr=GOT, vdst=KEPT) + done(),
    "a branch": vop("VOPC", "V_CMP_EQ_U32", src0=128, vsrc1=256 + GOT)
    + vop("SOPP", "S_CBRANCH_VCCNZ", simm16=0),
    "a scalar branch": scalar_branch(),
    "which lanes go on": on_some_lanes(),
    "a choice of scalars": chosen(),
    "stored after arithmetic": vop(
        "VOP2", "V_ADD_F32", vdst=256 + KEPT, src0=BOTH, vsrc1=256 + GIVEN
    )
    + to_buffer(KEPT),
    "stored where a mask takes it": KEEP_OLD + to_buffer(KEPT),
}
DISCARDS = {
    "never looked at": b"",
    "overwritten": vop("VOP1", "V_MOV_B32", vdst=BOTH, src0=128) + to_buffer(GOT),
    "masked": vop("VOP3", "V_CNDMASK_B32", vdst=256 + KEPT, src0=256 + GIVEN, src1=BOTH,
                  src2=TARGET + 2) + to_buffer(KEPT),
    "computed with, then masked": vop("VOP2", "V_ADD_F32", vdst=BOTH, src0=BOTH,
                                      vsrc1=256 + GIVEN)
    + vop("VOP3", "V_CNDMASK_B32", vdst=256 + KEPT, src0=256 + GIVEN, src1=BOTH,
          src2=TARGET + 2) + to_buffer(KEPT),
    "decides for lanes that are off": vop("SOP1", "S_MOV_B64", sdst=126, ssrc0=128)
    + on_some_lanes() + vop("SOP1", "S_MOV_B64", sdst=126, ssrc0=193),
    "a condition that another replaces": scalar_branch()[:-4]
    + vop("SOPC", "S_CMP_EQ_U32", ssrc0=128, ssrc1=128)
    + vop("SOPP", "S_CBRANCH_SCC0", simm16=0),
}  # fmt: skip


def prepared(waves=4, groups=2):
    """Each wave has a line of LDS, and one that nobody else touches."""
    m = rig.machine(ARCH, rig.seeded(ARCH), waves=waves, groups=groups, lds=4096)
    wave = np.arange(waves)[:, None] % (waves // groups)
    lane = np.arange(64) * 4
    m.V[MINE] = wave * 256 + lane
    m.V[OTHER] = (wave + 1) % (waves // groups) * 256 + lane
    m.V[FREE] = 2048 + np.arange(waves)[:, None] * 256 + lane
    m.lds.data[:] = 0
    _, start = rig.region(m)
    m.S[TARGET : TARGET + 4] = [[0xFFFFFFFF]] * 2 + [[0]] * 2
    m.S[TARGET + 4], m.S[TARGET + 5] = start & 0xFFFFFFFF, start >> 32
    return m


def run(*code):
    return rig.checked(prepared, b"".join(code))


ORDERS = {"write first": (STORE, done(), LOAD), "load first": (LOAD, STORE, done())}
FILLED = (STORE, done(), BARRIER)
"""Before the race, all is written and ordered."""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("use", USES)
def test_a_racy_load_that_is_used_is_reported(order, use):
    m = run(*FILLED, *ORDERS[order], USES[use])
    (report,) = (r for r in m.reports.values() if r.code == "EM0501")
    assert "ds_read_b32" in report.text
    assert "ds_write_b32" in report.other_text
    assert ("later" in report.message) == (order == "load first")
    assert report.address is not None
    assert {report.wave, int(report.message.split()[1])} == {0, 1}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", DISCARDS)
def test_a_racy_load_that_nobody_uses_is_no_error(order, name):
    assert rig.codes(run(*FILLED, *ORDERS[order], DISCARDS[name])) == []


def test_a_use_before_the_write_counts():
    m = run(*FILLED, LOAD, to_buffer(GOT), STORE, done())
    assert rig.codes(m) == ["EM0501"]


def test_a_use_after_a_barrier_counts():
    m = run(*FILLED, LOAD, STORE, done(), BARRIER, to_buffer(GOT))
    assert rig.codes(m) == ["EM0501"]


@pytest.mark.parametrize("use", [b"", to_buffer(GOT)])
def test_ordered_loads_are_not_followed(use):
    """The same load races once, and is used where it does not."""
    m = run(*FILLED, LOAD, use, BARRIER, STORE, done(), LOAD)
    assert rig.codes(m) == []


def test_each_load_is_taken_for_itself():
    """Loads of the same cells: of one the value is used, it is ordered."""
    again = lds("DS_READ_B32", addr=OTHER, vdst=KEPT) + done()
    m = run(*FILLED, again, BARRIER, LOAD, STORE, done(), to_buffer(KEPT))
    assert rig.codes(m) == []
    m = run(*FILLED, again, LOAD, STORE, done(), to_buffer(KEPT))
    (report,) = m.reports.values()
    assert report.pc == 0x1000 + len(b"".join(FILLED))


def test_a_third_reader_is_not_forgotten():
    """Of four waves that read a cell, only the third uses it; the fourth writes it."""

    def make():
        m = prepared(4, 1)
        m.V[OTHER] = 1024
        m.V[MINE] = 2048 + np.arange(4)[:, None] * 256
        m.V[MINE, 3] = 1024
        m.S[126:128, :3] = 0
        m.refresh_exec(slice(None))
        m.S[TARGET : TARGET + 2] = np.where(np.arange(4) == 2, 0xFFFFFFFF, 0)
        return m

    on = vop("SOP1", "S_MOV_B64", sdst=126, ssrc0=193)
    off = vop("SOP1", "S_MOV_B64", sdst=126, ssrc0=TARGET + 6)
    one = lds("DS_WRITE_B32", addr=MINE, data0=GIVEN) + done()

    def first_lane(m):
        m.S[TARGET + 6 : TARGET + 8] = [[1], [0]]
        return m

    code = off + one + BARRIER + on + LOAD + off + one + on + KEEP_OLD + to_buffer(KEPT)
    m = rig.checked(lambda: first_lane(make()), code)
    (report,) = m.reports.values()
    assert (report.code, report.other_pc) == ("EM0501", 0x1000 + len(
        off + one + BARRIER + on + LOAD + off))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rows"),
    [("DS_WRITE_B32", {"data0": GIVEN}), ("DS_ADD_U32", {"data0": GIVEN})],
)
def test_two_writes_are_reported_at_once(name, rows):
    m = run(STORE, lds(name, addr=OTHER, **rows), done())
    assert rig.codes(m) == ["EM0501"]


@pytest.mark.parametrize("half", [0, 1])
def test_the_other_bytes_of_a_wide_load_are_as_good_as_ever(half):
    """Of two words that a wave loads one is written by another wave meanwhile."""

    def make():
        m = prepared()
        m.V[OTHER] = np.arange(64) * 8
        m.V[MINE] = np.where(np.arange(4)[:, None] % 2, 2048, 0) + np.arange(64) * 8
        return m

    fill = lds("DS_WRITE_B64", addr=MINE, data0=GIVEN) + done() + BARRIER
    load = lds("DS_READ_B64", addr=OTHER, vdst=KEPT) + done()
    code = fill + load + STORE + done() + to_buffer(KEPT + half)
    found = rig.codes(rig.checked(make, code))
    assert found == (["EM0501"] if half == 0 else [])
