"""Which registers an instruction reads, where its fields say more than it uses."""

from __future__ import annotations

import pytest
from tinygrad.renderer.amd.dsl import NULL, s, v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna
from tinygrad.runtime.autogen.amd.rdna4 import ins as rdna4
from tinygrad.runtime.autogen.amd.rdna4.enum import VOPDOp

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.decode import decode
from wave_emulator_amdgcn.hazards.counters import InFlight
from wave_emulator_amdgcn.isa.binding import prepare
from wave_emulator_amdgcn.usage import rows_of, usage


def used(inst, arch="gfx1201"):
    """What an instruction touches."""
    found = decode(inst.to_bytes() + bytes(16), 0, 0x1000, ARCHITECTURES[arch])
    return usage(prepare(found))


def reads(inst):
    """Vector registers that an instruction of gfx1201 reads."""
    return [r for r in rows_of(used(inst).reads) if r < 512]


def writes(inst):
    """Vector registers that it writes."""
    return [r for r in rows_of(used(inst).writes) if r < 512]


def test_a_dual_move_reads_one_source():
    move, add = VOPDOp.V_DUAL_MOV_B32, VOPDOp.V_DUAL_ADD_NC_U32
    both = rdna4.VOPD(
        move, add, vdstx=v[30], vdsty=v[5], srcx0=v[29], srcy0=v[17], vsrcy1=v[4]
    )
    assert reads(both) == [4, 17, 29]


@pytest.mark.parametrize(("base", "uses", "wanted"), [(s[4], 0, []), (NULL, 1, [7])])
def test_scratch_reads_its_vector_address_only_where_it_has_one(base, uses, wanted):
    inst = rdna4.scratch_load_b32(vdst=v[9], vaddr=v[7], saddr=base, sve=uses)
    assert reads(inst) == wanted


def test_the_upper_half_of_a_register_is_that_register():
    upper = rdna4.v_cvt_f16_f32_e32(vdst=v[23 + 128], src0=v[24 + 128])
    assert (writes(upper), reads(upper)) == ([23], [24 + 128])
    upper = rdna4.v_add_f16_e32(vdst=v[9], src0=v[4 + 128], vsrc1=v[5 + 128])
    assert (writes(upper), reads(upper)) == ([9], [4, 5])
    whole = rdna4.v_add_f32_e32(vdst=v[9 + 128], src0=v[4 + 128], vsrc1=v[5])
    assert (writes(whole), reads(whole)) == ([9 + 128], [5, 4 + 128])


@pytest.mark.parametrize(
    "swap",
    [
        cdna.v_swap_b32_e32(v[3], v[5]),
        cdna.v_permlane16_swap_b32_e32(v[3], v[5]),
        cdna.v_permlane32_swap_b32_e32(v[3], v[5]),
    ],
    ids=["whole", "rows", "halves"],
)
def test_a_swap_reads_and_writes_both_registers(swap):
    found = used(swap, "gfx950")
    assert (rows_of(found.reads), rows_of(found.writes)) == ([3, 5], [3, 5])


LOAD_LOW = rdna4.ds_load_u16_d16(vdst=v[2], addr=v[7])
LOAD_HIGH = rdna4.ds_load_u16_d16_hi(vdst=v[2], addr=v[7])
LOAD_ALL = rdna4.ds_load_u16(vdst=v[2], addr=v[7])
STORE_LOW = rdna4.ds_store_b16(addr=v[7], data0=v[2])
STORE_HIGH = rdna4.ds_store_b16_d16_hi(addr=v[7], data0=v[2])
STORE_ALL = rdna4.ds_store_b32(addr=v[7], data0=v[2])
ADD_LOW = rdna4.v_add_f16_e64(v[9], v[2], v[4])
ADD_HIGH = rdna4.v_add_f16_e64(v[9], v[2], v[4], opsel=1)


@pytest.mark.parametrize(
    ("load", "user", "early"),
    [
        (LOAD_LOW, STORE_LOW, True),
        (LOAD_LOW, STORE_HIGH, False),
        (LOAD_LOW, STORE_ALL, True),
        (LOAD_LOW, ADD_LOW, True),
        (LOAD_LOW, ADD_HIGH, False),
        (LOAD_HIGH, STORE_LOW, False),
        (LOAD_HIGH, STORE_HIGH, True),
        (LOAD_HIGH, ADD_LOW, False),
        (LOAD_HIGH, ADD_HIGH, True),
        (LOAD_ALL, STORE_LOW, True),
        (LOAD_ALL, STORE_HIGH, True),
    ],
)
def test_the_halves_of_a_register_are_filled_apart(load, user, early):
    flight, every = InFlight(1), slice(None)
    flight.issue(used(load), every, 1, scalar=False)
    found = flight.early(used(user), every)
    assert [row for row, _ in found] == [2] * early
    flight.wait({"ds": 0}, every)
    assert flight.early(used(user), every) == []
