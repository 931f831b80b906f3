"""Which registers an instruction reads, where its fields say more than it uses."""

from __future__ import annotations

import pytest
from tinygrad.renderer.amd.dsl import NULL, OFF, SDWA, s, v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna
from tinygrad.runtime.autogen.amd.cdna.enum import VOP2Op, VOP3PX2Op
from tinygrad.runtime.autogen.amd.rdna4 import ins as rdna4
from tinygrad.runtime.autogen.amd.rdna4.enum import VOPDOp

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.decode import decode
from wave_emulator_amdgcn.hazards.counters import InFlight
from wave_emulator_amdgcn.isa.binding import prepare
from wave_emulator_amdgcn.usage import taken_registers, usage
from wave_isa_amdgcn.registers import SCALAR, rows_of


def decoded(inst, arch="gfx1201"):
    """An instruction as the emulator knows it."""
    found = decode(inst.to_bytes() + bytes(16), 0, 0x1000, ARCHITECTURES[arch])
    return prepare(found)


def used(inst, arch="gfx1201"):
    """What an instruction touches."""
    return usage(decoded(inst, arch))


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


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_an_operand_of_sdwa_is_scalar_where_its_bit_says_so(first, second):
    inst = cdna.VOP2_SDWA(
        VOP2Op.V_XOR_B32, src0=SDWA, vdst=v[5], vsrc0=v[3], vsrc1=v[4],
        s0=first, s1=second, dst_sel=5, src0_sel=6, src1_sel=6,
    )  # fmt: skip
    wanted = {3 + first * SCALAR, 4 + second * SCALAR}
    assert set(rows_of(used(inst, "gfx950").reads)) == wanted


def test_the_register_that_is_none_is_neither_read_nor_written():
    total = rdna4.v_mad_co_u64_u32(v[6:7], NULL, v[1], v[2], v[4:5])
    store = rdna4.buffer_store_b32(
        vdata=v[8], vaddr=v[7], rsrc=8, soffset=NULL, offen=1
    )
    assert [r for r in rows_of(used(total).writes) if r >= SCALAR] == []
    taken = [r - SCALAR for r in rows_of(used(store).reads) if r >= SCALAR]
    assert taken == [8, 9, 10, 11]


LOAD_LOW = rdna4.ds_load_u16_d16(vdst=v[2], addr=v[7])
LOAD_LOW_BY_ITSELF = rdna4.ds_load_u16_d16(vdst=v[2], addr=v[2])
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
        (LOAD_LOW_BY_ITSELF, STORE_HIGH, False),
        (LOAD_LOW_BY_ITSELF, STORE_LOW, True),
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


@pytest.mark.parametrize("returns", [False, True])
def test_an_atomic_writes_a_register_where_it_returns_the_old_value(returns):
    """The field names v0 where it does not; loads on their way there may go on."""
    update = cdna.global_atomic_add(
        vdst=v[0], addr=v[10:11], data=v[1], saddr=OFF, sc0=int(returns)
    )
    found = used(update, "gfx942")
    assert [r for r in rows_of(found.writes) if r < 512] == [0] * returns
    assert {1, 10, 11} <= set(rows_of(found.reads))


def test_scales_of_a_product_lie_in_plain_vector_registers():
    """Whatever its operands and its result lie in: the bits for AGPRs are theirs."""
    product = cdna.VOP3PX2(
        VOP3PX2Op.V_MFMA_SCALE_F32_16X16X128_F8F6F4,
        vdst=v[16:19],
        src0=v[0:7],
        src1=v[8:15],
        src2=v[16:19],
        scale_src0=v[60].offset,
        scale_src1=v[61].offset,
        acc=3,
        acc_cd=1,
        x2encoding=0xD3AC,
    )
    found = used(product, "gfx950")
    assert [r for r in rows_of(found.reads) if r < 256] == [60, 61]
    assert list(rows_of(found.writes)) == [256 + r for r in range(16, 20)]


@pytest.mark.parametrize(
    ("lower", "upper", "wanted"),
    [
        (0, 0, ({2, 4, 8}, {2, 4, 8})),
        (0, 7, ({2, 4, 8}, {3, 5, 9})),
        (2, 5, ({2, 5, 8}, {3, 4, 9})),
        (7, 0, ({3, 5, 9}, {2, 4, 8})),
    ],
)
def test_a_packed_result_takes_one_register_of_each_pair(lower, upper, wanted):
    both = cdna.v_pk_fma_f32(
        v[6:7], v[2:3], v[4:5], v[8:9],
        opsel=lower, opsel_hi=upper & 3, opsel_hi2=upper >> 2,
    )  # fmt: skip
    ins, reads = decoded(both, "gfx950"), used(both, "gfx950").reads
    found = (rows_of(taken_registers(ins, reads, top=top)) for top in (False, True))
    assert tuple(map(set, found)) == wanted


def test_a_register_that_one_operand_passes_over_is_taken_by_another():
    inst = cdna.v_pk_add_f32(v[6:7], v[2:3], v[2:3], opsel=1, opsel_hi=0)
    reads = used(inst, "gfx950").reads
    assert rows_of(taken_registers(decoded(inst, "gfx950"), reads, top=False)) == [2, 3]
