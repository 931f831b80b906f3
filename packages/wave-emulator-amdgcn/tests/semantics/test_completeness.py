"""No instruction is implemented without a reference."""

from __future__ import annotations

from dataclasses import replace

import families
import lanes_of
import numpy as np
import packed_reference
import pytest
import scalar_reference
from test_approximations import SCALAR_FORMS
from test_vector import instructions, run

from wave_emulator_amdgcn.isa.binding import vector_table

#: Tested with all the values of its table by test_dual.
BITS = {"V_BITOP3_B32", "V_BITOP3_B16"}


def vector_tables(arch):
    ieee, cdna = arch != "gfx1201", arch.startswith("gfx9")
    return [
        lanes_of.rows(arch), packed_reference.halves(ieee=ieee), packed_reference.PAIRS,
        packed_reference.dots(cdna=cdna), packed_reference.SIGNED_BY_NEG,
        packed_reference.MIXED, {"V_PK_MOV_B32"}, BITS, SCALAR_FORMS,
    ]  # fmt: skip


@pytest.mark.parametrize("arch", families.ARCHES)
def test_scalar_instructions_have_references(arch):
    assert families.without(arch, "scalar", [scalar_reference.rows()]) == []


@pytest.mark.parametrize("arch", families.ARCHES)
def test_vector_instructions_have_references(arch):
    assert families.without(arch, "vector", vector_tables(arch)) == []


@pytest.mark.parametrize("arch", families.ARCHES)
def test_every_encoding_is_in_a_family(arch):
    known = {"scalar", "vector", "smallfloat", "lanes", "matrix", "memory", "control"}
    found = {families.family(c, families.plain(o.name))
             for c, o in families.implemented(arch)}  # fmt: skip
    assert found <= known
    assert {"scalar", "vector", "memory"} <= found


def wrong(function):
    """The same with the lowest bit of every result turned."""

    def call(*values):
        result = np.array(function(*values))
        bits = result.view(f"u{result.dtype.itemsize}").copy()
        return (bits ^ bits.dtype.type(1)).view(result.dtype)

    return call


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("VOP1", "V_CVT_F32_I32"), ("VOP1", "V_FRACT_F32"), ("VOP1", "V_FFBH_U32"),
        ("VOP2", "V_ADD_F32"), ("VOP2", "V_MIN_F16"), ("VOP2", "V_LSHLREV_B16"),
        ("VOP3", "V_FMA_F64"), ("VOP3", "V_MED3_F32"), ("VOP3", "V_PERM_B32"),
        ("VOP3", "V_LSHL_ADD_U64"), ("VOP3", "V_CVT_PKNORM_I16_F32"),
        ("VOPC", "V_CMP_LT_F32"), ("VOPC", "V_CMP_CLASS_F16"),
    ],
)  # fmt: skip
def test_a_wrong_result_is_seen(monkeypatch, encoding, name):
    arch, table = "gfx942", vector_table()
    cls, op = next((c, o) for c, o, n in instructions(arch, encoding) if n == name)
    assert run(arch, cls, op, name) == []
    row = replace(table[name], function=wrong(table[name].function))
    monkeypatch.setitem(table, name, row)
    assert run(arch, cls, op, name) != []
