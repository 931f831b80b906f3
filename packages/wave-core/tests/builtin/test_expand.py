"""What expansion and legalization make of kernels."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.ir import ACCESS
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.sync import SharedMemoryBarrier

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


def ops(graph, kind):
    return [op for op in graph.walk() if isinstance(op, kind)]


def masks(graph, kind):
    return [graph.facts.get(ACCESS, op).mask for op in ops(graph, kind)]


def test_one_instruction_for_each_step(gemm, lowered):
    graph = lowered(gemm, M=64, N=64, K=64)
    assert len(ops(graph, Mma)) == 2 * 2 * 2
    assert len(ops(graph, Read)) == 4 + 4


def test_sizes_that_tiles_divide_need_no_mask(gemm, lowered):
    graph = lowered(gemm, M=64, N=96, K=64)
    assert masks(graph, Read) == [None] * 8
    assert set(masks(graph, Write)) == {None}


@pytest.mark.parametrize("sizes", [(65, 64, 64), (64, 1, 64), (64, 64, 7)])
def test_other_sizes_are_masked(gemm, lowered, sizes):
    graph = lowered(gemm, **dict(zip("MNK", sizes, strict=True)))
    assert any(mask is not None for mask in masks(graph, Read))


def test_dynamic_sizes_are_masked(gemm, lowered):
    graph = lowered(gemm)
    assert all(mask is not None for mask in masks(graph, Read))
    assert all(mask is not None for mask in masks(graph, Write))


def test_coordinates_are_where_the_lane_stands(gemm, lowered):
    graph = lowered(gemm, M=64, N=64, K=64)
    row, column = graph.facts.get(ACCESS, ops(graph, Read)[0]).coordinates
    assert str(row) == "32*$WG0 + $LANE % 16"
    assert str(column) == "32*$IV:K + $REG + 4*($LANE // 16)"


def test_a_result_column_is_written_element_by_element(gemm, lowered):
    graph = lowered(gemm, M=64, N=64, K=64)
    accesses = [graph.facts.get(ACCESS, op) for op in ops(graph, Write)]
    assert [access.registers for access in accesses] == [1] * 16


def test_a_reduction_across_waves_goes_through_lds(row_sum, lowered):
    graph = lowered(row_sum, M=4, N=2048)
    assert not ops(graph, Reduce)
    assert len(ops(graph, Shuffle)) == 6
    (buffer,) = ops(graph, Allocate)
    assert [e.constant_value for e in buffer.distributed_shape] == [4, 64, 1]
    assert len(ops(graph, SharedMemoryBarrier)) == 1


def test_an_element_that_many_lanes_hold_is_written_once(row_sum, lowered):
    graph = lowered(row_sum, M=4, N=2048)
    final = graph.facts.get(ACCESS, ops(graph, Write)[-1])
    assert "$LANE" in str(final.mask)
    assert "$WV1" in str(final.mask)


def test_lds_that_does_not_fit_is_refused_with_the_numbers(lowered):
    constraints = [
        tkw.WorkgroupConstraint(M, 256, 0),
        tkw.WorkgroupConstraint(N, 256, 1),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f16], b: tkl.Memory[M, N, GLOBAL, tkl.f16]
    ):
        shared = tkw.allocate((M, N), (256, 256), tkl.f16)
        tkw.write(tkw.read(a), shared)
        tkw.write(tkw.read(shared), b)

    with pytest.raises(UserError, match=r"131072 bytes of LDS.*65536"):
        lowered(kernel, M=256, N=256)
