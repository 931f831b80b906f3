"""Which layouts kernels get."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.builtin.distribute.assign import warn_of_unused
from wave_core.diagnostics import Collector, UserError
from wave_core.ir import PLACEMENT
from wave_core.targets import generic_target
from wave_core.types import RegisterType

M, N, K, B = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.B
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROW = generic_target().matrix_instructions[0]


def placements(graph, name):
    return [graph.facts.get(PLACEMENT, op) for op in graph.walk() if op.op_name == name]


def test_a_matrix_op_places_its_operands(gemm, lowered):
    graph = lowered(gemm, upto="assign-layouts", M=64, N=64, K=64)
    a, b = placements(graph, "read")
    assert a.layout == ROW.lhs
    assert b.layout == ROW.rhs
    assert a.steps == (("K", 2, 16), ("M", 2, 16))


def test_the_initial_value_and_the_result_follow_the_accumulator(gemm, lowered):
    graph = lowered(gemm, upto="assign-layouts", M=64, N=64, K=64)
    (initial,) = placements(graph, "register")
    (result,) = placements(graph, "get_result")
    assert initial == result == placements(graph, "mma")[0]


def test_every_value_is_placed(row_sum, lowered):
    graph = lowered(row_sum, upto="assign-layouts", M=4, N=2048)
    values = [op for op in graph.walk() if isinstance(op.type, RegisterType)]
    assert all(graph.facts.get(PLACEMENT, op) for op in values)


def elementwise(constraints):
    @tkw.wave([*constraints, tkw.HardwareConstraint(threads_per_wave=64)])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        bias: tkl.Memory[N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        tkw.write(tkw.read(a) + tkw.read(bias), c)

    return kernel


def test_an_operand_with_fewer_dimensions_takes_the_projection(lowered):
    constraints = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
    ]
    graph = lowered(elementwise(constraints), upto="assign-layouts", M=64, N=64)
    full, bias = placements(graph, "read")
    assert bias.layout == full.layout.drop(["M"])


def test_a_tile_without_a_size_names_dimension_and_remedy(lowered):
    kernel = elementwise([tkw.WorkgroupConstraint(M, 16, 0)])
    with pytest.raises(UserError) as caught:
        lowered(kernel, upto="assign-layouts", M=64)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "WV0302"
    assert "`N`" in diagnostic.message
    where = diagnostic.primary.location
    assert "tkw.write" in where.source_line(where.line)


def test_a_result_that_is_transposed_by_use_is_moved(lowered):
    constraints = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def chained(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        d: tkl.Memory[B, N, GLOBAL, tkl.f16],
        c: tkl.Memory[M, B, GLOBAL, tkl.f32],
    ):
        first = tkl.Register[M, N, tkl.f32](0.0)
        first = tkw.mma(tkw.read(a), tkw.read(b), first)
        second = tkl.Register[M, B, tkl.f32](0.0)
        second = tkw.mma(tkw.cast(first, tkl.f16), tkw.read(d), second)
        tkw.write(second, c)

    sizes = {"M": 16, "N": 16, "K": 16, "B": 16}
    graph = lowered(chained, upto="assign-layouts", **sizes)
    (moved,) = placements(graph, "relayout")
    assert moved.layout == ROW.lhs.rename({"K": "N"})


def test_a_constraint_on_a_dimension_that_no_value_has_is_a_warning():
    constraints = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(B, 16, 1),
    ]
    graph = elementwise(constraints).trace({"M": 16, "N": 16})
    collector = Collector()
    warn_of_unused(graph, collector)
    (warning,) = collector.warnings
    assert (warning.code, "`B`" in warning.message) == ("WV0314", True)
