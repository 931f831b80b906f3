"""Operands that lie side by side, and reads that take them at once."""

from __future__ import annotations

import pytest
from staged import compiled_gemm, ops, run_case, run_gemm, session

import wave_core.lang as tkl
from wave_core.ir import ACCESS, PLACEMENT, parse_graph, verify
from wave_core.passes import PassContext
from wave_passes_memory.accesses.merge import MergeContiguousReads
from wave_passes_memory.accesses.pack import PackMatrixOperands


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


def packed(index, coordinates):
    """Whether an operand's elements along K are made neighbours.

    It is also written, along the dim ``index`` where index registers say.
    """
    graph = parse_graph(f"""kernel "k" target "gfx942" {{
        %a = argument parameter "a" : mem<M, K, global, f16>
        %b = argument parameter "b" : mem<N, K, global, f16>
        %c = argument parameter "c" : mem<M, K, global, f16>
        %p = argument parameter "p" : mem<{index}, global, i32>
        %z = register {{shape = [M, N], dtype = !f32, value = 0.0}} : reg<M, N, f32>
        %i = read %p, [] : reg<{index}, i32>
        %x = read %a, [] : reg<M, K, f16> @placement(layout =
            #layout(64x4 {{K: 4*(lane/16%4) + (reg/1%4), M: (lane/1%16)}}),
            steps = [["K", 2, 16]])
        %y = read %b, [] : reg<N, K, f16> @placement(layout =
            #layout(64x4 {{K: 4*(lane/16%4) + (reg/1%4), N: (lane/1%16)}}),
            steps = [["K", 2, 16]])
        %q = mma %x, %y, %z : reg<M, N, f32>
        write %x, %c, [%i] {{mapping = #AccessMapping(register_dims = ["M", "K"],
            coordinates = [{coordinates}], dynamic_dims = [["{index}"]])}}
        yield []
    }}""")
    return PackMatrixOperands().apply(graph, PassContext(session().target("gfx942")))


def test_an_operand_lies_as_the_indices_by_which_it_is_written():
    assert packed("M", "$dynamic_val0?, $index1")
    assert not packed("K", "$index0, $dynamic_val0?")


MAPPING = """mapping = #AccessMapping(register_dims = ["M", "K"],
    coordinates = [`8*($index0 % 64) + 2*($index0 // 64) + $index1`])"""


def merged(*origins):
    """Reads of four times two bytes that a lane finds side by side, merged.

    Which elements they are is what their origins say, row and column.
    """
    lines = [
        f"""%x{n} = read %a, [] {{{MAPPING}, shape = [M, K]}} : reg<M, K, i8>
            @access(coordinates = [8*$LANE + $REG + {2 * n}], registers = 2)
            @placement(layout = #layout(64x2 {{K: (reg/1%2), M: (lane/1%64)}}),
            origin = [["K", `{k}`], ["M", `{m}`]])
        write %x{n}, %b, []"""
        for n, (m, k) in enumerate(origins)
    ]
    graph = parse_graph(
        """kernel "k" target "generic" {
        constraint #HardwareConstraint(threads_per_wave = 64)
        constraint #WorkgroupConstraint(dim = M, tile_size = `256`, workgroup_dim = 0)
        %a = argument parameter "a" : mem<T, global, i8>
        %b = argument parameter "b" : mem<M, K, global, i8>
        """
        + "\n".join(lines)
        + "\nyield []\n}"
    )
    MergeContiguousReads().apply(graph, PassContext(session().target("generic")))
    verify(graph)
    reads = ops(graph, "read")
    layouts = [str(graph.facts.get(PLACEMENT, op).layout) for op in reads]
    return [graph.facts.get(ACCESS, op).registers for op in reads], layouts


def test_what_lies_side_by_side_may_be_of_any_rows():
    by_rows = merged((0, 0), (64, 0), (128, 0), (192, 0))
    assert by_rows == ([8], ["64x8 {K: (reg/1%2), M: 64*(reg/2%4) + (lane/1%64)}"])
    by_both = merged((0, 0), (0, 2), (64, 0), (64, 2))
    assert by_both == ([8], ["64x8 {K: (reg/1%4), M: 64*(reg/4%2) + (lane/1%64)}"])
    by_bits = merged((0, 0), (128, 0), (64, 0), (192, 0))[1]
    assert by_bits == [
        "64x8 {K: (reg/1%2), M: 128*(reg/2%2) + 64*(reg/4%2) + (lane/1%64)}"
    ]


def test_rows_that_are_no_sum_of_bits_are_read_by_twos():
    assert merged((0, 0), (64, 0), (128, 0), (256, 0))[0] == [4, 4]
    assert merged((0, 0), (0, 0), (64, 0), (64, 0))[0] == [2, 2, 2, 2]
