"""Approximate functions: how far they are from the exact value, in ulps."""

from __future__ import annotations

import bitfloats as B
import families
import lanes_of
import numpy as np
import pytest
from assemble import VGPR, encode, execute, machine

#: The largest error that docs/emulator.md states; 0 is correctly rounded.
LISTED = {
    "V_EXP_F16": 0, "V_EXP_F32": 0, "V_LOG_F16": 0, "V_LOG_F32": 0,
    "V_SIN_F16": 0, "V_SIN_F32": 0, "V_COS_F16": 0, "V_COS_F32": 0,
    "V_RCP_F16": 0, "V_RCP_F32": 0, "V_RCP_IFLAG_F32": 0, "V_RCP_F64": 0,
    "V_RSQ_F16": 0, "V_RSQ_F32": 0, "V_RSQ_F64": 1,
    "V_SQRT_F16": 0, "V_SQRT_F32": 0, "V_SQRT_F64": 0,
}  # fmt: skip
WAVES = 64
EXAMPLES = {
    "V_EXP_F32": {0xFF800000: 0, 0x80000000: 0x3F800000, 0x7F800000: 0x7F800000},
    "V_LOG_F32": {0x80000000: 0xFF800000, 0: 0xFF800000, 0x3F800000: 0,
                  0x7F800000: 0x7F800000},
    "V_RCP_F32": {0xFF800000: 0x80000000, 0xC0000000: 0xBF000000,
                  0x80000000: 0xFF800000, 0: 0x7F800000, 0x7F800000: 0,
                  0x00000001: 0x7F800000},
    "V_RSQ_F32": {0x80000000: 0xFF800000, 0: 0x7F800000, 0x40800000: 0x3F000000,
                  0x7F800000: 0},
    "V_SQRT_F32": {0x80000000: 0x80000000, 0: 0, 0x40800000: 0x40000000,
                   0x7F800000: 0x7F800000},
    "V_SIN_F32": {0xFF7FFFFF: 0, 0x80000000: 0x80000000, 0x3E800000: 0x3F800000},
    "V_COS_F32": {0xFF7FFFFF: 0x3F800000, 0x80000000: 0x3F800000, 0x3E800000: 0},
    "V_RCP_F16": {0xFC00: 0x8000, 0xC000: 0xB800, 0x8000: 0xFC00, 0: 0x7C00},
    "V_RSQ_F16": {0x8000: 0xFC00, 0: 0x7C00, 0x4400: 0x3800, 0x7C00: 0},
    "V_SQRT_F16": {0x8000: 0x8000, 0: 0, 0x4400: 0x4000, 0x7C00: 0x7C00},
}  # fmt: skip
"""Functional examples of the RDNA3.5 ISA manual, chapter VOP1; and a denormal."""


def samples(kind, count):
    """Codes of all f16; else bits of any exponent, and numbers of usual size."""
    rng = np.random.default_rng(9)
    if kind == "f16":
        return np.arange(0, 65536, 65536 // count)[:count].astype(object)
    words = rng.integers(0, 1 << 32, (2, count), dtype=np.uint64).astype(object)
    if kind == "f32":
        values = words[0]
        usual = (rng.standard_normal(count // 2) * 20).astype(np.float32)
        values[::2] = usual.view(np.uint32).astype(object)
        return values
    values = words[0] | words[1] << 32
    usual = np.abs(rng.standard_normal(count // 2)) * 20
    values[::2] = usual.view(np.uint64).astype(object)
    return values


def launch(arch, name, values):
    """The results of an instruction for as many lanes as there are values."""
    found = (
        (c, o) for c, o in families.implemented(arch) if families.plain(o.name) == name
    )
    cls, op = min(found, key=lambda pair: len(pair[0]))
    m = machine(arch, len(values) // families.ARCHITECTURES[arch].lanes, registers=16)
    shape = m.V[0].shape
    m.V[2] = (values & 0xFFFFFFFF).astype(np.uint32).reshape(shape)
    m.V[3] = (values >> 32).astype(np.uint32).reshape(shape)
    execute(m, encode(families.encoding_class(arch, cls), op, src0=2 + VGPR,
                      vdst=10 + VGPR))  # fmt: skip
    width = lanes_of.bits_of(name.rpartition("_")[2].lower())
    got = m.V[10].ravel().astype(object)
    got = got | m.V[11].ravel().astype(object) << 32 if width == 64 else got
    return [int(v) & (1 << width) - 1 for v in got]


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_error_in_ulps(arch, name):
    kind = name.rpartition("_")[2].lower()
    values = samples(kind, 4096)
    ref = lanes_of.rows(arch)[name]
    want, _ = lanes_of.apply(ref, [(int(v),) for v in values])
    got = launch(arch, name, values)
    error = [B.ulps(kind, g, w) for g, w in zip(got, want, strict=True)]
    assert max(error) <= LISTED[name]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("arch", families.ARCHES)
def test_examples_of_the_manual(arch, name):
    values = list(EXAMPLES[name]) + [0] * (64 - len(EXAMPLES[name]))
    got = launch(arch, name, np.array(values, dtype=object))
    assert got[: len(EXAMPLES[name])] == list(EXAMPLES[name].values())


def test_every_approximation_is_listed():
    rows = lanes_of.table(ieee=True)
    assert {name for name, ref in rows.items() if ref.ulp} == set(LISTED)


#: gfx12: the same of one scalar; a 16-bit result clears the other half.
SCALAR_FORMS = {
    f"V_S_{name}_F{bits}": f"V_{name}_F{bits}"
    for name in ("EXP", "LOG", "RCP", "RSQ", "SQRT")
    for bits in (16, 32)
}


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("name", SCALAR_FORMS)
def test_functions_of_scalars(name, flush):
    arch, plain = "gfx1201", SCALAR_FORMS[name]
    kind = plain.rpartition("_")[2].lower()
    values = lanes_of.operand(kind, 0)
    m = machine(arch, len(values), registers=1)
    m.set_mode(0 if flush else 0xF0)
    noise = m.S[4] & np.uint32(0xFFFF0000) if kind == "f16" else np.uint32(0)
    m.S[4] = np.array(values, np.uint32) | noise
    pairs = families.implemented(arch)
    cls, op = next((c, o) for c, o in pairs if families.plain(o.name) == name)
    code = encode(families.encoding_class(arch, cls), op, src0=4, vdst=6)
    execute(m, code)
    want, _ = lanes_of.apply(
        lanes_of.rows(arch)[plain], [(v,) for v in values], flush=flush
    )
    got = [int(w) for w in m.S[6]]
    assert lanes_of.differences(kind, got, want, ulp=LISTED[plain]) == []
