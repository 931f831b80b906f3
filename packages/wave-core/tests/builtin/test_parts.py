"""Lanes of a product have whole bytes of operands whose elements share them."""

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

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROWS = Digit(1, "lane", 1, 16)
TURNED = [Digit(2, "lane", 16, 2), Digit(1, "lane", 32, 2)]


def one_of_k(row):
    """As instructions in f32 have it: a lane has one element of a row."""
    return Layout.make(64, 1, {row: [ROWS], "K": [Digit(1, "lane", 16, 4)]})


def machine(**changes):
    """The generic one with one instruction, in f32, of four K elements."""
    base = generic_target()
    row = replace(
        base.matrix_instructions[0],
        name="F32_16x16x4_F32",
        shape=(16, 16, 4),
        operand_dtypes=(DTYPES["f32"],),
        lhs=one_of_k("M"),
        rhs=one_of_k("N"),
    )
    return replace(base, matrix_instructions=(replace(row, **changes),))


def product(elements, depth):
    """Rows in f32 times weights that are widened."""
    width = K * elements.bits / 8

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 16, 0),
            tkw.WorkgroupConstraint(N, 16, 1),
            tkw.TilingConstraint(K, depth),
            tkw.HardwareConstraint(threads_per_wave=64),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32],
        w: tkl.Memory[N, width, GLOBAL, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def total(acc):
            weights = tkw.cast(tkw.bitcast(tkw.read(w), elements), tkl.f32)
            return tkw.mma(tkw.read(a), weights, acc)

        tkw.write(total, c)

    return kernel


def distributed(kernel, target, depth):
    """The graph with layouts, and a function from names of ops to theirs."""
    graph = kernel.trace({"M": 16, "N": 16, "K": 2 * depth})
    for spec in CORE_PASSES:
        module, name = spec.target.split(":")
        getattr(import_module(module), name)().apply(graph, PassContext(target))
        if spec.name == "assign-layouts":
            break

    def placements(name):
        return [
            graph.facts.get(PLACEMENT, o) for o in graph.walk() if o.op_name == name
        ]

    return graph, placements


@pytest.mark.parametrize(
    ("elements", "depth", "held"),
    [
        *((tkl.i4, 32, 8), (tkl.f4e2m1fn, 8, 2), (tkl.f6e2m3fn, 32, 8)),
        *((tkl.i4, 4, 2), (tkl.i4, 12, 4), (tkl.f6e2m3fn, 24, 8)),
    ],
)
def test_a_lane_has_a_run_of_whole_bytes(elements, depth, held):
    """As long as all steps together, and longer where these cut a byte."""
    _, placements = distributed(product(elements, depth), machine(), depth)
    (bits,) = placements("bitcast")
    run = [Digit(1, "reg", 1, held), Digit(held, "lane", 16, 4)]
    assert bits.layout == Layout.make(64, held, {"N": [ROWS], "K": run})
    assert not bits.steps


def test_no_element_changes_lanes():
    graph, placements = distributed(product(tkl.i4, 32), machine(), 32)
    (moved,) = [op for op in graph.walk() if op.op_name == "relayout"]
    assert moved.value.op_name == "cast"
    have, want = placements("cast"), placements("relayout")
    assert register_picks(flatten(*have), flatten(*want)) is not None


def test_both_operands_have_k_in_one_order():
    _, placements = distributed(product(tkl.i4, 12), machine(), 12)
    lhs = next(at for at in placements("read") if "M" in at.layout.dims)
    (rhs,) = placements("relayout")
    assert lhs.layout == rhs.layout.rename({"N": "M"})
    assert lhs.steps == rhs.steps == (("K", 4, 1),)


def test_elements_of_whole_bytes_keep_the_order_of_the_instruction():
    _, placements = distributed(product(tkl.f8e4m3fn, 32), machine(), 32)
    (bits,) = placements("bitcast")
    assert bits.layout == one_of_k("N")
    assert not placements("relayout")


@pytest.mark.parametrize(
    "changes",
    [
        {"rhs_in": ("shared",)},
        {"rhs": Layout.make(64, 1, {"N": [ROWS], "K": TURNED})},
    ],
)
def test_an_instruction_whose_order_is_fixed_keeps_it(changes):
    _, placements = distributed(product(tkl.i4, 32), machine(**changes), 32)
    lhs = next(at for at in placements("read") if "M" in at.layout.dims)
    assert lhs.layout == one_of_k("M")


@pytest.mark.parametrize("elements", [tkl.i4, tkl.f6e3m2fn])
def test_a_tile_with_less_than_an_element_for_each_lane(elements, lowered):
    """Nothing says how it is laid out, but that lanes have whole bytes."""
    width = N * elements.bits / 8

    @tkw.wave([tkw.WorkgroupConstraint(N, 32, 0), tkw.HardwareConstraint()])
    def kernel(b: tkl.Memory[width, GLOBAL, tkl.i8], c: tkl.Memory[N, GLOBAL, tkl.f32]):
        tkw.write(tkw.cast(tkw.bitcast(tkw.read(b), elements), tkl.f32), c)

    graph = lowered(kernel, upto="assign-layouts", N=64)
    names = [op.op_name for op in graph.walk()]
    assert "relayout" not in names
