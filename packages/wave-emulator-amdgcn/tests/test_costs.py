"""Counters and cycles: what is counted by hand, published rates, known variants."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tinygrad.renderer.amd.dsl import OFF, s, v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.costs.caches import count_misses
from wave_emulator_amdgcn.costs.estimate import beside, estimate, launch_cycles
from wave_emulator_amdgcn.costs.meter import Meter
from wave_emulator_amdgcn.costs.timeline import Timeline
from wave_emulator_amdgcn.costs.turns import Turns, find_turns
from wave_emulator_amdgcn.costs.unit import Replay, Unit
from wave_emulator_amdgcn.launch import LaunchOptions, emulate
from wave_emulator_amdgcn.memory import BASE
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop
from wave_isa_amdgcn.costs import COSTS

LANE = np.arange(64)
MANY = 64
GHZ = {"gfx90a": 1.7, "gfx942": 2.1, "gfx950": 2.4}
UNITS = {"gfx90a": 220, "gfx942": 304, "gfx950": 256}
"""The boost clock and compute units that the vendor's peaks are stated for."""


@pytest.fixture
def replay(machine):
    """Cycles that waves of one workgroup take for instructions, by the model."""

    def run(arch, instructions, waves=4, prepare=lambda _m: None, hit=False):
        m = machine(arch, waves=waves, sizes=(("m", 1 << 20),))
        prepare(m)
        m.meter = Meter(m.architecture, waves)
        data = b"".join(i.to_bytes() for i in [*instructions, cdna.s_endpgm()])
        loop = Loop(m, Program(data, 0x1000, m.architecture), 0x1000)
        loop.run(100_000)
        cost = COSTS[arch]
        count_misses(m.meter, 1 << 30 if hit else cost.l1_size, frozenset())
        if hit:
            for sample in m.meter.samples.values():
                sample.missed = 0.0
        timeline = Timeline(m.architecture, cost, m.meter.paths, m.meter.samples)
        return timeline.run(1, 1)

    return run


# Cycles: AMD's matrix instruction calculator. Peaks in TFLOP/s (TOP/s): AMD's data
# sheets of MI250X (one of two dies is 110 units), MI300X and MI355X.
MATRIX = [
    ("gfx90a", "v_mfma_f32_16x16x16_f16", 32, 383.0),
    ("gfx90a", "v_mfma_f32_32x32x8_f16", 64, 383.0),
    ("gfx90a", "v_mfma_f32_16x16x4_f32", 32, 95.7),
    ("gfx90a", "v_mfma_f64_16x16x4_f64", 32, 95.7),
    ("gfx942", "v_mfma_f32_16x16x16_f16", 16, 1307.4),
    ("gfx942", "v_mfma_f32_32x32x8_f16", 32, 1307.4),
    ("gfx942", "v_mfma_f32_16x16x32_fp8_fp8", 16, 2614.9),
    ("gfx942", "v_mfma_i32_16x16x32_i8", 16, 2614.9),
    ("gfx942", "v_mfma_f32_16x16x8_xf32", 16, 653.7),
    ("gfx942", "v_mfma_f32_16x16x4_f32", 32, 163.4),
    ("gfx942", "v_mfma_f64_16x16x4_f64", 32, 163.4),
    ("gfx950", "v_mfma_f32_16x16x32_f16", 16, 2516.6),
    ("gfx950", "v_mfma_f32_32x32x16_f16", 32, 2516.6),
    ("gfx950", "v_mfma_f64_16x16x4_f64", 64, 78.6),
]


def _mfma(name, *, chained):
    """Many of one instruction, on one accumulator or on eight in turn."""
    form, out = getattr(cdna, name), 16 if "32x32" in name else 4
    out = 8 if name.startswith("v_mfma_f64") else out
    wide = {"v_mfma_f32_16x16x4_f32": 1, "v_mfma_f32_16x16x32_f16": 4,
            "v_mfma_f32_32x32x16_f16": 4}.get(name, 2)  # fmt: skip
    a, b = (v[k : k + wide - 1] if wide > 1 else v[k] for k in (4, 12))
    starts = [20 if chained else 20 + 16 * (k % 8) for k in range(MANY)]
    return [form(v[d : d + out - 1], a, b, v[d : d + out - 1]) for d in starts]


@pytest.mark.parametrize(("arch", "name", "cycles", "peak"), MATRIX)
def test_matrix_rate_is_the_published_one(replay, arch, name, cycles, peak):
    last = cdna.v_add_f32_e32(v[3], v[20 + 16 * 7], v[2])
    many = replay(arch, [*_mfma(name, chained=False), last])
    assert many / MANY == pytest.approx(cycles, rel=0.05)
    m, n, k = (int(x) for x in name.split("_")[3].split("x"))
    rate = 2 * m * n * k / cycles * 4 * UNITS[arch] * GHZ[arch] / 1000
    assert rate == pytest.approx(peak, rel=0.01)


def test_dependent_matrix_instructions_take_their_passes(replay):
    chain = _mfma("v_mfma_f32_16x16x16_f16", chained=True)
    last = [cdna.v_add_f32_e32(v[3], v[20], v[2])]
    assert replay("gfx942", [*chain, *last], waves=1) / MANY == pytest.approx(16, 0.05)


def test_dependent_vector_instructions_take_four_cycles(replay):
    chain = [cdna.v_add_f32_e32(v[2], v[2], v[2])] * MANY
    assert replay("gfx942", chain, waves=1) / MANY == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(("arch", "cycles"), [("gfx942", 16), ("gfx950", 8)])
def test_transcendentals_run_at_their_part_of_the_rate(replay, arch, cycles):
    many = [cdna.v_exp_f32_e32(v[2], v[3])] * MANY
    assert replay(arch, many) / MANY == pytest.approx(cycles, rel=0.1)
    whole = [cdna.v_mul_lo_u32(v[2], v[3], v[4])] * MANY
    assert replay(arch, whole) / MANY == pytest.approx(16, rel=0.1)


@pytest.mark.parametrize(
    ("form", "width", "size"),
    [(cdna.ds_read_b128, 4, 16), (cdna.ds_read_b64, 2, 8), (cdna.ds_read_b32, 1, 4)],
)
def test_lds_gives_128_bytes_a_cycle(replay, form, width, size):
    def prepare(m):
        m.V[1] = LANE * size

    out = v[4 : 3 + width] if width > 1 else v[4]
    wait = cdna.s_waitcnt(0xC07F)
    cycles = replay("gfx942", [form(out, v[1])] * MANY + [wait], prepare=prepare)
    assert 4 * MANY * 64 * size / cycles == pytest.approx(128, rel=0.2)


def test_lds_latency_of_a_dependent_chain(replay):
    step = [cdna.ds_read_b32(v[1], v[1]), cdna.s_waitcnt(0xC07F)]
    cycles = replay("gfx942", step * MANY, waves=1) / MANY
    assert 64 <= cycles <= 80  # GCN: 64 cycles without contention, and the issue


@pytest.mark.parametrize(
    ("form", "width", "size"),
    [(cdna.global_load_dwordx4, 4, 16), (cdna.global_load_dword, 1, 4)],
)
def test_hits_in_l1_give_64_bytes_a_cycle(replay, form, width, size):
    def prepare(m):
        at = BASE + m.memory.regions[0].start + LANE * size
        m.V[0], m.V[1] = at & 0xFFFFFFFF, at >> 32

    out = v[4 : 3 + width] if width > 1 else v[4]
    load = form(vdst=out, addr=v[0:1], saddr=OFF)
    wait = cdna.s_waitcnt(0x0F70)
    cycles = replay("gfx942", [load] * MANY + [wait], prepare=prepare, hit=True)
    assert 4 * MANY * 64 * size / cycles == pytest.approx(64, rel=0.2)


def test_copies_to_lds_take_l1_no_longer_than_loads(replay):
    def prepare(m):
        at = BASE + m.memory.regions[0].start + LANE * 16
        m.V[0], m.V[1] = at & 0xFFFFFFFF, at >> 32

    copy = cdna.global_load_lds_dwordx4(addr=v[0:1], saddr=OFF)
    load = cdna.global_load_dwordx4(vdst=v[4:7], addr=v[0:1], saddr=OFF)
    wait = cdna.s_waitcnt(0x0F70)
    copied, loaded = (
        replay("gfx950", [each] * MANY + [wait], prepare=prepare, hit=True)
        for each in (copy, load)
    )
    assert copied == pytest.approx(loaded, rel=0.01)


def test_reads_of_lds_do_not_wait_for_copies_that_have_not_arrived(replay):
    def prepare(m):
        at = BASE + m.memory.regions[0].start + LANE * 16
        m.V[0], m.V[1] = at & 0xFFFFFFFF, at >> 32
        m.V[2] = LANE * 16

    copy = cdna.global_load_lds_dwordx4(addr=v[0:1], saddr=OFF)
    load = cdna.global_load_dwordx4(vdst=v[4:7], addr=v[0:1], saddr=OFF)
    read = [cdna.ds_read_b128(v[8:11], v[2]), cdna.s_waitcnt(0xC07F)]
    work = [cdna.v_exp_f32_e32(v[12], v[13])] * 32
    beside_copies, beside_loads = (
        replay("gfx950", ([each] * 8 + read + work) * 8, prepare=prepare, hit=True)
        for each in (copy, load)
    )
    assert beside_copies == pytest.approx(beside_loads, rel=0.01)


@pytest.fixture
def measured(code_object):
    """Launch a GEMM of 512 x 512 x 512 with counters."""

    def run(name, rows=512):
        rng = np.random.default_rng(0)
        code = code_object(name, "gfx942")
        a, b = rng.standard_normal((2, 512, 512)).astype(np.float16)
        c = np.zeros((512, 512), np.float32)
        options = LaunchOptions(hazards=False, counters=True)
        result = emulate(code, [a, b, c], grid=(rows // 64, 8, 1), options=options)
        want = a[:rows].astype(np.float32) @ b.T.astype(np.float32)
        assert np.allclose(c[:rows], want, atol=1e-3)
        return estimate(code, code.kernel(), result)

    return run


def test_variants_of_gemm_rank_with_gaps(measured):
    names = ["gemm_direct", "gemm_narrow", "gemm_wide", "gemm_padded"]
    cycles = [measured(name, 256).cycles["per_workgroup"] for name in names]
    gaps = [before / after for before, after in pairwise(cycles)]
    assert min(gaps) > 1.05, cycles


def test_what_binds_the_variants(measured):
    names = ("gemm_direct", "gemm_wide", "gemm_padded")
    direct, wide, padded = (measured(name, 128).cycles for name in names)
    assert direct["l1_utilisation"] > 0.95
    assert wide["lds_utilisation"] > 0.95
    assert padded["l2_utilisation"] > 0.95
    assert padded["lds_utilisation"] < 0.7


@pytest.mark.parametrize("name", ["copy", "saxpy", "softmax"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_no_unit_works_longer_than_the_launch(code_object, name, arch):
    """Stores that nobody waits for kept memory busy after the last wave's end."""
    code = code_object(name, arch)
    count = sum(row.kind == "global_buffer" for row in code.kernel().arguments)
    words = len(code.kernel().arguments) - count
    result = emulate(
        code, [np.ones(65536, np.float32) for _ in range(count)], grid=(2, 1, 1),
        constants=[1] * words, options=LaunchOptions(hazards=False, counters=True),
    )  # fmt: skip
    cycles = estimate(code, code.kernel(), result).cycles
    shares = [value for key, value in cycles.items() if key.endswith("utilisation")]
    assert max(shares) <= 1
    assert cycles["per_workgroup"] <= cycles["total"]


def test_a_wave_that_has_ended_is_not_waited_for_at_a_barrier(machine):
    """Workgroups never ended in the replay then, and units were busy 110 % of it."""
    m = machine("gfx942", waves=2)
    m.meter = Meter(m.architecture, 2)
    code = [cdna.s_barrier(), *[cdna.v_add_f32_e32(v[2], v[2], v[2])] * MANY]
    data = b"".join(i.to_bytes() for i in [*code, cdna.s_endpgm()])
    Loop(m, Program(data, 0x1000, m.architecture), 0x1000).run(1000)
    waiting, ended = m.meter.paths
    late = [ended[1]] * MANY + [ended[-1]]
    timeline = Timeline(m.architecture, COSTS["gfx942"], [waiting, late], {})
    assert timeline.run(1, 3) == pytest.approx(3 * 2 * MANY * 4, rel=0.1)
    assert len(timeline.ends) == 3


TURN = [cdna.v_exp_f32_e32(v[2], v[3]), cdna.s_barrier()]


@pytest.mark.parametrize("turns", [48, 49, 400])
def test_turns_of_a_long_loop_stand_for_the_others(machine, monkeypatch, turns):
    """A path was cut after 20,000 instructions, and the estimate said nothing."""
    m = machine("gfx942", waves=8)
    m.meter = Meter(m.architecture, 8)
    counter, last = s[4], [cdna.s_endpgm()]
    body = [*TURN * 40, cdna.s_sub_u32(counter, counter, 1),
            cdna.s_cmp_lg_u32(counter, 0)]  # fmt: skip
    words = sum(len(i.to_bytes()) for i in body) // 4 + 1
    body.append(cdna.s_cbranch_scc1(simm16=-words & 0xFFFF))
    m.S[4] = turns
    data = b"".join(i.to_bytes() for i in [*TURN, *body, *TURN, *last])
    Loop(m, Program(data, 0x1000, m.architecture), 0x1000).run(10**6)
    assert [len(path) for path in m.meter.paths] == [turns * len(body) + 5] * 8
    found = find_turns(m.meter.paths)
    unit = Unit(m.architecture, COSTS["gfx942"], m.meter, found, 0.0, 2)
    whole = replace(unit, turns=Turns(m.meter.paths, []))
    assert found.count == (turns if turns > 48 else 0)
    short, full = unit.replay(2, 2), whole.replay(2, 2)
    assert short.cycles == pytest.approx(full.cycles, rel=1e-3)
    assert short.busy["valu"] == pytest.approx(full.busy["valu"], rel=1e-9)
    assert sum(short.stalls.values()) == pytest.approx(
        sum(full.stalls.values()), rel=0.01
    )


def test_a_turn_counts_what_it_executes(machine):
    m = machine("gfx942", waves=4)
    m.meter = Meter(m.architecture, 4)
    counter, product = s[4], cdna.v_mfma_f32_32x32x8_f16(v[20:35], v[4:5], v[6:7], 0)
    skipped = [cdna.v_mov_b32_e32(v[2], v[2])] * 5
    words = sum(len(i.to_bytes()) for i in skipped) // 4
    body = [product, product, cdna.s_branch(simm16=words), *skipped,
            cdna.s_sub_u32(counter, counter, 1),
            cdna.s_cmp_lg_u32(counter, 0)]  # fmt: skip
    back = sum(len(i.to_bytes()) for i in body) // 4 + 1
    body.append(cdna.s_cbranch_scc1(simm16=-back & 0xFFFF))
    m.S[4] = 100
    data = b"".join(i.to_bytes() for i in [*body, cdna.s_endpgm()])
    Loop(m, Program(data, 0x1000, m.architecture), 0x1000).run(10**6)
    turn = find_turns(m.meter.paths).turn
    assert len(turn) == len(body) - len(skipped)
    assert beside(turn) == {"loop_others_per_kflop": 1000 * 4 / (2 * 2 * 32 * 32 * 8)}
    assert beside([]) == {}


def test_waves_that_go_around_different_numbers_of_times_are_replayed_whole():
    path = [
        type("Bound", (), {"instruction": type("I", (), {"pc": k})})() for k in range(9)
    ]
    paths = [path * 50, path * 51]
    assert find_turns(paths).keep(8) == paths
    assert [len(kept) for kept in find_turns([path * 51] * 2).keep(8)] == [72, 72]


def test_a_unit_is_never_busy_longer_than_an_extrapolated_replay():
    """Few turns are bound by latency, more of them by memory."""
    fewer, more = Replay(900, {"hbm": 400}, {}), Replay(1000, {"hbm": 800}, {})
    found = more.with_turns(fewer, 10)
    assert found.busy["hbm"] == 4800
    assert found.cycles == 4800


def test_a_workgroup_stands_for_a_launch(code_object):
    """Counters are scaled, and memory gives each line of a buffer once."""
    code = code_object("gemm_padded", "gfx942")
    a, c = np.ones((512, 512), np.float16), np.zeros((512, 512), np.float32)

    def run(groups):
        options = LaunchOptions(hazards=False, counters=True, groups=groups)
        result = emulate(code, [a, a, c], grid=(8, 8, 1), options=options)
        return estimate(code, code.kernel(), result)

    whole, part = run(None), run(range(27, 28))
    assert part.basis["workgroups_executed"] == 1
    assert whole.basis["workgroups_executed"] == part.basis["workgroups"] == 64
    assert part.counters == whole.counters
    for name in ("per_workgroup", "total", "memory_share", "matrix_tflops"):
        assert part.cycles[name] == pytest.approx(whole.cycles[name], rel=0.02), name


def test_the_time_is_that_at_the_stated_clock(measured):
    cycles = measured("gemm_padded").cycles
    assert cycles["clock_ghz"] == GHZ["gfx942"]
    assert cycles["microseconds"] == pytest.approx(cycles["total"] / 2100)
    flops = 2 * 512**3
    assert cycles["matrix_tflops"] == pytest.approx(
        flops / cycles["microseconds"] / 1e6
    )


def test_under_load_the_clock_is_an_interval(measured):
    cycles = measured("gemm_padded").cycles
    for end in ("low", "high"):
        ghz = cycles[f"loaded_{end}_ghz"]
        assert cycles[f"loaded_{end}_tflops"] == pytest.approx(
            2 * 512**3 / (cycles["total"] / ghz) / 1e3
        )
    assert cycles["loaded_low_ghz"] < cycles["loaded_high_ghz"] < cycles["clock_ghz"]


def test_clocks_under_load_are_known_of_two_chips():
    known = {name for name, cost in COSTS.items() if cost.loaded_ghz}
    assert known == {"gfx942", "gfx950"}


@pytest.mark.parametrize("groups", [1, 2, 3, 100, 101])
@pytest.mark.parametrize("resident", [1, 2])
def test_a_launch_takes_no_less_than_its_busiest_unit(monkeypatch, groups, resident):
    """The first set takes 10 cycles to start, which the following ones overlap."""
    work = 90.0

    def replay(_unit, _resident, count):
        return Replay(max(100.0, work * count + 5), {"mfma": work * count}, {})

    monkeypatch.setattr(Unit, "replay", replay)
    cost = COSTS["gfx942"]
    unit = Unit(ARCHITECTURES["gfx942"], cost, None, None, 0.0, resident)
    sets = unit.replay(resident, 3 * resident)
    steady, total = launch_cycles(unit, sets, groups)
    assert steady <= total
    assert total >= work * groups


# TB/s that BabelStream's Mul must reach: AMD's acceptance tests, AMD-AGI/Primus-SaFE.
@pytest.mark.parametrize(("arch", "tbs"), [("gfx942", 4.067), ("gfx950", 5.488)])
def test_a_stream_is_bound_by_memory(code_object, arch, tbs):
    code = code_object("copy", arch)
    a = np.ones(4096, np.float32)
    options = LaunchOptions(hazards=False, counters=True)
    result = emulate(code, [a, a.copy()], grid=(16, 1, 1), options=options)
    cycles = estimate(code, code.kernel(), result).cycles
    assert cycles["memory_share"] == 1
    # 256 lanes read and write 4 bytes.
    per_second = 2048 / cycles["per_workgroup"] * UNITS[arch] * GHZ[arch] * 1e9
    assert per_second == pytest.approx(tbs * 1e12, rel=0.05)


def test_counters_of_the_padded_gemm(measured):
    counters = measured("gemm_padded").counters
    waves, steps = 64 * 4, 32
    assert counters["mfma_instructions"] == waves * steps * 4
    # A and B once per workgroup and step, C once; 56 bytes of arguments are preloaded.
    assert counters["memory_bytes"] == 64 * (2 * 64 * 512 * 2 + 64 * 64 * 4)
    # Written once, read as one fragment of A and four of B by each wave.
    assert counters["lds_bytes"] == waves * steps * 64 * (2 * 8 + 5 * 8)


def test_cycles_are_the_same_each_time(measured):
    assert measured("gemm_wide", 64) == measured("gemm_wide", 64)


@pytest.mark.parametrize(("stride", "cycles"), [(4, 2), (128, 64), (0, 2), (8, 4)])
def test_bank_conflicts_of_one_word(stride, cycles):
    meter = Meter(ARCHITECTURES["gfx942"], 1)
    total, _ = meter._conflicts(LANE * stride, LANE, 4, reading=True)
    assert total == cycles


def test_wide_reads_conflict_by_phase():
    meter = Meter(ARCHITECTURES["gfx950"], 1)
    rows, column = LANE % 16, LANE // 16
    plain, ideal = meter._conflicts(rows * 64 + column * 16, LANE, 16, reading=True)
    swizzled, _ = meter._conflicts(
        rows * 64 + (column ^ rows // 2 % 4) * 16, LANE, 16, reading=True
    )
    assert swizzled <= plain
    assert ideal <= swizzled
