"""Loads of memories whose sizes the launch decides."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from staged import K, dynamic_gemm, ops, run_gemm

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.ir import ACCESS
from wave_core.ops.control import Conditional

TILE = (64, 64, 32)
SIZES = [
    (1, 1, 1),
    (63, 65, 31),
    (64, 64, 32),
    (65, 63, 33),
    (17, 67, 37),
    (64, 1, 40),
    (3, 130, 8),
    (130, 70, 104),
]
"""One, a prime, a tile, and one less and one more; some K are multiples of 8."""


compiled = cache(dynamic_gemm)


def named(sizes):
    return dict(zip("MNK", sizes, strict=True))


def widths(result):
    """The widths in bits of global reads that were executed."""
    names = result.counters.instructions
    return {int(n.split(".b")[1]) for n in names if n.startswith("global_read.b")}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    ("dtype", "target", "multiple"),
    [
        (tkl.f16, "gfx942", 8),
        (tkl.f8e4m3fn, "gfx950", 8),
        (tkl.f32, "gfx942", 4),
        (tkl.f16, "gfx1201", 8),
    ],
)
def test_loads_are_wide_where_rows_are_multiples(dtype, target, multiple, sizes):
    kernel = compiled(TILE, target, dtype)
    error, result = run_gemm(kernel, sizes, dtype, named(sizes))
    wide = sizes[2] % multiple == 0
    assert (error, result.reports) == (0, ())
    assert widths(result) == {dtype.bits * (multiple if wide else 1)}


def test_both_operands_share_the_branches():
    kernel = compiled(TILE)
    found = [op for op in kernel.graph.walk() if isinstance(op, Conditional)]
    assert {str(op.expr) for op in found} == {"K % 8 == 0", "K % 8 != 0"}
    assert len(found) == 2


def test_an_assumption_makes_all_loads_wide():
    more = (tkw.Assumption(sympy.Eq(K % 8, 0)),)
    kernel = dynamic_gemm(TILE, more=more)
    error, result = run_gemm(kernel, (65, 63, 40), symbols=named((65, 63, 40)))
    assert (error, result.reports) == (0, ())
    assert widths(result) == {128}
    assert not ops(kernel.graph, "conditional")


def test_the_buffers_are_written_wide_in_any_case():
    kernel = compiled(TILE)
    writes = [op for op in ops(kernel.graph, "write") if op.memory.type.physical]
    rows = [kernel.graph.facts.get(ACCESS, op) for op in writes]
    assert {row.registers for row in rows} == {8}
    assert {row.mask for row in rows} == {None}


@pytest.mark.parametrize("sizes", [(65, 63, 33), (17, 70, 40)])
def test_machine_code_is_right(sizes):
    kernel = compiled(TILE, device="emulator")
    m, n, k = sizes
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (rows, k)).astype(np.float16) for rows in (m, n))
    c = np.full((m, n), np.nan, dtype=np.float32)
    kernel(a, b, c)
    assert kernel.last_run.reports == ()
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
