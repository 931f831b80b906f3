"""LDS: every instruction against bytes and Python integers, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest
import rig
from accesses import LDS, Atomic, Load, Store, special
from families import ARCHES, mnemonics
from rig import get, put

from wave_emulator_amdgcn.errors import UnknownInstructionError

ADDRESS, FIRST, SECOND, RESULT = 10, 20, 24, 40
STRIDE = 4096
MOVES = {"DS_SWIZZLE_B32", "DS_PERMUTE_B32", "DS_BPERMUTE_B32", "DS_BPERMUTE_FI_B32"}
TRANSPOSES = {"DS_READ_B64_TR_B16": 16, "DS_READ_B64_TR_B8": 8, "DS_READ_B64_TR_B4": 4,
              "DS_READ_B96_TR_B6": 6}  # fmt: skip


def _two():
    """Two addresses: bytes of an element, and of a step of the offsets."""
    found = {}
    for size in (4, 8):
        for reading in (True, False):
            old, new = ("READ", "LOAD") if reading else ("WRITE", "STORE")
            for step, tail9, tail11 in ((1, "", ""), (64, "ST64", "_STRIDE64")):
                row = (reading, size, size * step)
                found[f"DS_{old}2{tail9}_B{8 * size}"] = row
                found[f"DS_{new}_2ADDR{tail11}_B{8 * size}"] = row
    return found


TWO = _two()


def cases(accepts):
    return [
        pytest.param(arch, name, id=f"{arch}-{name}")
        for arch in ARCHES
        for cls, name in mnemonics(arch, "memory")
        if cls == "DS" and accepts(arch, name)
    ]


def encode(arch, name, offset0=0, offset1=0, acc=False, **more):
    extra = {"acc": 1} if acc else {}
    return rig.encode(
        arch, "DS", name, vdst=rig.VGPR + RESULT, addr=rig.VGPR + ADDRESS,
        data0=rig.VGPR + FIRST, data1=rig.VGPR + SECOND, offset0=offset0,
        offset1=offset1, **extra, **more,
    )  # fmt: skip


def has_acc(arch):
    return "acc" in rig.fields(arch, "DS")


def positions(rng, shape, row, room):
    """Offsets in a workgroup's LDS: stores apart, atomics aligned and crowded."""
    if isinstance(row, Atomic):
        return rng.integers(0, 16, shape) * row.size
    if isinstance(row, Store):
        lanes = shape[1]
        at = np.stack([rng.permutation(lanes) for _ in range(shape[0])]) * 16
        return at + rng.integers(0, 17 - row.size, shape)
    return rng.integers(0, room - row.size, shape)


def set_data(m, rng, row, shape, high):
    data = [special(row, rng, shape) for _ in range(getattr(row, "operands", 1))]
    for start, value in zip((FIRST, SECOND), data, strict=False):
        for k in range(max(1, row.size // 4)):
            word = (value >> 32 * k & 0xFFFFFFFF).astype(np.uint32)
            m.V[start + high + k] = word
    return data


def seed_cells(m, rng, row, data):
    """Special floats where atomics find them."""
    values = data[0].ravel()
    for group, cell in np.ndindex(2, 16):
        if rng.random() < 0.5:
            at = group * STRIDE + cell * row.size
            put(m.lds.data, at, row.size, int(values[rng.integers(0, values.size)]))


@pytest.mark.parametrize(("arch", "name"), cases(lambda arch, name: name in LDS[arch]))
def test_one_address(arch, name):
    rng, row = rig.seeded(arch, name), LDS[arch][name]
    m = rig.machine(arch, rng, lds=STRIDE)
    acc = has_acc(arch) and bool(rng.random() < 0.5)
    high = 256 if acc else 0
    active = rig.random_exec(m, rng)
    at = positions(rng, active.shape, row, STRIDE)
    offset = int(rng.integers(0, 64)) * 8 if isinstance(row, Atomic) else 100
    offset = min(offset, int(at.min()))
    m.V[ADDRESS] = at - offset
    data = set_data(m, rng, row, active.shape, high)
    if isinstance(row, Atomic):
        seed_cells(m, rng, row, data)
    before, memory = m.V.copy(), m.lds.data.copy()
    gives = "_RTN_" in name or isinstance(row, Load)
    for wave, lane in zip(*np.nonzero(active), strict=True):
        place = wave * STRIDE + int(at[wave, lane])
        values = [int(value[wave, lane]) for value in data]
        words = step(row, memory, place, values, int(before[RESULT + high, wave, lane]))
        if gives:
            before[RESULT + high : RESULT + high + len(words), wave, lane] = words
    rig.run(m, encode(arch, name, offset & 255, offset >> 8, acc=acc))
    assert same_memory(row, m.lds.data, memory)
    assert same_registers(row, m.V, before, RESULT + high)
    assert not rig.codes(m)


def step(row, memory, at, values, old):
    """Do one lane's access; the words it returns."""
    raw = get(memory, at, row.size)
    if isinstance(row, Load):
        return row.result(raw, old)
    new = row.value(values[0]) if isinstance(row, Store) else row.new(raw, values)
    put(memory, at, row.size, new)
    return rig.split(raw, max(1, row.size // 4))


def same_memory(row, got, want):
    if getattr(row, "form", None) is None:
        return bool((got == want).all())
    cells = np.flatnonzero((got != want).reshape(-1, row.size).any(axis=1))
    size = row.size
    return all(
        row.agrees(get(got, k * size, size), get(want, k * size, size)) for k in cells
    )


def same_registers(row, got, want, target):
    if getattr(row, "form", None) is not None:
        rows = slice(target, target + row.size // 4)
        pairs = zip(rig.join(got[rows]).flat, rig.join(want[rows]).flat, strict=True)
        if not all(row.agrees(g, w) for g, w in pairs):
            return False
        want[rows] = got[rows]
    return bool((got == want).all())


@pytest.mark.parametrize(("arch", "name"), cases(lambda arch, name: name in TWO))
def test_two_addresses(arch, name):
    rng = rig.seeded(arch, name)
    reading, size, scale = TWO[name]
    m = rig.machine(arch, rng, lds=STRIDE * 4)
    active = rig.random_exec(m, rng)
    lane = np.arange(m.lanes) * size * (1 if reading else 2)
    offsets = [3, 1] if not reading or rng.random() < 0.5 else [0, 5]
    m.V[ADDRESS] = lane
    before, memory = m.V.copy(), m.lds.data.copy()
    for wave, i in zip(*np.nonzero(active), strict=True):
        for half, start in enumerate((FIRST, SECOND)):
            at = wave * STRIDE * 4 + int(lane[i]) + offsets[half] * scale
            words = size // 4
            if reading:
                rows = RESULT + half * words
                found = rig.split(get(memory, at, size), words)
                before[rows : rows + words, wave, i] = found
            else:
                value = rig.join(before[start : start + words, wave, i])
                put(memory, at, size, int(value))
    rig.run(m, encode(arch, name, *offsets))
    assert (m.lds.data == memory).all()
    assert (before == m.V).all()


def permuted(name, data, address, active, offset):
    """What each lane receives, one lane after the other."""
    lanes = len(data)
    result = [0] * lanes
    for lane in range(lanes):
        other = (int(address[lane]) + offset) // 4 % lanes
        if name == "DS_PERMUTE_B32":
            if active[lane]:
                result[other] = int(data[lane])
        elif active[other] or name == "DS_BPERMUTE_FI_B32":
            result[lane] = int(data[other])
    return result


@pytest.mark.parametrize(
    ("arch", "name"), cases(lambda _, name: name in MOVES - {"DS_SWIZZLE_B32"})
)
def test_permutes(arch, name):
    rng = rig.seeded(arch, name)
    m = rig.machine(arch, rng)
    active = rig.random_exec(m, rng)
    m.V[ADDRESS] = rng.integers(0, 1 << 16, active.shape)
    offset = int(rng.integers(0, 1 << 14))
    want = m.V.copy()
    for wave in range(2):
        data, address = want[FIRST, wave], want[ADDRESS, wave]
        moved = permuted(name, data, address, active[wave], offset)
        want[RESULT, wave] = np.where(active[wave], moved, want[RESULT, wave])
    rig.run(m, encode(arch, name, offset & 255, offset >> 8))
    assert (want == m.V).all()


def swizzled(offset, lane):
    """The lane that a lane reads: bit masks, or two bits for each of four lanes."""
    if offset & 0x8000:
        return lane & ~3 | (offset >> 2 * (lane & 3) & 3)
    low = ((lane & 31) & (offset & 31) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)
    return lane & ~31 | low


@pytest.mark.parametrize(("arch", "name"), cases(lambda _, n: n == "DS_SWIZZLE_B32"))
def test_swizzles(arch, name):
    rng = rig.seeded(arch, name)
    for k in range(12):
        offset = int(rng.integers(0, 1 << 15)) if k % 2 else 0x8000 | int(k * 21)
        m = rig.machine(arch, rng)
        active = rig.random_exec(m, rng)
        want = m.V.copy()
        for wave, lane in zip(*np.nonzero(active), strict=True):
            other = swizzled(offset, int(lane))
            value = want[ADDRESS, wave, other] if active[wave, other] else 0
            want[RESULT, wave, lane] = value
        rig.run(m, encode(arch, name, offset & 255, offset >> 8))
        assert (want == m.V).all()


@pytest.mark.parametrize(("arch", "name"), cases(lambda _, name: name in TRANSPOSES))
def test_transposing_reads(arch, name):
    """Sixteen lanes hold rows of sixteen elements, and each receives a column."""
    rng, bits = rig.seeded(arch, name), TRANSPOSES[name]
    m = rig.machine(arch, rng)
    size = 12 if bits == 6 else 8
    count = size * 8 // bits
    at = np.stack([rng.permutation(m.lanes) for _ in range(2)]) * 16
    m.V[ADDRESS] = at
    rig.run(m, encode(arch, name))
    got = rig.join(m.V[RESULT : RESULT + size // 4])
    for wave, lane in np.ndindex(2, m.lanes):
        want = 0
        for k in range(count):
            element = k * 16 + lane % 16
            source = lane // 16 * 16 + element // count
            raw = get(m.lds.data, wave * STRIDE + int(at[wave, source]), size)
            code = raw >> element % count * bits & ((1 << bits) - 1)
            want |= code << k * bits
        assert got[wave, lane] == want


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("kind", [Load, Store, Atomic])
def test_beyond_the_workgroup_is_reported_and_not_executed(arch, kind):
    name = next(n for n, r in LDS[arch].items() if type(r) is kind and r.size == 4)
    rng = rig.seeded(arch, name)
    m = rig.machine(arch, rng, lds=64)
    m.V[ADDRESS] = np.arange(m.lanes) * 4
    memory, registers = m.lds.data.copy(), m.V.copy()
    rig.run(m, encode(arch, name))
    assert rig.codes(m) == ["EM0503"]
    (report,) = m.reports.values()
    assert (report.lane, report.address) == (16, 64)
    assert report.count == 2 * (m.lanes - 16)
    if kind is Load:
        assert not m.V[RESULT, :, 16:].any()
    else:
        changed = np.flatnonzero(m.lds.data != memory)
        assert set(changed // 64) <= {0, 1}
        assert (registers == m.V).all()


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("name", TRANSPOSES)
def test_transposing_reads_are_of_gfx950(arch, name):
    m = rig.machine(arch, rig.seeded(arch))
    with pytest.raises(UnknownInstructionError, match="EM0301"):
        rig.run(m, encode(arch, name))


def test_nop_changes_nothing():
    for arch in ARCHES:
        m = rig.machine(arch, rig.seeded(arch))
        before, memory = m.V.copy(), m.lds.data.copy()
        rig.run(m, encode(arch, "DS_NOP"))
        assert (before == m.V).all()
        assert (m.lds.data == memory).all()


def test_every_implemented_instruction_has_a_reference():
    for arch in ARCHES:
        known = {*LDS[arch], *TWO, *MOVES, *TRANSPOSES, "DS_NOP"}
        names = {n for cls, n in mnemonics(arch, "memory") if cls == "DS"}
        assert not names - known


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("kind", [Load, Store, Atomic])
def test_a_negative_register_that_the_offset_makes_up_for(arch, kind):
    name = next(n for n, r in LDS[arch].items() if type(r) is kind and r.size == 4)
    m = rig.machine(arch, rig.seeded(arch, name), lds=4 * 64)
    places = np.arange(m.lanes) * 4
    m.V[ADDRESS] = (places - 200).astype(np.uint32)
    stored = m.lds.data[: 4 * m.lanes].copy()
    rig.run(m, encode(arch, name, 200))
    assert rig.codes(m) == []
    if kind is Load:
        assert (m.V[RESULT, 0] == stored.view(np.uint32)).all()
    else:
        assert (m.lds.data[: 4 * m.lanes] != stored).any()
