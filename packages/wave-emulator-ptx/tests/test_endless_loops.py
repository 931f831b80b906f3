"""What loops without an end leave behind does not grow with their steps."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import ring_kernel
from group_products import HEAD
from test_hazards import COPIES, pipelined

from wave_emulator_ptx import ExecutionError, LaunchOptions, emulate, load, under_way

STEPS = 250
ROOM = 1 << 16
"""Bytes that may come on top while a loop goes on: some tens of each step."""

TEXT = (
    HEAD
    + """
.visible .entry kernel(.param .u64 source)
.maxntid 128
{{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    .reg .f32 %s<4>;
    mov.u32 %r0, memory;
    ld.param.u64 %d0, [source];
    mov.u64 %d2, 0x0000004000010040;
    mbarrier.init.shared.b64 [%r0], 1000000;
    fence.mbarrier_init.release.cluster;
LOOP:
    {body}
    bra LOOP;
}}
"""
)


def peak_of(body, limit, threads):
    """Bytes at most while a loop runs for so many warp-instructions."""
    module = load(TEXT.format(body=body))
    options = LaunchOptions(limit=limit)
    given = [np.zeros(4096, np.uint8)]
    size = {"grid": (1, 1, 1), "block": (threads, 1, 1), "shared": 2048}
    tracemalloc.start()
    try:
        with pytest.raises(ExecutionError, match="EP0303"):
            emulate(module, given, options=options, **size)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def growth_of(body, threads=32):
    """Bytes that a loop takes more for running longer, all else being loaded."""
    peak_of(body, STEPS, threads)
    return peak_of(body, 8 * STEPS, threads) - peak_of(body, STEPS, threads)


@pytest.mark.parametrize(
    "body",
    [
        "bar.arrive 1, 64;",
        "mbarrier.init.shared.b64 [%r0+8], 1;",
        "mbarrier.arrive.shared.b64 %d1, [%r0];",
    ],
)
def test_what_a_loop_keeps_does_not_grow(body):
    assert growth_of(body) < ROOM


TO = "[%r0+1024], [%d0], 16"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0+1024], 16;"
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
ASYNCHRONOUS = [
    f"cp.async.cg.shared.global {TO};",
    f"cp.async.cg.shared.global {TO};\ncp.async.commit_group;",
    "cp.async.cg.shared.global [%r0+99999984], [%d0], 16;",
    f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes {TO}, [%r0];",
    STORE,
    f"{STORE}\ncp.async.bulk.commit_group;",
    f"{PRODUCT} {{%s0, %s1, %s2, %s3}}, %d2, %d2, 1, 1, 1, 0, 0;",
]
"""Work for which nobody waits; the third lies beyond shared memory."""


@pytest.mark.parametrize("body", ASYNCHRONOUS)
def test_work_for_which_nobody_waits_is_over_where_there_is_no_room(body, monkeypatch):
    monkeypatch.setattr(under_way, "MOST_BYTES", 1 << 16)
    threads = 128 if "wgmma" in body else 1
    assert growth_of(body, threads) < ROOM


@pytest.mark.parametrize("order", [None, 1])
def test_work_that_is_over_at_once_changes_no_result(order, monkeypatch):
    monkeypatch.setattr(under_way, "MOST_BYTES", 1)
    error, result = ring_kernel.run(ring_kernel.text(), (72, 56, 136), order)
    assert result.reports == []
    assert error < 0.05
    reports, given, out = pipelined(COPIES, order)
    assert reports == []
    np.testing.assert_array_equal(out, 2 * given[np.arange(128) ^ 64, 0])
