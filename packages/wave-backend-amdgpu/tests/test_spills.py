"""Code that spills is compiled in other orders, and what spills least is taken."""

from __future__ import annotations

import logging
import struct

import msgspec
import pytest

import wave_core.lang as tkw
from wave_backend_amdgpu.compile.request import Answer
from wave_backend_amdgpu.compile.spills import (
    check_spills,
    spilled_registers,
    with_fewest_spills,
)
from wave_core.diagnostics import UserError, user_error

N = tkw.sym.N


def code(*spills, scalars=0):
    """A code object of which only the metadata is there."""
    rows = [
        {
            ".name": "k",
            ".vgpr_count": 256,
            ".vgpr_spill_count": n,
            ".sgpr_spill_count": scalars,
        }
        for n in spills
    ]
    text = msgspec.msgpack.encode({"amdhsa.kernels": rows, "amdhsa.version": [1, 2]})
    other = struct.pack("<III4s4s", 4, 4, 1, b"GNU\0", b"junk")
    note = struct.pack("<III8s", 7, len(text), 32, b"AMDGPU\0") + text
    notes = other + note.ljust(-(-len(note) // 4) * 4, b"\0")
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    struct.pack_into("<Q", head, 40, 64)
    struct.pack_into("<HH", head, 58, 64, 2)
    sections = bytearray(128)
    struct.pack_into("<I", sections, 64 + 4, 7)
    struct.pack_into("<QQ", sections, 64 + 24, 192, len(notes))
    return bytes(head + sections + notes)


@pytest.mark.parametrize("before", [b"", b"a module around it"])
@pytest.mark.parametrize(("spills", "total"), [((), 0), ((0,), 0), ((5, 300), 305)])
def test_spills_stand_in_the_metadata(spills, total, before):
    assert spilled_registers(before + code(*spills)) == total


def test_what_is_no_code_spills_nothing():
    assert spilled_registers(b"") == spilled_registers(b"func.func") == 0


@pytest.mark.parametrize(
    ("spills", "asked", "best"),
    [
        ([0, 0], 1, 0),
        ([2, 0, 0], 2, 1),
        ([2, 19, 1], 3, 2),
        ([2, 19, 2], 3, 0),
        ([2, None, 1], 3, 2),
    ],
)
def test_what_spills_least_is_taken(spills, asked, best):
    texts = [str(place) for place in range(len(spills))]
    tried = []

    def compiled(text):
        tried.append(text)
        found = spills[int(text)]
        if found is None:
            raise user_error("WV0606", "crashed")
        return Answer(output=code(found))

    text, answer = with_fewest_spills(iter(texts), compiled)
    assert (len(tried), text) == (asked, str(best))
    assert spilled_registers(answer.output) == spills[best]


@pytest.mark.parametrize(("spilled", "times"), [(0, 0), (7, 1)])
def test_what_spills_whatever_its_schedule_is_told(spilled, times, lowered, caplog):
    graph, chip = lowered("copy")
    with caplog.at_level(logging.WARNING, logger="wave_core"):
        check_spills(code(spilled), graph, chip)
    told = [row.message for row in caplog.records if "WV0608" in row.message]
    assert len(told) == times
    whole = "`copy` spills registers on gfx942: 7 of a lane, with 256 in use"
    assert all(whole in each for each in told)


def test_what_spills_by_its_schedule_is_refused(lowered, caplog):
    graph, chip = lowered("copy")
    graph.gives_way = True
    with pytest.raises(UserError, match="WV0605") as caught:
        check_spills(code(7), graph, chip)
    assert caught.value.diagnostics[0].data["spilled"] == 7
    assert not caplog.records
    graph.spills_allowed = 6
    with pytest.raises(UserError, match="WV0605"):
        check_spills(code(7), graph, chip)
    graph.spills_allowed = 7
    check_spills(code(7), graph, chip)
    assert "WV0608" in caplog.text


def with_memories(count):
    """A kernel that reads so many memories but one, and writes their sum."""
    memory = tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]
    names = [f"m{number}" for number in range(count)]

    def body(*memories):
        *read, written = memories
        tkw.write(sum(map(tkw.read, read[1:]), tkw.read(read[0])), written)

    listed = ", ".join(names)
    scope = {"body": body}
    exec(f"def total({listed}): body({listed})", scope)
    scope["total"].__annotations__ = dict.fromkeys(names, memory)
    spread = [tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()]
    return tkw.wave(spread)(scope["total"])


@pytest.mark.parametrize(("memories", "refused"), [(25, True), (26, False)])
def test_scalars_that_memories_take_are_no_matter_of_schedules(
    memories, refused, lowered, caplog
):
    options = tkw.WaveCompileOptions(subs={N: 256}, target="gfx942")
    graph, chip = lowered.lower(with_memories(memories), options)
    assert chip.registers.scalars == 102
    graph.gives_way = True
    if refused:
        with pytest.raises(UserError, match="WV0605"):
            check_spills(code(0, scalars=9), graph, chip)
    else:
        with caplog.at_level(logging.WARNING, logger="wave_core"):
            check_spills(code(0, scalars=9), graph, chip)
        (told,) = (row.message for row in caplog.records)
        assert "9 of a wave" in told
        assert "of a lane" not in told
        with pytest.raises(UserError, match="WV0605"):
            check_spills(code(1, scalars=9), graph, chip)
