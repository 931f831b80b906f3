"""Kernels of one workgroup that store one word, or several, of each thread."""

from __future__ import annotations

import numpy as np
from elementwise import HEAD

from wave_emulator_ptx import LaunchOptions, LaunchResult, emulate, load

TEXT = (
    HEAD
    + """
.extern .shared .align 16 .b8 memory[];
.visible .entry kernel(.param .u64 from, .param .u64 to)
{{
    .reg .pred %p<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<40>;
    .reg .b64 %d<16>;
    .reg .f64 %f<8>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d0, [from];
    ld.param.u64 %d1, [to];
    mul.wide.u32 %d2, %r0, {step_in};
    add.s64 %d0, %d0, %d2;
    mul.wide.u32 %d2, %r0, {step_out};
    add.s64 %d1, %d1, %d2;
    mov.u32 %r1, memory;
{body}
    ret;
}}
"""
)


def run_threads(
    body: str,
    given: np.ndarray,
    wanted: np.ndarray,
    *,
    threads: int = 32,
    shared: int = 0,
    order: int | None = None,
) -> LaunchResult:
    """Run a body; ``%d0`` and ``%d1`` point at each thread's row of the two arrays.

    ``%r0`` is the thread, ``%r1`` where shared memory begins.
    """
    steps = {
        "step_in": given.nbytes // len(given),
        "step_out": wanted.nbytes // len(wanted),
    }
    return emulate(
        load(TEXT.format(body=body, **steps)),
        [given, wanted],
        grid=(1, 1, 1),
        block=(threads, 1, 1),
        shared=shared,
        options=LaunchOptions(poison=frozenset({1}), order=order),
    )


def words(body: str, given: np.ndarray, **asked: int) -> np.ndarray:
    """A word for each thread; nothing may be reported."""
    out = np.zeros(len(given), np.uint32)
    result = run_threads(body, given.copy(), out, threads=len(given), **asked)
    assert result.reports == []
    return out
