"""The coverage theorem, on random constraint sets and three kinds of kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import assume, given, settings, strategies as st

from wave_core.compile import Session
from wave_core.ir import PLACEMENT
from wave_core.symbols import Digit, Layout
from wave_testing.corpus import product, reduction
from wave_testing.coverage import coverage_problems, placed_values
from wave_testing.programs.execute import Execution
from wave_testing.strategies import constraint_sets

FEW, MANY = settings(max_examples=100), settings(max_examples=1000)
"""CI draws the same examples each time, so a test run twice would repeat them."""


@cache
def session():
    return Session(announce=lambda _: None)


def indexed(program):
    """The graph of a program, with layouts."""
    execution = Execution(program)
    graph = execution.trace()
    execution.run_passes(session(), graph, stop_after="distribute")
    return graph


def check(program):
    graph = indexed(program)
    assert list(placed_values(graph))
    assert coverage_problems(graph, session().target("generic")) == []


def distributed(draw, dim, tiles, splits):
    """Another distribution of a dimension; its extent need not divide anything."""
    tile = draw(st.sampled_from(tiles))
    waves = draw(st.sampled_from([n for n in splits if tile % max(1, n) == 0]))
    extent = draw(st.integers(1, 3 * tile))
    return replace(dim, extent=extent, tile=tile, waves=waves, dynamic=False)


@st.composite
def products(draw):
    """Matrix products whose tiles are multiples of the instruction's, or are not."""
    program = product()
    m, n, k = program.dims
    rows = distributed(draw, m, (16, 20, 32, 64, 96), (0, 1, 2, 4))
    columns = distributed(draw, n, (8, 16, 32, 48), (0, 1, 2))
    loop = draw(st.sampled_from((4, 16, 20, 32)))
    depth = replace(k, extent=draw(st.integers(1, 80)), loop=loop)
    return replace(program, dims=(rows, columns, depth))


@st.composite
def reductions(draw):
    """Row reductions, within a lane, a wave or a workgroup."""
    program = reduction()
    m, n = program.dims
    rows = distributed(draw, m, (1, 2, 3, 4, 8), (0, 1, 2))
    tile = draw(st.sampled_from((1, 3, 32, 64, 100, 128, 256)))
    waves = draw(st.sampled_from([n for n in (0, 1, 2, 4) if tile % max(1, n) == 0]))
    # One workgroup has to hold a whole row.
    extent = draw(st.integers(1, tile))
    columns = replace(n, extent=extent, tile=tile, waves=waves)
    return replace(program, dims=(rows, columns))


@FEW
@given(found=constraint_sets())
def test_copies_cover_every_tile(found):
    check(found.program)


@FEW
@given(program=products())
def test_products_cover_every_tile(program):
    assume(program.units)
    check(program)


@FEW
@given(program=reductions())
def test_reductions_cover_every_tile(program):
    check(program)


@pytest.mark.fuzz
@MANY
@given(found=constraint_sets())
def test_a_thousand_copies_cover_every_tile(found):
    check(found.program)


@pytest.mark.fuzz
@MANY
@given(program=products())
def test_a_thousand_products_cover_every_tile(program):
    assume(program.units)
    check(program)


@pytest.mark.fuzz
@MANY
@given(program=reductions())
def test_a_thousand_reductions_cover_every_tile(program):
    check(program)


@dataclass(frozen=True)
class Wrong:
    """A layout of 64 lanes along N that breaks the theorem."""

    digits: tuple[Digit, ...]
    what: str


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong((Digit(1, "lane", 1, 32),), "nobody holds"),
        Wrong((Digit(2, "lane", 1, 64),), "nobody holds"),
        Wrong((Digit(1, "lane", 1, 64), Digit(1, "reg", 1, 2)), "are held"),
    ],
    ids=["too few lanes", "every second element", "elements held twice"],
)
def test_layouts_that_do_not_cover_are_found(wrong):
    program = reduction()
    rows, columns = program.dims
    columns = replace(columns, extent=64, tile=64, waves=0)
    graph = indexed(replace(program, dims=(rows, columns)))
    registers = 2 if len(wrong.digits) > 1 else 1
    op = next(v for v in placed_values(graph) if v.type.dims == ("M", "N"))
    layout = Layout.make(64, registers, {"N": wrong.digits})
    placement = graph.facts.get(PLACEMENT, op)
    graph.facts.put(PLACEMENT, op, replace(placement, layout=layout, steps=()))
    found = coverage_problems(graph, session().target("generic"))
    assert any(wrong.what in each for each in found), found
