"""A GEMM with roles, and each of its waits, signals and fences left out."""

from __future__ import annotations

import pytest
from assembler import complaints
from ring_kernel import COPY, run, text

from wave_emulator_ptx import EmulatorError

ORDERS = [None, 1, 2, 3]
SEEDS = [None, 1, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in (2, 3, 4))]
"""Of faults; other seeds find the same."""
TEXT = text()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", [(64, 128, 320), (72, 56, 136)])
def test_right_and_without_alarm(sizes, order):
    error, result = run(TEXT, sizes, order)
    assert result.reports == []
    assert error < 0.05


def test_the_assembler_takes_it(tmp_path):
    assert complaints(TEXT, tmp_path) == ""


ADVANCE = """    xor.b32 %r3, %r3, 1;
    setp.eq.u32 %p5, %r3, 0;
    @%p5 xor.b32 %r4, %r4, 1;
    setp.lt"""
FAULTS = {
    "full not initialised": ("mbarrier.init.shared::cta.b64 [%r1+32776], 1;", ""),
    "empty not initialised": ("mbarrier.init.shared::cta.b64 [%r1+32784], 4;", ""),
    "nobody waits for initialisation": ("bar.sync 0;", ""),
    "too few arrivals counted": ("[%r1+32792], 4;", "[%r1+32792], 3;"),
    "too many arrivals counted": ("[%r1+32792], 4;", "[%r1+32792], 5;"),
    "no wait for empty": ("@!%p4 bra WAIT_EMPTY;", ""),
    "no wait for full": ("@!%p4 bra WAIT_FULL;", ""),
    "no bytes expected": ("[%r6], 16384;", "[%r6], 0;"),
    "too few bytes expected": ("[%r6], 16384;", "[%r6], 8192;"),
    "too many bytes expected": ("[%r6], 16384;", "[%r6], 24576;"),
    "arrives without bytes": ("arrive.expect_tx.shared::cta.b64 _, [%r6], 16384;",
                              "arrive.shared::cta.b64 _, [%r6];"),
    "nobody arrives": ("arrive.expect_tx.shared::cta.b64 _, [%r6], 16384;",
                       "expect_tx.relaxed.cta.shared::cta.b64 [%r6], 16384;"),
    "no copy of A": (f"{COPY}\n        [%r7], [%d0, {{%r8, %r10}}], [%r6];", ""),
    "no copy of B": (f"{COPY}\n        [%r12], [%d1, {{%r8, %r11}}], [%r6];", ""),
    "begins with the other parity": ("mov.b32 %r4, 1;\nLOAD", "mov.b32 %r4, 0;\nLOAD"),
    "waits for the other parity": ("CONSUME:\n    mov.b32 %r4, 0;",
                                   "CONSUME:\n    mov.b32 %r4, 1;"),
    "nothing is released": ("@%p6 mbarrier.arrive.shared::cta.b64 _, [%r5+32784];", ""),
    "always one stage": (ADVANCE, "    setp.lt"),
    "no fence of registers": ("wgmma.fence.sync.aligned;", ""),
    "no commit": ("wgmma.commit_group.sync.aligned;", ""),
    "no wait for products": ("wgmma.wait_group.sync.aligned 0;", ""),
    "one group left": ("wgmma.wait_group.sync.aligned 0;",
                       "wgmma.wait_group.sync.aligned 1;"),
    "no proxy fence": ("fence.proxy.async.shared::cta;", ""),
    "no barrier of the group": ("bar.sync 1, 128;", ""),
    "no commit of the store": ("cp.async.bulk.commit_group;", ""),
    "no wait for the store": ("cp.async.bulk.wait_group 0;", ""),
    "swizzle of 64": ("0x4000004000010000", "0x8000004000010000"),
    "no swizzle": ("0x4000004000010000", "0x0000004000010000"),
    "stride of 512": ("0x4000004000010000", "0x4000002000010000"),
    "another panel of B": ("add.u64 %d4, %d3, 512;", "add.u64 %d4, %d3, 448;"),
    "another step along K": ("add.u64 %d6, %d4, 2;", "add.u64 %d6, %d4, 4;"),
}  # fmt: skip


@pytest.mark.parametrize("order", SEEDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault, order):
    before, after = FAULTS[fault]
    assert TEXT.count(before) == 1
    assert trial(TEXT.replace(before, after), order)


def trial(given, order):
    """How a run fails, or None."""
    try:
        error, result = run(given, (64, 64, 256), order)
    except EmulatorError as problem:
        return problem.code
    if result.reports:
        return result.reports[0].code
    return None if error < 0.05 else "wrong numbers"


def test_a_box_with_another_swizzle_makes_wrong_numbers():
    error, result = run(TEXT, (64, 64, 64), swizzle=0)
    assert result.reports or error > 1


def test_a_wait_that_never_ends_names_every_waiting_place():
    with pytest.raises(EmulatorError) as found:
        run(TEXT.replace("[%r6], 16384;", "[%r6], 24576;"), (64, 64, 320))
    lines = TEXT.splitlines()
    places = [n for n, line in enumerate(lines, 1) if "try_wait" in line]
    assert found.value.code == "EP0304"
    assert all(
        f"line {place} `mbarrier.try_wait" in str(found.value) for place in places
    )
    assert "has 1 of 1 arrivals and lacks 8192 bytes" in str(found.value)
