"""Scalar loads, the counters of time, and what only touches caches."""

from __future__ import annotations

import re

import numpy as np
import pytest
import rig
from families import ARCHES, mnemonics

BASE, OFFSET, RESULT = 8, 13, 32
NOTHING = {
    "S_DCACHE_INV", "S_DCACHE_INV_VOL", "S_DCACHE_WB", "S_DCACHE_WB_VOL", "S_GL1_INV",
    "S_PREFETCH_INST", "S_PREFETCH_INST_PC_REL", "S_PREFETCH_DATA",
    "S_PREFETCH_DATA_PC_REL", "S_BUFFER_PREFETCH_DATA",
}  # fmt: skip
TIME = {"S_MEMTIME", "S_MEMREALTIME"}
CDNA = ("gfx90a", "gfx942", "gfx950")


def _table():
    """Bytes and sign by the end of a mnemonic."""
    found = {"DWORD": (4, 0), "I8": (1, 1), "U8": (1, 0), "I16": (2, 1), "U16": (2, 0)}
    for count in (1, 2, 3, 4, 8, 16):
        found[f"DWORDX{count}"] = found[f"B{32 * count}"] = (4 * count, 0)
    return {
        f"S_{head}LOAD_{tail}": (*row, bool(head))
        for head in ("", "BUFFER_")
        for tail, row in found.items()
    }


LOADS = _table()


def cases():
    return [
        pytest.param(arch, name, id=f"{arch}-{name}")
        for arch in ARCHES
        for cls, name in mnemonics(arch, "memory")
        if cls == "SMEM" and name in LOADS
    ]


def offset_fields(arch, immediate, register):
    """How an architecture writes an immediate, a register, or both."""
    if arch == "gfx1201":
        row = 124 if register is None else register
        return {"ioffset": immediate or 0, "soffset": row}
    if arch == "gfx1100":
        return {"offset": immediate or 0, "soffset": register or 124}
    if immediate is None:
        return {"offset": register, "imm": 0, "soffset_en": 0}
    extra = {"soffset": register, "soffset_en": 1} if register else {}
    return {"offset": immediate, "imm": 1, **extra}


def forms(rng, buffered):
    """Immediate and register, each with what it may be; sums stay positive."""
    low = 0 if buffered else -400
    yield int(rng.integers(low, 400)), None
    yield None, OFFSET
    yield int(rng.integers(low, 400)), OFFSET


def word(data, at, left):
    return rig.get(data, at, 4) if left >= 4 else 0


def value_of(data, at, size, sign, left):
    """What the first register holds for a byte or short."""
    raw = rig.get(data, at, size) if left >= size else 0
    if sign and raw >> (8 * size - 1):
        raw |= 0xFFFFFFFF << 8 * size
    return raw & 0xFFFFFFFF


@pytest.mark.parametrize(("arch", "name"), cases())
def test_loads(arch, name):
    rng = rig.seeded(arch, name)
    size, sign, buffered = LOADS[name]
    for immediate, register in forms(rng, buffered):
        m = rig.machine(arch, rng)
        data, address = rig.region(m)
        base = address + 512 + int(rng.integers(0, 4)) * (size < 4)
        stride, records = (16, 40) if rng.random() < 0.5 else (0, 500)
        words = [base & 0xFFFFFFFF, base >> 32 | (stride << 16 if buffered else 0),
                 records, 0]  # fmt: skip
        for k, value in enumerate(words):
            m.S[BASE + k] = value
        m.S[OFFSET] = rng.integers(0, 600, 2)
        before = m.S.copy()
        rig.run(m, rig.encode(arch, "SMEM", name, sbase=BASE, sdata=RESULT,
                              **offset_fields(arch, immediate, register)))  # fmt: skip
        limit = records * max(stride, 1) if buffered else 1 << 40
        for wave in range(2):
            parts = [immediate or 0, int(before[OFFSET, wave]) if register else 0]
            if size >= 4:
                parts = [value & ~3 for value in parts]
            shift = sum(parts)
            at = base - address + shift
            if size < 4:
                found = [value_of(data, at, size, sign, limit - shift)]
            else:
                found = [
                    word(data, at + 4 * k, limit - shift - 4 * k)
                    for k in range(size // 4)
                ]
            before[RESULT : RESULT + len(found), wave] = found
        assert (before == m.S).all()
        assert not rig.codes(m)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_load_outside_is_reported(arch):
    name = "S_LOAD_DWORD" if arch in CDNA else "S_LOAD_B32"
    m = rig.machine(arch, rig.seeded(arch))
    m.S[BASE], m.S[BASE + 1] = 0x1000, 0
    rig.run(m, rig.encode(arch, "SMEM", name, sbase=BASE, sdata=RESULT,
                          **offset_fields(arch, 4, None)))  # fmt: skip
    assert rig.codes(m) == ["EM0503"]
    assert not m.S[RESULT].any()


@pytest.mark.parametrize("arch", CDNA)
@pytest.mark.parametrize("name", sorted(TIME))
def test_time_goes_on(arch, name):
    m = rig.machine(arch, rig.seeded(arch))
    code = [rig.encode(arch, "SMEM", name, sdata=row) for row in (RESULT, RESULT + 2)]
    rig.run(m, b"".join(code))
    first, second = (int(rig.join(m.S[r : r + 2])[0]) for r in (RESULT, RESULT + 2))
    assert 0 <= first < second < 1 << 20


def cache_cases():
    wanted = re.compile(r"(BUFFER|GLOBAL)_(INV|WB\w*|GL[01]_INV)")
    return [
        pytest.param(arch, cls, name, id=f"{arch}-{name}")
        for arch in ARCHES
        for cls, name in mnemonics(arch, "memory")
        if name in NOTHING or wanted.fullmatch(name)
    ]


@pytest.mark.parametrize(("arch", "cls", "name"), cache_cases())
def test_cache_control_changes_nothing(arch, cls, name):
    m = rig.machine(arch, rig.seeded(arch, name))
    before = [m.V.copy(), m.S.copy(), m.memory.cells.data.copy(), m.lds.data.copy()]
    rig.run(m, rig.encode(arch, cls, name))
    after = [m.V, m.S, m.memory.cells.data, m.lds.data]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert not rig.codes(m)


def test_every_implemented_instruction_has_a_reference():
    for arch in ARCHES:
        names = {n for cls, n in mnemonics(arch, "memory") if cls == "SMEM"}
        assert not names - {*LOADS, *NOTHING, *TIME}
