"""Vector memory: every load, store and atomic against bytes and Python integers."""

from __future__ import annotations

import numpy as np
import places
import pytest
import rig
from accesses import VECTOR, Atomic, Load, Store, special
from families import ARCHES, mnemonics
from rig import get, put

DATA, RESULT = 20, 40
CACHE = {
    "BUFFER_INV", "BUFFER_WBL2", "BUFFER_GL0_INV", "BUFFER_GL1_INV", "GLOBAL_INV",
    "GLOBAL_WB", "GLOBAL_WBINV",
}  # fmt: skip
ENCODINGS = ("GLOBAL", "FLAT", "SCRATCH", "MUBUF", "VGLOBAL", "VFLAT", "VSCRATCH",
             "VBUFFER")  # fmt: skip


def part(mnemonic):
    """What a mnemonic says behind its encoding."""
    return mnemonic.partition("_")[2]


def rows_of(encoding):
    return [
        pytest.param(arch, cls, name, id=f"{arch}-{name}")
        for arch in ARCHES
        for cls, name in mnemonics(arch, "memory")
        if cls in encoding and part(name) in VECTOR[arch]
    ]


def returning(arch):
    return {"gfx1100": {"glc": 1}, "gfx1201": {"th": 1}}.get(arch, {"sc0": 1})


def operands(arch, cls, row, acc):
    """Fields of the data; a buffer has one register for data and result."""
    first = rig.VGPR + DATA
    has = rig.fields(arch, cls)
    found = {"acc": 1} if acc else {}
    if "vdata" in has:
        return found | {"vdata": first}
    found["vsrc" if "vsrc" in has else "data"] = first
    return found | {"vdst": rig.VGPR + RESULT}


def prepare(m, rng, row, spot, acc):
    """Random operands; special floats in registers and, for atomics, in memory."""
    shape = spot.at.shape
    count = getattr(row, "operands", 1)
    data = [special(row, rng, shape) for _ in range(count)]
    low = DATA + (256 if acc else 0)
    wide = max(1, row.size // 4)
    for n, value in enumerate(data):
        for k in range(wide):
            m.V[low + n * wide + k] = (value >> 32 * k & 0xFFFFFFFF).astype(np.uint32)
    if isinstance(row, Atomic):
        for wave, lane in np.ndindex(*shape):
            at = int(spot.at[wave, lane])
            if 0 <= at <= len(spot.memory) - row.size:
                cell = int(data[0].flat[rng.integers(0, data[0].size)])
                put(spot.memory, at, row.size, cell)
    return data


def expect(row, spot, data, active, old):
    """New memory, and the words that each active lane receives."""
    memory = spot.memory.copy()
    results = {}
    for wave, lane in zip(*np.nonzero(active), strict=True):
        at = int(spot.at[wave, lane])
        room = row.size if spot.whole is None else int(spot.whole[wave, lane])
        if isinstance(row, Load):
            raw = partial(memory, at, row.size, room)
            results[wave, lane] = row.result(raw, int(old[wave, lane]))
        elif isinstance(row, Store):
            keep(memory, at, row, room, int(data[0][wave, lane]))
        else:
            before = get(memory, at, row.size) if room >= row.size else 0
            values = [int(value[wave, lane]) for value in data]
            if room >= row.size:
                put(memory, at, row.size, row.new(before, values))
            results[wave, lane] = rig.split(before, row.size // 4)
    return memory, results


def partial(memory, at, size, room):
    """Words that are in range; the others read zero."""
    step = min(size, 4)
    total = 0
    for k in range(0, size, step):
        if room >= k + step:
            total |= get(memory, at + k, step) << 8 * k
    return total


def keep(memory, at, row, room, data):
    step = min(row.size, 4)
    for k in range(0, row.size, step):
        if room >= k + step:
            put(memory, at + k, step, row.value(data) >> 8 * k & ((1 << 8 * step) - 1))


def agree(row, got, want):
    if not isinstance(row, Atomic):
        return (got == want).all()
    cells = np.flatnonzero((got != want).reshape(-1, row.size).any(axis=1))
    return all(
        row.agrees(get(got, k * row.size, row.size), get(want, k * row.size, row.size))
        for k in cells
    )


def check(arch, cls, mnemonic, m, rng, spot, *, acc=False):
    """Run the instruction and compare memory and registers."""
    row = VECTOR[arch][part(mnemonic)]
    active = rig.random_exec(m, rng)
    data = prepare(m, rng, row, spot, acc)
    fields = {**spot.fields, **operands(arch, cls, row, acc)}
    returns = isinstance(row, Atomic) and rng.random() < 0.7
    fields |= returning(arch) if returns else {}
    target = (DATA if "vdata" in fields else RESULT) + (256 if acc else 0)
    before = m.V.copy()
    memory, results = expect(row, spot, data, active, before[target])
    rig.run(m, rig.encode(arch, cls, mnemonic, **fields))
    assert agree(row, spot.memory, memory)
    want = before
    if isinstance(row, Load) or returns:
        for (wave, lane), result in results.items():
            for k, word in enumerate(result):
                want[target + k, wave, lane] = word
    assert registers_agree(row, m.V, want, target)
    assert not rig.codes(m)


def registers_agree(row, got, want, target):
    if isinstance(row, Atomic) and row.form is not None:
        rows = slice(target, target + row.size // 4)
        pairs = zip(rig.join(got[rows]).flat, rig.join(want[rows]).flat, strict=True)
        if not all(row.agrees(g, w) for g, w in pairs):
            return False
        want[rows] = got[rows]
    return bool((got == want).all())


def spread(arch, mnemonic, m, rng, room=4096):
    """Positions that suit an access: stores apart, atomics aligned and crowded."""
    row = VECTOR[arch][part(mnemonic)]
    if isinstance(row, Atomic):
        return places.slots(rng, m, row.size, row.size, unique=False, room=128)
    unique = isinstance(row, Store)
    return places.slots(rng, m, row.size, 1, unique=unique, room=room)


@pytest.mark.parametrize(("arch", "cls", "mnemonic"), rows_of(("GLOBAL", "VGLOBAL")))
def test_global(arch, cls, mnemonic):
    rng = rig.seeded(arch, mnemonic)
    for place in (places.global_pointer, places.global_scalar):
        m = rig.machine(arch, rng)
        spot = place(arch, m, rng, spread(arch, mnemonic, m, rng))
        acc = "acc" in rig.fields(arch, cls) and bool(rng.random() < 0.5)
        check(arch, cls, mnemonic, m, rng, spot, acc=acc)


@pytest.mark.parametrize(("arch", "cls", "mnemonic"), rows_of(("FLAT", "VFLAT")))
def test_flat(arch, cls, mnemonic):
    rng = rig.seeded(arch, mnemonic)
    m = rig.machine(arch, rng)
    spot = places.flat(arch, m, rng, spread(arch, mnemonic, m, rng))
    check(arch, cls, mnemonic, m, rng, spot)


FORMS = [(True, False), (False, True), (True, True), (False, False)]


@pytest.mark.parametrize(("arch", "cls", "mnemonic"), rows_of(("SCRATCH", "VSCRATCH")))
def test_scratch(arch, cls, mnemonic):
    rng = rig.seeded(arch, mnemonic)
    for vector, scalar in FORMS[: 2 if arch == "gfx90a" else 4]:
        m = rig.machine(arch, rng)
        shape = (m.shape.waves, m.lanes)
        at = rng.integers(64, 256 - 64 - 16, shape)
        spot = places.scratch(arch, m, rng, at, vector=vector, scalar=scalar)
        check(arch, cls, mnemonic, m, rng, spot)


def kinds_of_buffers(rng):
    """All ways to address, with limits that some lanes pass in part or whole."""
    for idxen, offen, stride in ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, 1, 16),
                                 (1, 0, 24), (1, 1, 24)):  # fmt: skip
        # Not a multiple of 16, so that some lane is in range with a part only.
        records = int(rng.integers(10, 90)) * 16 + int(rng.integers(4, 13))
        if idxen and stride:
            records = int(rng.integers(20, 100))
        yield places.Buffer(
            stride, records, int(rng.integers(0, 4)), idxen, offen,
            int(rng.integers(0, 32)) * 8, int(rng.integers(0, 8)) * 8,
        )  # fmt: skip


@pytest.mark.parametrize(("arch", "cls", "mnemonic"), rows_of(("MUBUF", "VBUFFER")))
def test_buffer(arch, cls, mnemonic):
    rng = rig.seeded(arch, mnemonic)
    row = VECTOR[arch][part(mnemonic)]
    # Chips of one family share the code: each takes every second way to address.
    first = ARCHES.index(arch) % 2
    for kind in list(kinds_of_buffers(rng))[first::2]:
        m = rig.machine(arch, rng, size=8192)
        shape = (m.shape.waves, m.lanes)
        index = rng.permutation(shape[0] * shape[1]).reshape(shape)
        within = rng.permutation(shape[0] * shape[1]).reshape(shape) * 16
        if isinstance(row, Store) and kind.idxen and kind.stride:
            within = np.zeros(shape, np.int64)
        if isinstance(row, Store) and not (kind.offen or (kind.idxen and kind.stride)):
            continue
        if isinstance(row, Load):
            within = rng.integers(0, 64 if kind.stride else 2000, shape)
        elif not isinstance(row, Store) and kind.idxen and kind.stride:
            within = within % 64
        align = row.size if isinstance(row, Atomic) else 1
        spot = places.buffer(arch, m, rng, kind, index, within, align)
        check(arch, cls, mnemonic, m, rng, spot)


def test_every_implemented_instruction_has_a_reference():
    for arch in ARCHES:
        names = [
            n for cls, n in mnemonics(arch, "memory")
            if cls in ENCODINGS and "_LDS_" not in n
        ]  # fmt: skip
        assert not {n for n in names if part(n) not in VECTOR[arch]} - CACHE
