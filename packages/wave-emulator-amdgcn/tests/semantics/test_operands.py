"""Source operands by their number: constants, scalar registers, flags, literals."""

from __future__ import annotations

import struct

import families
import numpy as np
import pytest
from assemble import VGPR, encode, execute, machine

from wave_emulator_amdgcn.errors import UnknownInstructionError

FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0,
          247: -4.0}  # fmt: skip
INVERSE_TWO_PI = {"e": 0x3118, "f": 0x3E22F983, "d": 0x3FC45F306DC9C882}
WIDTHS = {"e": 16, "f": 32, "d": 64}
LITERAL = 0x9E3779B9


def float_bits(form, value):
    return int.from_bytes(struct.pack("<" + form, value), "little")


def constant(code, form):
    """An inline constant in the type of its operand; None for other numbers."""
    width = WIDTHS[form]
    if 128 <= code <= 192:
        return code - 128
    if 193 <= code <= 208:
        return (192 - code) % (1 << width)
    if code in FLOATS:
        return float_bits(form, FLOATS[code])
    return INVERSE_TWO_PI[form] if code == 248 else None


def _length(pair):
    return len(pair[0]), pair[0]


def find(arch, *names):
    for cls, op in sorted(families.implemented(arch), key=_length):
        if families.plain(op.name) in names and "LIT" not in cls:
            return families.encoding_class(arch, cls), op
    raise LookupError(names)


@pytest.mark.parametrize("arch", families.ARCHES)
def test_constants_of_32_bits(arch):
    cls, op = find(arch, "V_MOV_B32")
    for code in range(128, 249):
        want = constant(code, "f")
        if want is not None:
            m = execute(machine(arch, 2), encode(cls, op, src0=code, vdst=10 + VGPR))
            assert (m.V[10] == want).all(), code


@pytest.mark.parametrize("arch", families.ARCHES)
def test_constants_of_16_and_64_bits(arch):
    """The largest of a constant and a NaN is the constant."""
    for names, form in ((("V_MAX_F16", "V_MAX_NUM_F16"), "e"),
                        (("V_MAX_F64", "V_MAX_NUM_F64"), "d")):  # fmt: skip
        cls, op = find(arch, *names)
        second = "vsrc1" if "vsrc1" in dict(cls._fields) else "src1"
        for code in range(128, 249):
            want = constant(code, form)
            if want is None:
                continue
            m = machine(arch, 2)
            m.V[4], m.V[5], m.V[10] = 0x7FF87E00, 0x7FF80000, 0
            execute(m, encode(cls, op, src0=code, vdst=10 + VGPR, **{second: 4 + VGPR}))
            got = int(m.V[10, 0, 0]) | (int(m.V[11, 0, 0]) << 32 if form == "d" else 0)
            assert got == want, (names, code)


@pytest.mark.parametrize("arch", families.ARCHES)
def test_scalar_registers_and_flags(arch):
    cls, op = find(arch, "V_MOV_B32")
    m0 = 124 if arch.startswith("gfx9") else 125
    for code in (0, 7, 101, 106, m0, 126, 251, 252, 253):
        m = machine(arch, 2)
        m.S[106] = m.S[107] = 0
        m.S[m0] = 77
        want = (
            m.S[code][:, None]
            if code < 128
            else {251: np.ones((2, 1)), 252: np.zeros((2, 1)), 253: m.scc[:, None]}[
                code
            ]
        )
        want = np.array(want, np.uint32).copy()
        execute(m, encode(cls, op, src0=code, vdst=10 + VGPR))
        assert (m.V[10] == want).all(), code


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_null_reads_zero_and_keeps_nothing(arch):
    move, wide = find(arch, "V_MOV_B32"), find(arch, "S_MOV_B64")
    m = machine(arch, 2)
    before = m.S.copy()
    execute(
        m, encode(*wide, sdst=124, ssrc0=4), encode(*move, src0=124, vdst=10 + VGPR)
    )
    assert (m.V[10] == 0).all()
    assert (m.S[:124] == before[:124]).all()
    assert (m.S[125:] == before[125:]).all()


@pytest.mark.parametrize("arch", families.ARCHES)
def test_literals(arch):
    name = "V_MOV_B32"
    _, op = find(arch, name)
    cls = families.any_class(arch, "VOP1_LIT")
    code = encode(cls, op, src0=255, vdst=10 + VGPR, literal=LITERAL)
    m = execute(machine(arch, 2), code)
    assert (m.V[10] == LITERAL).all()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_a_literal_of_a_double_is_its_upper_half(arch):
    _, op = find(arch, "V_RNDNE_F64")
    cls = families.any_class(arch, "VOP1_LIT")
    m = machine(arch, 2)
    execute(m, encode(cls, op, src0=255, vdst=10 + VGPR, literal=0x40080000))
    assert (m.V[11] == 0x40080000).all()
    assert (m.V[10] == 0).all()


@pytest.mark.parametrize("arch", families.ARCHES)
def test_halves_of_packed_constants(arch):
    """Integers have 32 bits, f16 stands low; 16-bit integers see the bits of f32."""
    for name, code, low, high in (
        ("V_PK_ADD_U16", 193, 0xFFFF, 0xFFFF), ("V_PK_ADD_U16", 130, 2, 0),
        ("V_PK_ADD_U16", 242, 0, 0x3F80), ("V_PK_ADD_F16", 242, 0x3C00, 0),
    ):  # fmt: skip
        cls, op = find(arch, name)
        m = machine(arch, 2)
        m.V[4] = 0
        execute(m, encode(cls, op, src0=code, src1=4 + VGPR, vdst=10 + VGPR))
        assert (m.V[10] == (high << 16 | low)).all(), (name, code)


@pytest.mark.parametrize("arch", families.ARCHES)
@pytest.mark.parametrize("code", [209, 232, 239, 254])
def test_an_operand_without_meaning_is_refused(arch, code):
    cls, op = find(arch, "V_MOV_B32")
    with pytest.raises(UnknownInstructionError, match=f"source operand {code}"):
        execute(machine(arch, 1), encode(cls, op, src0=code, vdst=10 + VGPR))


@pytest.mark.parametrize(
    ("arch", "control"),
    [("gfx942", 0x160), ("gfx942", 0x100), ("gfx1100", 0x130), ("gfx1100", 0x142)],
)
def test_a_dpp_control_that_the_family_lacks_is_refused(arch, control):
    _, op = find(arch, "V_MOV_B32")
    code = encode(families.any_class(arch, "VOP1_DPP16"), op, src0=250,
                  vsrc0=2 + VGPR, vdst=10 + VGPR, dpp=control)  # fmt: skip
    with pytest.raises(UnknownInstructionError, match="DPP control"):
        execute(machine(arch, 1), code)


def test_scalars_where_several_registers_are_read_are_refused():
    cls, op = find("gfx950", "V_CVT_SCALEF32_PK32_F32_FP6")
    code = encode(cls, op, src0=4, src1=128, vdst=10 + VGPR)
    with pytest.raises(UnknownInstructionError, match="EM0302"):
        execute(machine("gfx950", 2), code)


@pytest.mark.parametrize("name", ["V_PERMLANE16_B32", "V_PERMLANEX16_B32"])
def test_lanes_pick_among_equal_ones_where_the_source_is_a_scalar(name):
    cls, op = find("gfx1201", name)
    m = machine("gfx1201", 2)
    m.S[4] = 7
    execute(m, encode(cls, op, src0=4, src1=128, src2=128, vdst=10 + VGPR))
    assert (m.V[10] == 7).all()
