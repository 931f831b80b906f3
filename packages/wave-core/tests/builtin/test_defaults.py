"""Layouts of components without anchors."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from wave_core.builtin.distribute.defaults import Lead, Shape, default_placement
from wave_core.builtin.distribute.placements import flatten


def test_a_16_by_64_f16_tile_takes_two_steps_of_8_rows():
    lead = Lead(("M", "N"), "N", 16)
    placement = default_placement(lead, Shape({"M": 16, "N": 64}, {}, 64, 128))
    assert placement.layout.registers == 8
    assert placement.steps == (("M", 2, 8),)
    assert placement.layout.extent("N") == 64


def test_a_short_tile_leaves_lanes_idle_rather_than_elements_alone():
    placement = default_placement(Lead(("N",), "N", 32), Shape({"N": 100}, {}, 64, 128))
    assert placement.layout.registers == 1
    assert placement.steps == (("N", 2, 64),)


def test_vector_shapes_limit_what_a_step_covers():
    shape = Shape({"M": 32, "N": 8}, {"M": 16, "N": 4}, 64, 128)
    placement = default_placement(Lead(("M", "N"), "N", 16), shape)
    assert {d: placement.layout.extent(d) for d in ("M", "N")} == {"M": 16, "N": 4}


def test_a_batch_dimension_takes_no_lanes():
    shape = Shape({"B": 4, "N": 64}, {"B": 0}, 64, 128)
    placement = default_placement(Lead(("B", "N"), "N", 32), shape)
    assert "B" not in placement.layout.dims
    assert placement.steps == (("B", 4, 1),)


@pytest.mark.parametrize("elements", [1, 2, 3, 8])
def test_the_author_may_say_how_many_elements_a_lane_moves(elements):
    lead = Lead(("N",), "N", 16, elements)
    placement = default_placement(lead, Shape({"N": 512}, {}, 64, 128))
    assert placement.layout.registers == elements


TILES = st.fixed_dictionaries(
    {"N": st.integers(1, 130)},
    optional={"M": st.integers(1, 20), "B": st.integers(1, 4)},
)


@given(
    tile=TILES,
    bits=st.sampled_from([8, 16, 32, 64]),
    lanes=st.sampled_from([32, 64]),
    data=st.data(),
)
def test_every_element_of_the_tile_is_held(tile, bits, lanes, data):
    dims = tuple(sorted(tile))
    shapes = data.draw(st.dictionaries(st.sampled_from(dims), st.integers(0, 64)))
    lead = Lead(dims, data.draw(st.sampled_from(dims)), bits)
    placement = default_placement(lead, Shape(tile, shapes, lanes, 128))
    steps = {dim for dim, _, _ in placement.steps}
    spread = {d: tile[d] for d in dims if d in placement.layout.dims or d in steps}
    assert flatten(placement).coverage(spread).missing == 0
    assert all(tile[d] == 1 for d in dims if d not in spread)
