"""Bounds and poison per byte: what leaves a buffer, and what nobody wrote.

A small kernel guards its access with a compare; raising the limit inside the code makes
lanes leave their buffer, which has to be reported and must not be executed.
"""

from __future__ import annotations

import numpy as np
import pytest
import rig

from wave_emulator_amdgcn.hazards.checks import Checks
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop
from wave_isa_amdgcn.registers import EXEC

ARCHES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
CDNA = ARCHES[:3]
LIMIT, INDEX, ADDRESS, DATA, RESULT = 16, 8, 10, 14, 20
HERE = 256 + RESULT


def vector_memory(arch, cdna, later, **fields):
    """A GLOBAL instruction by its names before and after gfx11."""
    cls = "VGLOBAL" if arch == "gfx1201" else "GLOBAL"
    off = 127 if arch in CDNA else 124
    address = {"vaddr" if arch == "gfx1201" else "addr": 256 + ADDRESS}
    name = cdna if arch in CDNA else later
    data = fields.pop("data", None)
    if data is not None:
        fields["vsrc" if arch == "gfx1201" else "data"] = data
    return rig.encode(arch, cls, name, saddr=off, **address, **fields)


def guarded(arch, access):
    """EXEC gets the lanes below the limit in a scalar register."""
    compare = rig.encode(arch, "VOPC", "V_CMPX_GT_U32", src0=LIMIT, vsrc1=256 + INDEX)
    return compare + access


def load(arch):
    return vector_memory(
        arch, "GLOBAL_LOAD_DWORD", "GLOBAL_LOAD_B32", vdst=256 + RESULT
    )


def store(arch):
    return vector_memory(
        arch, "GLOBAL_STORE_DWORD", "GLOBAL_STORE_B32", data=256 + DATA
    )


def start(arch, limit, elements=40):
    """Lane i accesses element i of a buffer that is not as long as the wave."""
    rng = rig.seeded(arch)
    m = rig.machine(arch, rng, waves=1, groups=1, size=4 * elements)
    address = rig.region(m)[1] + np.arange(m.lanes) * 4
    m.V[INDEX] = np.arange(m.lanes)
    m.V[ADDRESS], m.V[ADDRESS + 1] = address & 0xFFFFFFFF, address >> 32
    m.S[LIMIT] = limit
    return m


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("raised", [0, 1, 9])
def test_a_store_behind_a_raised_bound(arch, raised):
    elements = 20
    m = start(arch, elements + raised, elements)
    before = m.memory.cells.data.copy()
    rig.run(m, guarded(arch, store(arch)))
    data = m.V[DATA, 0, :elements].view(np.uint8)
    first = m.memory.regions[0].start
    before[first : first + 4 * elements] = data
    assert (m.memory.cells.data == before).all()
    check_report(m, elements, raised)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("raised", [0, 1, 9])
def test_a_load_behind_a_raised_bound(arch, raised):
    elements = 20
    m = start(arch, elements + raised, elements)
    old = m.V[RESULT].copy()
    rig.run(m, guarded(arch, load(arch)))
    inside = rig.region(m)[0].view(np.uint32)
    assert (m.V[RESULT, 0, :elements] == inside).all()
    assert not m.V[RESULT, 0, elements : elements + raised].any()
    assert (m.V[RESULT, 0, elements + raised :] == old[0, elements + raised :]).all()
    check_report(m, elements, raised)


def check_report(m, elements, raised):
    if not raised:
        assert not m.reports
        return
    (report,) = m.reports.values()
    assert (report.code, report.lane, report.count) == ("EM0503", elements, raised)
    assert report.address == rig.region(m)[1] + 4 * elements


@pytest.mark.parametrize("arch", ARCHES)
def test_an_access_that_is_half_inside_is_outside(arch):
    m = start(arch, 32, elements=5)
    m.V[ADDRESS, 0, 4] += 2
    before = m.memory.cells.data.copy()
    m.write_lane_mask(EXEC, slice(None), np.arange(m.lanes)[None] == 4)
    rig.run(m, store(arch))
    assert rig.codes(m) == ["EM0503"]
    assert (m.memory.cells.data == before).all()


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("access", [load, store])
def test_addresses_far_from_every_buffer(arch, access):
    m = start(arch, 32)
    m.V[ADDRESS : ADDRESS + 2] = rig.words(rig.seeded(arch), *m.V[:2].shape)
    before = m.memory.cells.data.copy()
    rig.run(m, access(arch))
    assert rig.codes(m) == ["EM0503"]
    assert (m.memory.cells.data == before).all()


def checked(arch, *code, elements=8, given=lambda _: None):
    """Run with the checks, on a buffer of which nobody wrote a byte."""
    m = start(arch, 32, elements)
    given(m)
    active = np.arange(m.lanes)[None] < 1
    m.write_lane_mask(EXEC, slice(None), active)
    end = rig.END[m.architecture.family].to_bytes(4, "little") * 8
    program = Program(b"".join(code) + end, 0x1000, m.architecture)
    m.checks = Checks(m.architecture, m.memory, frozenset({0}))
    m.checks.start(m)
    Loop(m, program, 0x1000).run(1000)
    return m


def byte_store(arch, offset):
    name = "ioffset" if arch == "gfx1201" else "offset"
    return vector_memory(
        arch, "GLOBAL_STORE_BYTE", "GLOBAL_STORE_B8", data=256 + DATA, **{name: offset}
    )


def load_of(arch, bits, offset):
    name = "ioffset" if arch == "gfx1201" else "offset"
    old = {8: "UBYTE", 16: "USHORT", 32: "DWORD"}[bits]
    new = {8: "U8", 16: "U16", 32: "B32"}[bits]
    return vector_memory(arch, f"GLOBAL_LOAD_{old}", f"GLOBAL_LOAD_{new}",
                         vdst=256 + RESULT, **{name: offset})  # fmt: skip


def wait(arch):
    """Everything that is in flight."""
    if arch == "gfx1201":
        names = ("S_WAIT_LOADCNT", "S_WAIT_STORECNT")
        return b"".join(rig.encode(arch, "SOPP", n, simm16=0) for n in names)
    code = rig.encode(arch, "SOPP", "S_WAITCNT", simm16=0)
    if arch == "gfx1100":
        code += rig.encode(arch, "SOPK", "S_WAITCNT_VSCNT", sdst=124, simm16=0)
    return code


def uses(arch):
    """Store the register that was loaded."""
    return vector_memory(
        arch, "GLOBAL_STORE_DWORD", "GLOBAL_STORE_B32", data=256 + RESULT
    )


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("bits", "offset", "poisoned"),
    [(8, 1, False), (8, 0, True), (8, 2, True), (16, 0, True), (16, 1, True),
     (32, 0, True), (16, 4, False), (32, 4, True), (16, 5, True)],
)  # fmt: skip
def test_poison_is_per_byte(arch, bits, offset, poisoned):
    """Bytes 1, 4 and 5 are written; a load of any other taints its register."""
    writes = b"".join(byte_store(arch, at) for at in (1, 4, 5))
    m = checked(
        arch, writes, wait(arch), load_of(arch, bits, offset), wait(arch), uses(arch)
    )
    assert rig.codes(m) == (["EM0505"] if poisoned else [])


def moved(arch, name, **sources):
    """An instruction on the loaded register, in place."""
    places = {key: 128 + n if n < 65 else n for key, n in sources.items()}
    register = 256 + RESULT
    encoding = "VOP3" if len(sources) == 2 else "VOP2"
    fields = {"src0": register} if encoding == "VOP3" else {"vsrc1": register}
    return rig.encode(arch, encoding, name, vdst=register, **fields, **places)


SHIFT = "V_LSHRREV_B32"
KEEPS = {
    "the first byte": (("V_AND_B32", {"src0": 15}),),
    "the second byte": ((SHIFT, {"src0": 8}), ("V_AND_B32", {"src0": 15})),
    "a field of both": (("V_BFE_U32", {"src1": 4, "src2": 12}),),
    "low bits of a sum": (("V_ADD_U32", {"src0": 1}), ("V_AND_B32", {"src0": 15})),
    "no bit": ((SHIFT, {"src0": 16}), ("V_AND_B32", {"src0": 0})),
}
TAKES = {
    "the third byte": ((SHIFT, {"src0": 16}),),
    "one bit of it": (("V_BFE_U32", {"src1": 16, "src2": 1}),),
    "high bits of a sum": (("V_ADD_U32", {"src0": 1}), (SHIFT, {"src0": 31})),
    "what it differs from": (("V_XOR_B32", {"src0": 256 + RESULT + 1}),),
}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("name", [*KEEPS, *TAKES])
def test_poison_moves_with_its_bits(arch, name):
    """Two bytes of the register are written; staged elements of 8 bits look so."""
    writes = b"".join(byte_store(arch, at) for at in (4, 5))
    steps = [moved(arch, op, **fields) for op, fields in {**KEEPS, **TAKES}[name]]
    m = checked(
        arch, writes, wait(arch), load_of(arch, 32, 4), wait(arch), *steps, uses(arch)
    )
    assert rig.codes(m) == (["EM0505"] if name in TAKES else [])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("F32_UBYTE1", []),
        ("F32_UBYTE2", ["EM0505"]),
        ("F32_F16", []),
        ("F32_U32", ["EM0505"]),
    ],
)
def test_a_conversion_takes_a_part_of_the_register(arch, name, found):
    """Two bytes are written."""
    writes = b"".join(byte_store(arch, at) for at in (4, 5))
    load = wait(arch), load_of(arch, 32, 4), wait(arch)
    step = rig.encode(arch, "VOP1", f"V_CVT_{name}", vdst=HERE, src0=HERE)
    assert rig.codes(checked(arch, writes, *load, step, uses(arch))) == found


@pytest.mark.parametrize(("byte", "found"), [(0, []), (1, []), (2, ["EM0505"])])
def test_a_selected_byte_is_no_more_than_that(byte, found):
    arch, fields = "gfx942", {"dst_sel": 6, "src0_sel": byte, "src0": 249}
    writes = b"".join(byte_store(arch, at) for at in (4, 5))
    load = wait(arch), load_of(arch, 32, 4), wait(arch)
    step = rig.encode(
        arch, "VOP1_SDWA", "V_CVT_F16_I16", vdst=HERE, vsrc0=HERE, **fields
    )
    assert rig.codes(checked(arch, writes, *load, step, uses(arch))) == found


@pytest.mark.parametrize("name", ["V_ADD_U16", "V_SUB_U16", "V_MUL_LO_U16"])
@pytest.mark.parametrize(("offset", "found"), [(4, []), (3, ["EM0505"])])
def test_low_bits_depend_on_no_higher_ones(name, offset, found):
    """Of a byte and one that nobody wrote, in either order."""
    arch = "gfx942"
    load = wait(arch), load_of(arch, 16, offset), wait(arch)
    steps = moved(arch, name, src0=HERE), moved(arch, "V_AND_B32", src0=15)
    m = checked(arch, byte_store(arch, 4), *load, *steps, uses(arch))
    assert rig.codes(m) == found


@pytest.mark.parametrize(("half", "found"), [(0, []), (1, ["EM0505"])])
def test_a_sum_of_64_bits_begins_below_its_upper_half(half, found):
    """Two registers are added of which nobody wrote the upper one."""
    arch, pair = "gfx942", 256 + RESULT - 1
    total = rig.encode(
        arch, "VOP3SD", "V_MAD_U64_U32", vdst=pair, sdst=40, src0=128, src1=128,
        src2=pair,
    )  # fmt: skip
    steps = total, rig.encode(arch, "VOP1", "V_MOV_B32", vdst=HERE, src0=pair + half)
    load = load_of(arch, 32, 4), wait(arch)
    assert rig.codes(checked(arch, *load, *steps, uses(arch))) == found


def bitop(bits, table):
    """V_BITOP3 of the loaded register and 15."""
    register = 256 + RESULT
    return rig.encode(
        "gfx950", "VOP3", f"V_BITOP3_B{bits}", vdst=register, src0=register,
        src1=128 + 15, src2=128, omod=table >> 6, abs=table >> 3 & 7, neg=table & 7,
    )  # fmt: skip


AND, OR = 0xC0, 0xFC


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((bitop(32, AND),), []),
        ((bitop(32, OR),), ["EM0505"]),
        ((bitop(16, OR),), ["EM0505"]),
        ((bitop(16, OR), bitop(32, AND)), []),
    ],
)
def test_a_table_of_three_bits_moves_poison(steps, found):
    writes = b"".join(byte_store("gfx950", at) for at in (4, 5))
    loads = wait("gfx950"), load_of("gfx950", 32, 4), wait("gfx950")
    m = checked("gfx950", writes, *loads, *steps, uses("gfx950"))
    assert rig.codes(m) == found


TEMPORARY = 40
SAME = dict.fromkeys(("sdst", "ssrc0", "ssrc1"), TEMPORARY)
COPIES = {
    "an accumulator": (
        ("VOP3P", "V_ACCVGPR_WRITE", {"vdst": 256, "src0": HERE}),
        ("VOP3P", "V_ACCVGPR_READ", {"vdst": HERE, "src0": 256}),
    ),
    "a swap": (
        ("VOP1", "V_SWAP_B32", {"vdst": 256 + TEMPORARY, "src0": HERE}),
        ("VOP1", "V_MOV_B32", {"vdst": HERE, "src0": 256 + TEMPORARY}),
    ),
    "two at once": (
        ("VOP3P", "V_PK_MOV_B32", {"vdst": HERE, "src0": HERE, "src1": HERE}),
    ),
    "a pair of scalar halves": (
        ("VOP1", "V_READFIRSTLANE_B32", {"vdst": 256 + TEMPORARY, "src0": HERE}),
        ("SOP2", "S_PACK_LL_B32_B16", SAME),
        ("VOP1", "V_MOV_B32", {"vdst": HERE, "src0": TEMPORARY}),
    ),
    "a choice of scalars": (
        ("VOP1", "V_READFIRSTLANE_B32", {"vdst": 256 + TEMPORARY, "src0": HERE}),
        ("SOP2", "S_CSELECT_B32", SAME),
        ("VOP1", "V_MOV_B32", {"vdst": HERE, "src0": TEMPORARY}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_copies_hold_poison_by_bits(name):
    """Low bits that are written stay so, and those that are not."""
    arch, found = "gfx942", []
    for first in (4, 3):
        steps = [rig.encode(arch, cls, op, **at) for cls, op, at in COPIES[name]]
        steps.append(moved(arch, "V_AND_B32", src0=15))
        load = wait(arch), load_of(arch, 32, first), wait(arch)
        writes = b"".join(byte_store(arch, at) for at in (4, 5))
        found.append(rig.codes(checked(arch, writes, *load, *steps, uses(arch))))
    assert found == [[], ["EM0505"]]


def test_a_swap_takes_poison_with_it():
    arch = "gfx942"
    swap = rig.encode(arch, "VOP1", "V_SWAP_B32", vdst=256 + TEMPORARY, src0=HERE)
    load = wait(arch), load_of(arch, 32, 3), wait(arch)
    assert rig.codes(checked(arch, *load, uses(arch))) == ["EM0505"]
    assert rig.codes(checked(arch, *load, swap, uses(arch))) == []


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_a_store_of_a_byte_takes_no_other(arch):
    code = vector_memory(
        arch, "GLOBAL_STORE_BYTE", "GLOBAL_STORE_B8", data=256 + RESULT
    )
    for at, found in ((4, []), (3, ["EM0505"])):
        load = load_of(arch, 32, at)
        m = checked(arch, byte_store(arch, 4), wait(arch), load, wait(arch), code)
        assert rig.codes(m) == found


@pytest.mark.parametrize("arch", ARCHES)
def test_poison_that_is_never_used_is_no_matter(arch):
    assert rig.codes(checked(arch, load(arch), wait(arch))) == []


def buffer_store(arch):
    """Store the loaded register and the one before it, within a resource."""
    fields = {"vdata": HERE - 1, "vaddr": 256 + INDEX, "offen": 1}
    if arch == "gfx1201":
        fields |= {"soffset": 124, "rsrc": LIMIT}
        return rig.encode(arch, "VBUFFER", "BUFFER_STORE_B64", **fields)
    name = "BUFFER_STORE_DWORDX2" if arch in CDNA else "BUFFER_STORE_B64"
    return rig.encode(arch, "MUBUF", name, soffset=128, srsrc=LIMIT, **fields)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("offset", "found"), [(4, ["EM0505"]), (8, []), (12, []), (1 << 31, [])]
)
def test_poison_that_a_resource_drops_is_no_matter(arch, offset, found):
    """The second of two words is poison, and the resource holds three words."""

    def given(m):
        address, m.V[INDEX] = rig.region(m)[1], offset
        last = 0x27000 if arch in CDNA else 3 << 28 | 0x14FAC
        words = (address & 0xFFFFFFFF, address >> 32, 12, last)
        for k, word in enumerate(words):
            m.S[LIMIT + k] = word

    code = load(arch), wait(arch), buffer_store(arch)
    assert rig.codes(checked(arch, *code, given=given)) == found


GOT = RESULT + 1


def lds(arch, old, new, **fields):
    """A DS instruction by its names before and from gfx11 on; at address 0."""
    places = {key: 256 + row for key, row in fields.items()}
    name = old if arch in CDNA else new
    return rig.encode(arch, "DS", name, addr=256 + INDEX, **places)


def lds_wait(arch):
    if arch == "gfx1201":
        return rig.encode(arch, "SOPP", "S_WAIT_DSCNT", simm16=0)
    return rig.encode(arch, "SOPP", "S_WAITCNT", simm16=0)


def exchanged(arch):
    """Of a word in LDS, half written, a lane reads all and exchanges what it read."""
    order = ("data0", "data1") if arch in CDNA else ("data1", "data0")
    values = dict(zip(order, (RESULT, DATA), strict=True))
    return (
        lds(arch, "DS_WRITE_B16", "DS_STORE_B16", data0=DATA),
        lds(arch, "DS_READ_B32", "DS_LOAD_B32", vdst=RESULT) + lds_wait(arch),
        lds(arch, "DS_CMPST_RTN_B32", "DS_CMPSTORE_RTN_B32", vdst=GOT, **values),
        lds_wait(arch),
    )


def branch(arch, one, other):
    """A branch on whether two registers are the same."""
    compare = rig.encode(
        arch, "VOPC", "V_CMP_EQ_U32", src0=256 + one, vsrc1=256 + other
    )
    return compare + rig.encode(arch, "SOPP", "S_CBRANCH_VCCNZ", simm16=0)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("sides", "found"),
    [((GOT, RESULT), []), ((RESULT, GOT), []), ((GOT, DATA), ["EM0505"])],
)
def test_whether_an_exchange_took_place_is_known(arch, sides, found):
    code = (*exchanged(arch), branch(arch, *sides))
    assert rig.codes(checked(arch, *code)) == found


@pytest.mark.parametrize("arch", ARCHES)
def test_another_value_is_not_what_was_exchanged(arch):
    move = rig.encode(arch, "VOP1", "V_MOV_B32", vdst=256 + GOT, src0=256 + DATA)
    code = (*exchanged(arch), move, branch(arch, GOT, RESULT))
    assert rig.codes(checked(arch, *code)) == ["EM0505"]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("DS_ADD_RTN_U32", "DS_ADD_RTN_U32", ["EM0505"]),
        ("DS_WRXCHG_RTN_B32", "DS_STOREXCHG_RTN_B32", []),
    ],
)
def test_a_sum_with_what_nobody_wrote_is_unknown(arch, old, new, found):
    code = (
        lds(arch, old, new, vdst=GOT, data0=DATA) + lds_wait(arch),
        lds(arch, "DS_READ_B32", "DS_LOAD_B32", vdst=RESULT) + lds_wait(arch),
        uses(arch),
    )
    assert rig.codes(checked(arch, *code)) == found
