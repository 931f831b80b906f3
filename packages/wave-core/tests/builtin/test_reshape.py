"""Reshapes of whole tiles go; what joins or cuts tiles is refused."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


def reshaping(shape, **slices):
    constraints = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        x = tkw.reshape([tkw.read(a)], shape, **slices)
        tkw.write(tkw.permute(x, target_shape=[M, N]), b)

    return kernel


@pytest.mark.parametrize("shape", [{M: 16, N: 4}, [M, N], [N, M]])
def test_a_whole_tile_stays_what_it_is(lowered, shape):
    graph = lowered(reshaping(shape), M=16, N=64)
    assert {op.op_name for op in graph.walk()} <= {"read", "assemble", "write", "yield"}


def test_a_piece_of_a_tile_is_refused(lowered):
    with pytest.raises(UserError, match="joins or cuts"):
        lowered(reshaping([M, N], num_slices=2), M=16, N=64)
