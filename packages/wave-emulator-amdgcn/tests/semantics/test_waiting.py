"""Waves that go around until another one writes: who runs, and who waits for ever."""

from __future__ import annotations

import numpy as np
import pytest
import rig

from wave_emulator_amdgcn.errors import StuckError
from wave_emulator_amdgcn.hazards.locks import acquires
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop

ARCH = "gfx942"
NUMBER, LOCK, ADDRESS, SEEN = 10, 12, 2, 20
WAVE = 256


def scalar(name, **fields):
    cls = "SOPC" if name.startswith("S_CMP") else "SOPP"
    return rig.encode(ARCH, cls, name, **fields)


def around(number):
    """Wait for a word of memory: load, compare, back by as many words."""
    load = rig.encode(
        ARCH, "GLOBAL", "GLOBAL_LOAD_DWORD", addr=WAVE, vdst=WAVE + 1,
        saddr=LOCK, offset=4 * number, sc0=1, sc1=1,
    )  # fmt: skip
    wait = scalar("S_WAITCNT", simm16=0)
    first = rig.encode(
        ARCH, "VOP1", "V_READFIRSTLANE_B32", vdst=WAVE + SEEN, src0=WAVE + 1
    )
    test = scalar("S_CMP_EQ_U32", ssrc0=SEEN, ssrc1=128)
    body = load + wait + first + test
    return body + scalar("S_CBRANCH_SCC1", simm16=-(len(body) // 4 + 1) & 0xFFFF)


def sets(number):
    one = rig.encode(ARCH, "VOP1", "V_MOV_B32", vdst=WAVE + 2, src0=129)
    return one + rig.encode(
        ARCH, "GLOBAL", "GLOBAL_STORE_DWORD", addr=WAVE, data=WAVE + 2,
        saddr=LOCK, offset=4 * number, sc0=1, sc1=1,
    )  # fmt: skip


def only(number, body):
    """Code for one wave, which others pass by."""
    test = scalar("S_CMP_LG_U32", ssrc0=NUMBER, ssrc1=128 + number)
    return test + scalar("S_CBRANCH_SCC1", simm16=len(body) // 4) + body


def run(code, locks):
    """Three workgroups of a wave; the words of memory at the end."""
    machine = rig.machine(ARCH, np.random.default_rng(0), waves=3, groups=3)
    machine.memory.bytes_of(0)[:12] = np.array(locks, np.uint32).view(np.uint8)
    machine.V[0] = 0
    machine.S[NUMBER] = np.arange(3)
    address = machine.memory.regions[0].address
    machine.S[LOCK], machine.S[LOCK + 1] = address & 0xFFFFFFFF, address >> 32
    end = rig.END["cdna"].to_bytes(4, "little")
    loop = Loop(machine, Program(code + end * 8, 0x1000, machine.architecture), 0x1000)
    loop.run(1_000_000)
    return machine.memory.bytes_of(0)[:12].view(np.uint32).tolist(), loop.executed


def test_a_wave_between_two_that_wait_goes_on():
    """Waves 0 and 2 wait, at the first and the last place, for what 1 writes."""
    code = only(0, around(1)) + only(1, around(0) + sets(1)) + only(2, around(1))
    locks, executed = run(code, [1, 0, 0])
    assert locks == [1, 1, 0]
    assert executed < 1000


def test_waves_that_wait_for_ever():
    """Each for the other, while the third one has ended."""
    code = only(0, around(1) + sets(0)) + only(1, around(0) + sets(1))
    with pytest.raises(StuckError, match="EM0305: workgroups 0, 1 wait for what"):
        run(code, [0, 0, 0])


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_code_that_drops_what_caches_hold(arch):
    """The instruction that an acquire is, by its first word, and nothing else."""
    cls, name = {
        "gfx90a": ("MUBUF", ""),
        "gfx1100": ("MUBUF", "BUFFER_GL1_INV"),
        "gfx1201": ("VGLOBAL", "GLOBAL_INV"),
    }.get(arch, ("MUBUF", "BUFFER_INV"))
    # The encoder's tables are those of later chips, which have this one no more.
    old = (0xE0FC0000).to_bytes(4, "little") + bytes(4)
    code = rig.encode(arch, cls, name) if name else old
    chip = rig.ARCHITECTURES[arch]
    nop = rig.encode(arch, "SOPP", "S_NOP", simm16=0)
    assert acquires(np.frombuffer(nop + code, np.uint8), chip)
    assert not acquires(np.frombuffer(nop * 3, np.uint8), chip)
