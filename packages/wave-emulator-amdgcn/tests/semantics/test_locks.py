"""What locks order on gfx90a, whose stores do not say that they pass caches."""

from __future__ import annotations

import numpy as np
import pytest
import rig

from wave_emulator_amdgcn.hazards.checks import Checks
from wave_emulator_amdgcn.hazards.locks import Locks

ARCH = "gfx90a"
VGPR, ZERO, ONE, FOUND = 256, 2, 3, 1
NUMBER, BASE, SEEN = 10, 12, 20
DATA, LOCK = 0, 4
# The encoder's tables are those of later chips, which have BUFFER_WBINVL1_VOL no more.
ACQUIRE = (0xE0FC0000).to_bytes(4, "little") + bytes(4)


def scalar(name, **fields):
    cls = "SOPC" if name.startswith("S_CMP") else "SOPP"
    return rig.encode(ARCH, cls, name, **fields)


def completed():
    return scalar("S_WAITCNT", simm16=0)


def load(place, **wide):
    return rig.encode(
        ARCH, "GLOBAL", "GLOBAL_LOAD_DWORD", addr=VGPR + ZERO, vdst=VGPR + FOUND,
        saddr=BASE, offset=place, **wide,
    )  # fmt: skip


def store(place, row):
    return rig.encode(
        ARCH, "GLOBAL", "GLOBAL_STORE_DWORD", addr=VGPR + ZERO, data=VGPR + row,
        saddr=BASE, offset=place,
    )  # fmt: skip


def taken():
    """Wait until the lock is written, as by passing caches."""
    first = rig.encode(
        ARCH, "VOP1", "V_READFIRSTLANE_B32", vdst=VGPR + SEEN, src0=VGPR + FOUND
    )
    body = load(LOCK, sc0=1) + completed() + first
    body += scalar("S_CMP_EQ_U32", ssrc0=SEEN, ssrc1=128)
    return body + scalar("S_CBRANCH_SCC1", simm16=-(len(body) // 4 + 1) & 0xFFFF)


def only(number, body):
    """Code for one wave, which the other passes by."""
    test = scalar("S_CMP_LG_U32", ssrc0=NUMBER, ssrc1=128 + number)
    return test + scalar("S_CBRANCH_SCC1", simm16=len(body) // 4) + body


def codes(*per_wave):
    """What is reported of two workgroups of a wave each."""
    m = rig.machine(ARCH, np.random.default_rng(0))
    m.memory.bytes_of(0)[:8] = 0
    m.V[ZERO], m.V[ONE] = 0, 1
    m.S[NUMBER] = np.arange(2)
    address = m.memory.regions[0].address
    m.S[BASE], m.S[BASE + 1] = address & 0xFFFFFFFF, address >> 32
    m.checks = Checks(
        m.architecture, m.memory, frozenset(), locks=Locks(m.architecture, 2)
    )
    m.checks.start(m)
    rig.run(m, b"".join(only(k, code) for k, code in enumerate(per_wave)))
    return rig.codes(m)


def test_a_lock_that_is_written_before_anybody_reads_it():
    """Who finds it written frees it, by a store that says nothing either."""
    gives = store(DATA, ONE) + completed() + store(LOCK, ONE)
    takes = taken() + ACQUIRE + load(DATA) + completed() + store(LOCK, ZERO)
    assert codes(gives, takes) == []


@pytest.mark.parametrize("without", ["release", "acquire", "lock"])
def test_data_behind_such_a_lock_still_race(without):
    done = b"" if without == "release" else completed()
    gives = store(DATA, ONE) + done + store(LOCK, ONE)
    waits = b"" if without == "lock" else taken()
    waits += b"" if without == "acquire" else ACQUIRE
    takes = waits + load(DATA) + completed() + store(LOCK, ZERO)
    assert codes(gives, takes) == ["EM0501"]


def test_a_word_that_nobody_reads_as_a_lock_is_none():
    twice = store(LOCK, ONE) + completed()
    assert codes(twice, twice) == ["EM0501"]
