"""Loads from memory straight to LDS: lane i lands at M0 + offset + i times its size."""

from __future__ import annotations

import numpy as np
import places
import pytest
import rig
from families import ARCHES, mnemonics

from wave_emulator_amdgcn.errors import UnknownInstructionError

M0 = 124
WIDTHS = {
    "gfx90a": {"DWORD": 4},
    "gfx942": {"DWORD": 4},
    "gfx950": {"DWORD": 4, "DWORDX3": 12, "DWORDX4": 16},
}
CASES = [
    (arch, tail, size) for arch, row in WIDTHS.items() for tail, size in row.items()
]


def expected(m, spot, active, start, offset, size):
    lds = m.lds.data.copy()
    for wave, lane in zip(*np.nonzero(active), strict=True):
        at, room = int(spot.at[wave, lane]), 1 << 30
        if spot.whole is not None:
            room = int(spot.whole[wave, lane])
        target = wave * m.lds_stride + int(start[wave]) + offset + lane * size
        for k in range(0, size, 4):
            value = rig.get(spot.memory, at + k, 4) if room >= k + 4 else 0
            rig.put(lds, target + k, 4, value)
    return lds


def begin(arch, rng):
    m = rig.machine(arch, rng, lds=4096)
    start = rng.integers(16, 256, 2) * 4
    m.S[M0] = start
    return m, rig.random_exec(m, rng), start


@pytest.mark.parametrize("place", [places.global_pointer, places.global_scalar])
@pytest.mark.parametrize(("arch", "tail", "size"), CASES)
def test_global(arch, tail, size, place):
    rng = rig.seeded(arch, tail, place.__name__)
    m, active, start = begin(arch, rng)
    at = rng.integers(0, 1000, active.shape) * 4
    offset = int(rng.integers(-16, 16)) * 4
    spot = place(arch, m, rng, at)
    moved = spot.fields["offset"] - offset
    if "saddr" in spot.fields and spot.fields["saddr"] != 127:
        m.V[places.ADDRESS] += np.uint32(moved & 0xFFFFFFFF)
    else:
        pointer = rig.join(m.V[places.ADDRESS : places.ADDRESS + 2]) + moved
        places._set64(m, places.ADDRESS, pointer)
    spot.fields["offset"] = offset
    want = expected(m, spot, active, start, offset, size)
    name = "GLOBAL_LOAD_DWORD" if arch == "gfx90a" else f"GLOBAL_LOAD_LDS_{tail}"
    # gfx90a has a bit where gfx942 has one that switches a scratch address.
    fields = {**spot.fields, "sve": 1} if arch == "gfx90a" else spot.fields
    before = m.V.copy()
    rig.run(m, rig.encode(arch, "GLOBAL", name, **fields))
    assert (m.lds.data == want).all()
    assert (before == m.V).all()


@pytest.mark.parametrize(("arch", "tail", "size"), CASES)
def test_buffer(arch, tail, size):
    rng = rig.seeded(arch, tail)
    m, active, start = begin(arch, rng)
    kind = places.Buffer(records=1800, offen=1, offset=24, scalar=16)
    within = rng.integers(0, 500, active.shape) * 4
    spot = places.buffer(arch, m, rng, kind, np.zeros_like(within), within, 4)
    want = expected(m, spot, active, start, 24, size)
    before = m.V.copy()
    name = f"BUFFER_LOAD_{tail}"
    rig.run(m, rig.encode(arch, "MUBUF", name, lds=1, **spot.fields))
    assert (m.lds.data == want).all()
    assert (before == m.V).all()
    assert not rig.codes(m)


def test_beyond_the_workgroup_is_reported_and_not_executed():
    rng = rig.seeded("dma")
    m = rig.machine("gfx942", rng, lds=128)
    m.S[M0] = 64
    spot = places.global_pointer("gfx942", m, rng, np.zeros((2, 64), np.int64))
    spot.fields["offset"] = 0
    places._set64(m, places.ADDRESS, np.full((2, 64), rig.region(m)[1]))
    memory = m.lds.data.copy()
    rig.run(m, rig.encode("gfx942", "GLOBAL", "GLOBAL_LOAD_LDS_DWORD", **spot.fields))
    assert rig.codes(m) == ["EM0503"]
    changed = np.flatnonzero(m.lds.data != memory)
    assert set(changed // 64) <= {1, 3}


WIDE = [("gfx942", "GLOBAL_LOAD_LDS_DWORDX4"), ("gfx942", "GLOBAL_LOAD_LDS_UBYTE"),
        ("gfx90a", "GLOBAL_LOAD_LDS_DWORD")]  # fmt: skip


@pytest.mark.parametrize(("arch", "name"), WIDE)
def test_widths_that_an_architecture_lacks_are_refused(arch, name):
    m = rig.machine(arch, rig.seeded(arch))
    with pytest.raises(UnknownInstructionError, match="EM0301"):
        rig.run(m, rig.encode(arch, "GLOBAL", name))


def test_wide_buffer_forms_are_refused_before_gfx950():
    for arch in ("gfx90a", "gfx942"):
        m = rig.machine(arch, rig.seeded(arch))
        code = rig.encode(arch, "MUBUF", "BUFFER_LOAD_DWORDX4", lds=1)
        with pytest.raises(UnknownInstructionError, match="EM030"):
            rig.run(m, code)


def test_every_implemented_instruction_has_a_reference():
    for arch in ARCHES:
        names = {n for _, n in mnemonics(arch, "memory") if "_LDS_" in n}
        tails = WIDTHS.get(arch, {}) if arch != "gfx90a" else {}
        assert names == {f"GLOBAL_LOAD_LDS_{tail}" for tail in tails}
