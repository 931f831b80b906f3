"""The rows of the target `generic`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.diagnostics import UserError
from wave_core.targets import generic_target
from wave_core.types import DTYPES

TARGET = generic_target()


@pytest.mark.parametrize("row", TARGET.matrix_instructions, ids=lambda row: row.name)
@pytest.mark.parametrize("operand", ["lhs", "rhs", "acc"])
def test_every_element_sits_in_exactly_one_place(row, operand):
    sizes = dict(zip("MNK", row.shape, strict=True))
    layout = getattr(row, operand)
    found = layout.coverage({dim: sizes[dim] for dim in layout.dims})
    assert (found.missing, found.outside) == (0, 0)
    assert found.min_multiplicity == found.max_multiplicity == 1


def test_every_lane_is_in_one_phase_of_an_access():
    memory = TARGET.memory
    for _, phases in (*memory.read_phases, *memory.write_phases):
        lanes = sorted(lane for phase in phases.phases for lane in phase)
        assert lanes == list(range(TARGET.wave_size))


def test_an_instruction_that_it_lacks_is_refused_with_those_it_has():
    with pytest.raises(UserError, match="F32_16x16x16_F16"):
        TARGET.matrix_instruction("F32_1x1x1_F16")


@pytest.mark.parametrize("rows", [16, 32])
def test_an_instruction_with_so_many_rows(rows):
    assert TARGET.default_mma(DTYPES["f16"], rows=rows).shape[0] == rows


def test_rows_that_no_instruction_has_are_refused_with_those_there_are():
    with pytest.raises(UserError, match="may be: 16, 32") as raised:
        TARGET.default_mma(DTYPES["f16"], rows=64)
    assert raised.value.code == "WV0702"


def halved(row):
    """A form of two issues, of twice the K."""
    m, n, k = row.shape
    return replace(row, name="twice", shape=(m, n, 2 * k), issues=2)


@pytest.mark.parametrize(
    ("tile", "name"),
    [
        ((16, 16, 32), "twice"),
        ((16, 16, 16), "F32_16x16x16_F16"),
        ((24, 16, 32), "F32_16x16x16_F16"),
    ],
)
def test_an_instruction_of_several_issues_divides_the_tile(tile, name):
    rows = TARGET.matrix_instructions
    target = replace(TARGET, matrix_instructions=(halved(rows[0]), *rows))
    assert target.default_mma(DTYPES["f16"], tile=tile).name == name
    assert target.default_mma(DTYPES["f16"]).name == "twice"
