"""What loops without an end leave behind does not grow with their steps."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from group_products import HEAD

from wave_emulator_ptx import ExecutionError, LaunchOptions, emulate, load

STEPS = 500
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
    .reg .pred %p<2>;
    mov.u32 %r0, memory;
    ld.param.u64 %d0, [source];
    mbarrier.init.shared.b64 [%r0], 1000000;
    fence.mbarrier_init.release.cluster;
LOOP:
    {body}
    bra LOOP;
}}
"""
)


def peak_of(body, limit, threads=32):
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


@pytest.mark.parametrize(
    "body",
    [
        "bar.arrive 1, 64;",
        "mbarrier.init.shared.b64 [%r0+8], 1;",
        "mbarrier.arrive.shared.b64 %d1, [%r0];",
    ],
)
def test_what_a_loop_keeps_does_not_grow(body):
    few = peak_of(body, STEPS)
    assert peak_of(body, 8 * STEPS) - few < ROOM
