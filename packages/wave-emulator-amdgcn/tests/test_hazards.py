"""Defects planted in machine code are reported; correct code raises no alarm."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
from tinygrad.renderer.amd.dsl import OFF, s, v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.codeobject import load
from wave_emulator_amdgcn.decode import decode
from wave_emulator_amdgcn.errors import EmulatorError
from wave_emulator_amdgcn.hazards.checks import Checks
from wave_emulator_amdgcn.hazards.planted import planted
from wave_emulator_amdgcn.launch import LaunchOptions, emulate
from wave_emulator_amdgcn.program import Program
from wave_isa_amdgcn.registers import SCALAR, rows_of

LOG = logging.getLogger(__name__)
NOP = 0xBF800000


def _inputs(name, arch):
    rng = np.random.default_rng(1)
    lanes = 64 if arch in ("gfx90a", "gfx942", "gfx950") else 32
    if name == "gemm":
        a, b = rng.standard_normal((2, 128, 128)).astype(np.float16)
        return [a, b, np.zeros((128, 128), np.float32)], (2, 2, 1)
    if name == "softmax":
        x = rng.standard_normal((64, 4 * lanes)).astype(np.float32)
        return [x, np.zeros_like(x)], (64, 1, 1)
    a = rng.standard_normal(4096).astype(np.float32)
    return [a, np.zeros_like(a)], (16, 1, 1)


def _weakened(ins, family):
    """The word of a wait that waits for nothing, or of no barrier; None for others."""
    if ins.name == "S_WAITCNT":
        return 0xBF8CCF7F if family == "cdna" else 0xBF89FFF7
    if ins.name.startswith("S_WAIT_") and ins.name.endswith("CNT"):
        return int.from_bytes(ins.source.to_bytes(), "little") | 0x3F
    return NOP if ins.name == "S_BARRIER" else None


def _mutants(data):
    """(instruction, changed file) for each wait and barrier that executes."""
    code = load(data)
    kernel = code.kernel()
    start = kernel.entry + (256 if kernel.descriptor.preload_dwords else 0)
    base, image = next(
        part for part in code.elf.image if part[0] <= start < part[0] + len(part[1])
    )
    shift = data.find(image) - base
    at = start
    while at < kernel.end:
        ins = decode(image, at - base, at, code.architecture)
        if ins is None:
            at += 4
            continue
        word = _weakened(ins, code.architecture.family)
        if word is not None:
            changed = bytearray(data)
            changed[shift + at : shift + at + 4] = word.to_bytes(4, "little")
            yield ins, bytes(changed)
        at += ins.size


CASES = [
    (name, arch)
    for arch in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
    for name in ("exchange", "softmax", "gemm")
    if name != "gemm" or arch in ("gfx90a", "gfx942", "gfx950")
]


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        # What gemm waits for is the same on the three machines.
        pytest.param(*c, marks=pytest.mark.fuzz)
        if c in (("gemm", "gfx90a"), ("gemm", "gfx950"))
        else c
        for c in CASES
    ],
)
def test_every_weakened_wait_and_barrier_is_reported(code_bytes, name, arch):
    silent = []
    for ins, data in _mutants(code_bytes(name, arch)):
        buffers, grid = _inputs(name, arch)
        if not emulate(load(data), buffers, grid=grid).reports:
            silent.append(ins)
    # The first barrier of gemm stands before anything touched LDS: it is not needed.
    allowed = 1 if name == "gemm" else 0
    assert len(silent) == allowed, [i.text for i in silent]
    assert all(ins.name == "S_BARRIER" for ins in silent)


def outcome(defect, name, arch, want, orders):
    """``reported``; or whether random orders leave the outputs as they were."""
    buffers, grid = _inputs(name, arch)
    try:
        options = LaunchOptions(strict=True, step_limit=1_000_000)
        result = emulate(load(defect.code), buffers, grid=grid, options=options)
    except EmulatorError:
        return "reported"
    if result.reports:
        return "reported"
    for order in (None, *range(orders)):
        buffers, grid = _inputs(name, arch)
        options = LaunchOptions(hazards=False, order=order)
        emulate(load(defect.code), buffers, grid=grid, options=options)
        if b"".join(x.tobytes() for x in buffers) != want:
            return "silent"
    return "identical"


def study(data, name, arch, orders, step=1):
    """Outcomes of defects by kind, and the silent ones."""
    buffers, grid = _inputs(name, arch)
    assert emulate(load(data), buffers, grid=grid).reports == ()
    want = b"".join(x.tobytes() for x in buffers)
    found = Counter()
    for defect in list(planted(data))[::step]:
        found[defect.kind, outcome(defect, name, arch, want, orders)] += 1
    assert not [key for key in found if key[1] == "silent"], found
    return found


@pytest.mark.parametrize("name", ["exchange", "softmax", "gemm"])
def test_counters_raised_by_one_and_bounds_are_reported_or_harmless(code_bytes, name):
    found = study(code_bytes(name, "gfx942"), name, "gfx942", 2, step=3)
    assert found["wait", "reported"] > 2


@pytest.mark.fuzz
@pytest.mark.parametrize(("name", "arch"), CASES)
def test_every_planted_defect_over_50_orders(code_bytes, name, arch):
    found = study(code_bytes(name, arch), name, arch, 50)
    assert found
    LOG.info("%s %s %s", name, arch, dict(found))


@pytest.mark.parametrize(
    ("load_", "waits", "reads"),
    [
        (cdna.buffer_load_dwordx2(v[8:9], v[2], s[20:23], 0, offen=1), {8, 9}, {2}),
        (cdna.buffer_load_dword(v[8], v[2], s[20:23], 0), {8}, set()),
        (cdna.global_load_dword(v[8], v[2:3], saddr=OFF), {8}, {2, 3}),
        (cdna.global_load_dword(v[8], v[2], saddr=s[4:5]), {8}, {2}),
        (cdna.buffer_store_dword(v[8], v[2], s[20:23], 0, offen=1), set(), {2, 8}),
    ],
)
def test_what_a_memory_instruction_reads_and_fills(load_, waits, reads):
    program = Program(load_.to_bytes() * 2, 0, ARCHITECTURES["gfx942"])
    usage = program.at(0).usage
    assert set(rows_of(usage.pending)) == waits
    assert {row for row in rows_of(usage.reads) if row < SCALAR} == reads


def test_a_missing_wait_names_the_register(code_bytes):
    data = next(
        d for i, d in _mutants(code_bytes("softmax", "gfx942")) if i.name == "S_WAITCNT"
    )
    buffers, grid = _inputs("softmax", "gfx942")
    report = emulate(load(data), buffers, grid=grid).reports[0]
    assert report.code == "EM0504"
    assert "v3 is still being filled" in report.message
    assert report.text.startswith("v_max_f32")


def test_a_missing_barrier_names_wave_and_cell(code_bytes):
    data = next(
        d
        for i, d in _mutants(code_bytes("exchange", "gfx942"))
        if i.name == "S_BARRIER"
    )
    buffers, grid = _inputs("exchange", "gfx942")
    report = emulate(load(data), buffers, grid=grid).reports[0]
    assert report.code == "EM0501"
    assert report.address is not None
    assert report.lane is not None


def test_unwritten_inputs_that_reach_an_output_are_reported(code_object):
    buffers, grid = _inputs("copy", "gfx942")
    options = LaunchOptions(poison=frozenset({0}))
    result = emulate(code_object("copy", "gfx942"), buffers, grid=grid, options=options)
    assert [r.code for r in result.reports] == ["EM0505"]
    options = LaunchOptions(poison=frozenset({1}))
    result = emulate(code_object("copy", "gfx942"), buffers, grid=grid, options=options)
    assert result.reports == ()


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_a_raised_bound_is_reported(code_object, arch):
    a = np.ones(4096, np.float32)
    buffers = [a, a.copy(), np.zeros_like(a)]
    for bound, codes in ((4096, set()), (4097, {"EM0503"}), (5000, {"EM0503"})):
        result = emulate(
            code_object("saxpy", arch), buffers, grid=(20, 1, 1), constants=[bound]
        )
        assert {r.code for r in result.reports} == codes
        assert (buffers[2] == 2).all()


@pytest.mark.parametrize(
    ("strict", "step", "codes"),
    [(True, 4, {"EM0510"}), (True, 1 << 24, set()), (False, 4, set())],
)
def test_accesses_just_past_a_resource(machine, execute, strict, step, codes):
    """Lanes 16 and up start behind 64 bytes: near, or far away as masks send them."""
    m = machine(waves=1)
    m.checks = Checks(m.architecture, m.memory, frozenset(), strict=strict)
    m.checks.start(m)
    start = m.memory.regions[0].address
    m.S[20:24, 0] = start & 0xFFFFFFFF, start >> 32, 64, 0x27000
    lane = np.arange(64)
    m.V[1] = np.where(lane < 16, lane * 4, 64 + (lane - 15) * step)
    execute(m, cdna.buffer_load_dword(v[2], v[1], s[20:23], 0, offen=1))
    assert {code for code, _ in m.reports} == codes
    assert (m.V[2, 0, 16:] == 0).all()


def test_workgroups_that_write_one_cell_race(code_object):
    buffers, _ = _inputs("gemm", "gfx942")
    result = emulate(code_object("gemm", "gfx942"), buffers, grid=(2, 2, 2))
    assert {r.code for r in result.reports} == {"EM0501"}


def test_runs_are_the_same_byte_for_byte(code_object):
    seen = set()
    for _ in range(3):
        buffers, grid = _inputs("softmax", "gfx950")
        result = emulate(code_object("softmax", "gfx950"), buffers, grid=grid)
        seen.add(
            (buffers[1].tobytes(), result.instructions, result.steps, result.reports)
        )
    assert len(seen) == 1


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_registers_that_the_descriptor_does_not_ask_for(code_bytes, arch):
    data = code_bytes("softmax", arch)
    buffers, grid = _inputs("softmax", arch)
    assert emulate(load(data), buffers, grid=grid).reports == ()
    symbol = load(data).elf.symbols["softmax.kd"]
    base, image = next(
        part
        for part in load(data).elf.image
        if part[0] <= symbol.value < part[0] + len(part[1])
    )
    fewer = bytearray(data)
    fewer[data.find(image) - base + symbol.value + 48] &= ~0x3F  # granules of VGPRs
    reports = emulate(load(bytes(fewer)), buffers, grid=grid).reports
    assert {report.code for report in reports} == {"EM0511"}
    assert all("asks for v0 to v" in report.message for report in reports)
