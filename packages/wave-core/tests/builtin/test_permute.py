"""The order of the contracted dimension follows the operand that has one."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.builtin.distribute.placements import flatten, register_picks
from wave_core.builtin.pipeline import CORE_PASSES
from wave_core.ir import PLACEMENT
from wave_core.passes import PassContext
from wave_core.symbols import Digit, Layout
from wave_core.targets import generic_target
from wave_core.types import DTYPES

M, N, K1, K2 = tkl.sym.M, tkl.sym.N, tkl.sym.K1, tkl.sym.K2
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
WIDE = "F32_16x16x32_K8_F16"
TALL = "F32_32x32x16_K8_F16"


def operand(row):
    """Row = lane % 16; K = 8 * (lane / 16) + register, the order of 32 K elements."""
    lanes = [Digit(8, "lane", 16, 4), Digit(1, "reg", 1, 8)]
    return Layout.make(64, 8, {row: [Digit(1, "lane", 1, 16)], "K": lanes})


@pytest.fixture(name="target")
def _target():
    """The generic machine with one more instruction, 32 K elements wide."""
    base = generic_target()
    row = replace(
        base.matrix_instructions[0],
        name=WIDE,
        shape=(16, 16, 32),
        lhs=operand("M"),
        rhs=operand("N"),
    )
    return replace(base, matrix_instructions=(*base.matrix_instructions, row))


def two_products(k2_tile, rows=16, second=WIDE):
    constraints = [
        tkw.WorkgroupConstraint(M, rows, 0),
        tkw.TilingConstraint(K2, k2_tile),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def kernel(
        q: tkl.Memory[M, K1, GLOBAL, tkl.f16],
        k: tkl.Memory[K2, K1, GLOBAL, tkl.f16],
        v: tkl.Memory[N, K2, GLOBAL, tkl.f16],
        c: tkl.Memory[N, M, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K2, init_args=[tkl.Register[N, M, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[N, M, tkl.f32]) -> tkl.Register[N, M, tkl.f32]:
            zero = tkl.Register[K2, M, tkl.f32](0.0)
            scores = tkw.mma(tkw.read(k), tkw.read(q), zero)
            weights = tkw.cast(scores, tkl.f16)
            return tkw.mma(tkw.read(v), weights, acc, tkl.MMAType(second))

        tkw.write(repeat, c)

    return kernel


def distributed(kernel, target):
    graph = kernel.trace({"M": 32, "N": 32, "K1": 16, "K2": 128})
    for spec in CORE_PASSES:
        module, name = spec.target.split(":")
        getattr(import_module(module), name)().apply(graph, PassContext(target))
        if spec.name == "assign-layouts":
            return graph
    raise AssertionError


def renames_registers(graph):
    """Whether the one relayout of ``graph`` moves nothing between lanes."""
    (op,) = [op for op in graph.walk() if op.op_name == "relayout"]
    have, want = (graph.facts.get(PLACEMENT, x) for x in (op.value, op))
    return register_picks(flatten(have), flatten(want)) is not None


@pytest.mark.parametrize("k2_tile", [32, 64])
def test_the_free_operand_takes_the_order_of_the_other(target, k2_tile):
    graph = distributed(two_products(k2_tile), target)
    assert renames_registers(graph)
    reads = [op for op in graph.walk() if op.op_name == "read"]
    (v,) = [op for op in reads if op.type.dims[0] == "N"]
    placement = graph.facts.get(PLACEMENT, v)
    coefficients = {(d.source, d.coeff) for d in placement.layout.digits("K2")}
    assert coefficients == {("lane", 4), ("reg", 1), ("reg", 16)}


def test_a_tile_that_the_instruction_overshoots_is_moved_instead(target):
    graph = distributed(two_products(16), target)
    assert not renames_registers(graph)


def tall_operand(row):
    """Row = lane % 32; K = 8 * (lane / 32) + register, the order of 16 K elements."""
    lanes = [Digit(8, "lane", 32, 2), Digit(1, "reg", 1, 8)]
    return Layout.make(64, 8, {row: [Digit(1, "lane", 1, 32)], "K": lanes})


@pytest.mark.parametrize("k2_tile", [32, 64])
def test_stretches_of_registers_that_go_on_through_steps_are_one(k2_tile):
    base = generic_target()
    narrow = base.default_mma(DTYPES["f16"], rows=32)
    wide = replace(
        narrow,
        name=TALL,
        shape=(32, 32, 16),
        lhs=tall_operand("M"),
        rhs=tall_operand("N"),
    )
    target = replace(base, matrix_instructions=(narrow, wide))
    kernel = two_products(k2_tile, rows=32, second=TALL)
    assert renames_registers(distributed(kernel, target))
