"""Operands that lie side by side, and reads that take them at once."""

from __future__ import annotations

import pytest
from staged import compiled_gemm, ops, run_case, run_gemm

import wave_core.lang as tkl
from wave_core.ir import ACCESS


def lds_reads(graph):
    found = [op for op in ops(graph, "read") if op.memory.type.physical is not None]
    return [graph.facts.get(ACCESS, op).registers for op in found]


@pytest.mark.parametrize(
    ("dtype", "target", "registers"),
    [
        (tkl.f16, "gfx942", 8),
        (tkl.f16, "gfx950", 8),
        (tkl.f8e4m3fnuz, "gfx942", 16),
        (tkl.f32, "gfx942", 4),
    ],
)
def test_every_read_of_lds_is_as_wide_as_can_be(dtype, target, registers):
    kernel = compiled_gemm((128, 128, 128), (128, 128, 64), (2, 2), dtype, target)
    assert set(lds_reads(kernel.graph)) == {registers}


def test_one_read_feeds_two_matrix_ops():
    kernel = compiled_gemm((128, 128, 64), (128, 128, 32))
    error, _ = run_gemm(kernel, (128, 128, 64))
    assert error == 0
    assert len(lds_reads(kernel.graph)) == 8
    assert len(ops(kernel.graph, "mma")) == 32


def test_an_odd_number_of_steps_is_left():
    kernel = compiled_gemm((64, 64, 48), (64, 64, 48))
    error, _ = run_gemm(kernel, (64, 64, 48))
    assert error == 0
    assert set(lds_reads(kernel.graph)) == {4}


def test_operands_that_something_else_uses_keep_their_order():
    kernel, result, right = run_case("attention", "gfx942")
    assert right
    assert not result.reports
    # The keys are packed; the values follow the scores.
    assert set(lds_reads(kernel.graph)) == {8, 4}
