"""Buffers that no lane is kept away from are accessed by their addresses."""

from __future__ import annotations

import pytest

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Copy, Instruction, Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.plain_addresses import by_addresses

ADDRESS, QUAD = Virtual(2, SCALARS), Virtual(4, SCALARS)
LANE, DATA = Virtual(), Virtual(4)
LIMITS = [
    Instruction("s_mov_b32", (Part(QUAD, 2, 1),), (1024,)),
    Instruction("s_mov_b32", (Part(QUAD, 3, 1),), (0x27000,)),
]
COPIED = [Copy(Part(QUAD, 0, 2), ADDRESS.all), *LIMITS]
LOADED = [Instruction("s_load_dwordx2", (Part(QUAD, 0, 2),), (ADDRESS.all, 8)), *LIMITS]


def load(wave=0, modifiers="offen offset:16 nt", name="buffer_load_dwordx4"):
    return Instruction(name, (DATA.all,), (LANE.all, QUAD.all, wave), modifiers)


def store():
    operands = (DATA.all, LANE.all, QUAD.all, 0)
    return Instruction("buffer_store_dwordx4", (), operands, "offen")


def shown(lines):
    return [(x.name, x.operands, x.modifiers) for x in lines]


def test_lanes_add_their_offsets_to_what_is_copied():
    assert shown(by_addresses([*COPIED, load(), store()], {QUAD})) == [
        ("global_load_dwordx4", (LANE.all, ADDRESS.all), "offset:16 nt"),
        ("global_store_dwordx4", (LANE.all, DATA.all, ADDRESS.all), ""),
    ]


def test_an_address_that_is_loaded_stays_where_it_is():
    address = Part(QUAD, 0, 2)
    first, second = by_addresses([*LOADED, load()], {QUAD})
    assert first is LOADED[0]
    assert second.operands == (LANE.all, address)


@pytest.mark.parametrize(
    "other",
    [
        load(Virtual(1, SCALARS).all),
        load(4096),
        load(modifiers="offen lds"),
        load(modifiers=""),
        load(name="buffer_atomic_add"),
        Instruction("s_buffer_load_dword", (LANE.all,), (QUAD.all, 0)),
    ],
    ids=lambda line: f"{line.name} {line.modifiers}",
)
def test_a_descriptor_that_somebody_needs_stays_for_all(other):
    lines = [*COPIED, load(), Label("next"), other]
    assert by_addresses(lines, {QUAD}) == lines


def test_a_descriptor_that_keeps_lanes_away_stays():
    lines = [*COPIED, load()]
    assert by_addresses(lines, ()) == lines
