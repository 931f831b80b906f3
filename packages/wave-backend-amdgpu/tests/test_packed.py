"""Buffers that share LDS, and fences, in the generated code."""

from __future__ import annotations

from wave_backend_amdgpu.compile.backend import compile_graph, settings_of
from wave_core.compile import WaveCompileOptions
from wave_core.ir import insert_before, set_attributes
from wave_core.ops.memory import Allocate
from wave_core.ops.sync import SharedMemoryBarrier, WaveFence


def packed(lowered):
    graph, chip = lowered("gemm-staged")
    buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
    for index, op in enumerate(buffers):
        set_attributes(op, offset=4096 * index)
    return graph, chip


def test_packed_buffers_are_parts_of_one(lowered):
    graph, chip = packed(lowered)
    output = compile_graph(graph, chip, settings_of(WaveCompileOptions()))
    assert output.artifact.manifest.lds_bytes == 4096 + 8192
    assert output.mlir.count("memref.alloc()") == 1
    assert output.mlir.count("memref.view") == 2


def test_a_fence_makes_no_instruction(lowered):
    plain, chip = lowered("gemm-staged")
    fenced = plain.clone()
    barriers = [op for op in fenced.walk() if isinstance(op, SharedMemoryBarrier)]
    for op in barriers:
        insert_before(op, WaveFence())
    settings = settings_of(WaveCompileOptions())
    one, two = (compile_graph(g, chip, settings) for g in (plain, fenced))
    assert two.mlir.count('syncscope("wavefront")') == len(barriers)
    assert len(one.artifact.code) == len(two.artifact.code)
