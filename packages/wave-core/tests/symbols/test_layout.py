"""Layouts and their operations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from wave_core.symbols import Digit, Layout, SymbolError, constant, parse_layout, symbol
from wave_core.symbols.evaluate import Evaluator

# CDNA matrix instructions; operand and result registers per lane as in the AMD ISA
# manuals: 16x16x16 and 32x32x8 with 16-bit inputs and 32-bit results.
OPERAND_16 = parse_layout("64x4 {M: (lane/1%16), K: 4*(lane/16%4) + (reg/1%4)}")
RESULT_16 = parse_layout("64x4 {N: (lane/1%16), M: 4*(lane/16%4) + (reg/1%4)}")
OPERAND_32 = parse_layout("64x4 {M: (lane/1%32), K: 4*(lane/32%2) + (reg/1%4)}")
RESULT_32 = parse_layout(
    "64x16 {N: (lane/1%32), M: 8*(reg/4%4) + 4*(lane/32%2) + (reg/1%4)}"
)


@pytest.mark.parametrize(
    ("layout", "tile"),
    [
        (OPERAND_16, {"M": 16, "K": 16}),
        (RESULT_16, {"M": 16, "N": 16}),
        (OPERAND_32, {"M": 32, "K": 8}),
        (RESULT_32, {"M": 32, "N": 32}),
        (OPERAND_16.tile({"M": (2, 16), "K": (4, 16)}, ["M", "K"]), {"M": 32, "K": 64}),
    ],
)
def test_matrix_layouts_cover_their_tile_once(layout, tile):
    assert layout.coverage(tile).exact
    assert {dim: layout.extent(dim) for dim in layout.dims} == tile


def test_coverage_counts():
    found = OPERAND_16.coverage({"M": 8, "K": 32})
    assert (found.missing, found.outside) == (128, 128)
    assert (found.min_multiplicity, found.max_multiplicity) == (0, 1)
    doubled = OPERAND_16.drop(["M"]).coverage({"K": 16})
    assert (doubled.min_multiplicity, doubled.max_multiplicity) == (16, 16)
    with pytest.raises(SymbolError):
        OPERAND_16.coverage({"M": 16})


def test_equal_distributions_are_equal_layouts():
    split = [Digit(1, "lane", 1, 4), Digit(4, "lane", 4, 4), Digit(9, "reg", 4, 8)]
    joined = Layout.make(64, 4, {"M": split})
    assert joined == Layout.make(64, 4, {"M": [Digit(1, "lane", 1, 16)]})
    assert joined.digits("M") == (Digit(1, "lane", 1, 16),)
    assert hash(joined) == hash(Layout.make(64, 4, {"M": reversed(split)}))


def test_only_keeps_registers_that_then_repeat():
    rows = RESULT_16.only(["M"])
    assert (rows.registers, rows.dims) == (RESULT_16.registers, ("M",))
    columns = RESULT_16.only(["N"])
    found = {columns.offset("N", 5, register) for register in range(4)}
    assert (columns.registers, len(found)) == (4, 1)


def test_drop_removes_registers_and_replicates_lanes():
    reduced = RESULT_16.drop(["M"])
    assert str(reduced) == "64x1 {N: (lane/1%16)}"
    tiled = OPERAND_16.tile({"M": (2, 16), "K": (4, 16)}, ["M", "K"])
    assert tiled.drop(["K"]) == parse_layout("64x2 {M: 16*(reg/1%2) + (lane/1%16)}")


def test_small_questions():
    assert OPERAND_16.contiguous_run("K") == 4
    assert OPERAND_16.contiguous_run("M") == 1
    shared = parse_layout("4x8 {K: (reg/1%8), M: (reg/4%2)}")
    assert shared.contiguous_run("K") == 4
    assert RESULT_32.contiguous_run("M") == 4
    assert OPERAND_16.offset("K", 17, 2) == 6


def test_everybody_holds_index_0_of_a_dimension_that_the_layout_lacks():
    assert OPERAND_16.digits("Q") == ()
    assert OPERAND_16.extent("Q") == 1
    assert OPERAND_16.expr("Q", symbol("l"), symbol("r")) is constant(0)
    assert not OPERAND_16.offsets("Q").any()


@st.composite
def layouts(draw, dims=("M", "K")):
    """Random layouts of small waves; bits of lanes and registers go anywhere."""
    table = {dim: [] for dim in dims}
    sizes = {"lane": 1, "reg": 1}
    for _ in range(draw(st.integers(0, 7))):
        source = draw(st.sampled_from(("lane", "reg")))
        mod = draw(st.sampled_from((2, 2, 4, 3)))
        coeff = draw(st.sampled_from((1, 2, 3, 4, 8, 16, -1)))
        dim = draw(st.sampled_from((*dims, None)))
        if dim is not None:
            table[dim].append(Digit(coeff, source, sizes[source], mod))
        sizes[source] *= mod
    assume(sizes["lane"] <= 64 and sizes["reg"] <= 64)
    return Layout.make(sizes["lane"], sizes["reg"], table)


@given(layouts())
def test_text_reads_back(layout):
    assert parse_layout(str(layout)) == layout


@given(layouts())
def test_offsets_agree_with_expressions(layout):
    lane, reg = symbol("$LANE"), symbol("r")
    values = Evaluator(
        {lane: np.arange(layout.lanes)[:, None], reg: np.arange(layout.registers)}
    )
    for dim in layout.dims:
        got = np.broadcast_to(
            values(layout.expr(dim, lane, reg)), (layout.lanes, layout.registers)
        )
        assert (got == layout.offsets(dim)).all()
        assert got[-1, -1] == layout.offset(dim, layout.lanes - 1, layout.registers - 1)


@given(layouts())
def test_drop_keeps_what_remains(layout):
    reduced = layout.drop(["K"])
    want = {tuple(row) for row in layout.offsets("M").T.tolist()}
    assert {tuple(row) for row in reduced.offsets("M").T.tolist()} == want


@pytest.mark.parametrize(
    "text",
    ["", "64x4", "64x4 {M 3}", "0x1 {}", "4x4 {M: (lane/0%2)}", "4x4 {M: 0, M: 0}"],
)
def test_malformed_layouts_are_symbol_errors(text):
    with pytest.raises(SymbolError):
        parse_layout(text)
