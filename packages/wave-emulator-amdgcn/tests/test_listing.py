"""Code that is counted as it stands, beside what is executed of it."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.plugin import ViewError, ViewRequest
from wave_emulator_amdgcn.costs.estimate import estimate
from wave_emulator_amdgcn.costs.listing import listing_of
from wave_emulator_amdgcn.costs.unit import unit_of
from wave_emulator_amdgcn.launch import LaunchOptions, emulate
from wave_emulator_amdgcn.views import lines
from wave_isa_amdgcn.costs import COSTS

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@pytest.fixture
def launched(code_object):
    """A fixture and its execution, with counters."""

    def run(name, arch):
        code = code_object(name, arch)
        kinds = [row.kind for row in code.kernel().arguments]
        count = kinds.count("global_buffer")
        result = emulate(
            code, [np.ones(262144, np.float32) for _ in range(count)], grid=(2, 1, 1),
            constants=[1] * (len(kinds) - count),
            options=LaunchOptions(hazards=False, counters=True),
        )  # fmt: skip
        return code, result

    return run


@pytest.mark.parametrize("name", ["copy", "softmax", "exchange", "triangle"])
@pytest.mark.parametrize("arch", ARCHS)
def test_all_that_is_executed_is_listed_once(launched, name, arch):
    code, result = launched(name, arch)
    found = listing_of(code, code.kernel(), COSTS[arch])
    executed = sum(bound.count > 0 for bound in result.program.executed())
    total = found.whole.instructions
    assert executed <= total
    assert total == sum(block.instructions for block in found.blocks)
    assert total == sum(line.instructions for line in found.lines)
    starts = {block.pc for block in found.blocks}
    assert {bound.instruction.pc for bound in result.program.executed()} & starts


@pytest.mark.parametrize("name", ["gemm_padded", "gemm_direct", "gemm_wide"])
def test_the_hot_loop_is_what_is_executed_most(launched, name):
    code, result = launched(name, "gfx942")
    hot = listing_of(code, code.kernel(), COSTS["gfx942"]).hot
    counts = {b.instruction.pc: b.count for b in result.program.executed()}
    most = max(counts.values())
    turning = [pc for pc, count in counts.items() if count == most]
    assert (hot.pc, hot.instructions) == (min(turning), len(turning))
    assert hot.depth == 1
    assert hot.flops > 0
    assert hot.to_json()["others_per_kflop"] > 0


@pytest.mark.parametrize("name", ["copy", "softmax", "exchange"])
def test_cycles_by_line_add_up_to_the_life_of_a_wave(launched, name):
    """Those of the mean wave, from when it may start to when it has ended."""
    code, result = launched(name, "gfx942")
    found = estimate(code, code.kernel(), result)
    unit = unit_of(code, code.kernel(), result)
    timeline = unit.timeline(0, keep=True)
    timeline.run(unit.resident, 3 * unit.resident)
    lives = {}
    for event in timeline.events:
        started, _ = lives.get(event.wave, (event.start - event.stall, 0))
        lives[event.wave] = started, event.start + unit.cost.issue
    mean = sum(end - start for start, end in lives.values()) / len(lives)
    spent = sum(row["cycles"] for row in found.spent)
    assert spent == pytest.approx(mean)


def request(data, kernel=""):
    return ViewRequest(kernel, "", {"code.hsaco": data}, {}, list)


def test_a_file_alone_is_counted_and_not_executed(code_bytes):
    found = lines(request(code_bytes("gemm", "gfx942"))).document
    assert found["target"] == "gfx942"
    assert found["cycles"] == {}
    assert found["why"] == "it is not known how the kernel is launched"
    assert found["resources"]["lds_bytes"] >= 0
    assert 0 < found["resources"]["vgprs"] <= 512
    assert found["whole"]["units"]["mfma"] > 0


def test_bytes_that_are_no_code_are_refused(code_bytes):
    with pytest.raises(ViewError, match="EM0101"):
        lines(request(b"no code at all"))
    with pytest.raises(ViewError, match="EM0102"):
        lines(request(code_bytes("copy", "gfx942"), "another"))


@pytest.mark.parametrize("cut", [64, 200, 1000, 3000])
def test_files_that_are_cut_off_are_refused_or_read(code_bytes, cut):
    data = code_bytes("gemm", "gfx942")[:cut]
    with pytest.raises(ViewError):
        lines(request(data))


def test_any_byte_may_be_wrong(code_bytes):
    """A damaged file is read or refused; it does not end the process."""
    data = code_bytes("copy", "gfx942")
    rng = np.random.default_rng(3)
    for _ in range(150):
        broken = bytearray(data)
        for at in rng.integers(0, len(data), 4):
            broken[at] = rng.integers(0, 256)
        try:
            assert lines(request(bytes(broken))).document["whole"]["instructions"] > 0
        except ViewError:
            continue
