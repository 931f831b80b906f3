"""The algebra of placements."""

from __future__ import annotations

from wave_core.builtin.distribute.placements import (
    flatten,
    free_lane_digits,
    ids_of,
    placed,
    project,
    register_picks,
    restrict,
)
from wave_core.symbols import Digit, Layout
from wave_core.targets import generic_target

ROW_16, ROW_32 = generic_target().matrix_instructions


def test_steps_repeat_a_layout_until_it_covers_the_tile():
    placement = placed(ROW_16.acc, {"M": 64, "N": 40, "B": 3})
    assert placement.steps == (("B", 3, 1), ("M", 4, 16), ("N", 3, 16))


def test_a_step_that_happens_once_is_left_out():
    assert placed(ROW_16.acc, {"M": 16, "N": 7}).steps == ()


def test_projection_drops_digits_and_steps_of_the_other_dimensions():
    part = project(placed(ROW_16.acc, {"M": 64, "N": 64}), ["N"])
    assert part.layout.registers == 1
    assert part.steps == (("N", 4, 16),)


def test_ids_of_a_part_follow_those_of_the_whole():
    whole = placed(ROW_16.acc, {"M": 32, "N": 48})
    part = project(whole, ["N"])
    assert [restrict(ids, whole, part) for ids in ids_of(whole)] == [
        (0,), (1,), (2,), (0,), (1,), (2,),
    ]  # fmt: skip


def test_a_32_by_32_result_feeds_a_32_by_32_operand_by_renaming_registers():
    result = placed(ROW_32.acc.rename({"M": "K", "N": "M"}), {"K": 32, "M": 32})
    operand = placed(ROW_32.lhs, {"M": 32, "K": 32})
    assert register_picks(flatten(result), flatten(operand)) == tuple(range(16))


def test_transposing_a_result_needs_other_lanes():
    result = placed(ROW_16.acc.rename({"N": "K"}), {"M": 16, "K": 16})
    operand = placed(ROW_16.lhs, {"M": 16, "K": 16})
    assert register_picks(flatten(result), flatten(operand)) is None


def test_a_value_with_fewer_dimensions_is_picked_for_each_register():
    whole = Layout.make(
        4, 4, {"M": [Digit(1, "reg", 1, 2)], "N": [Digit(1, "reg", 2, 2)]}
    )
    assert register_picks(whole.drop(["N"]), whole) == (0, 1, 0, 1)


def test_lanes_that_no_dimension_uses_are_free():
    layout = Layout.make(64, 1, {"M": [Digit(1, "lane", 4, 2)]})
    assert free_lane_digits(layout) == [(1, 4), (8, 8)]
    assert free_lane_digits(ROW_16.acc) == []
