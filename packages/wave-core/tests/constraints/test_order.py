"""The order of dies: it permutes every grid, and each die has consecutive tiles."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.constraints import hardware_symbol, workgroup_symbol
from wave_core.constraints.geometry import Geometry
from wave_core.constraints.order import MOST_WORKGROUPS, Numbering
from wave_core.diagnostics import UserError
from wave_core.symbols import constant, evaluate, symbol
from wave_core.targets import generic_target

M, N = tkw.sym.M, tkw.sym.N
LAYERS = ((), (1,), (3,), (2, 3), (3, 1, 2))


def values_in_order(grid, dies, rows, *, bound):
    """All that is defined, for each workgroup as the hardware starts them."""
    extents = [symbol(f"COUNT{axis}") for axis in range(len(grid))]
    known = dict(zip(extents, grid, strict=True))
    numbering = Numbering([constant(each) for each in grid] if bound else extents)
    numbering.give_to_dies(dies, rows)
    counted = np.unravel_index(np.arange(prod(grid)), grid, order="F")
    known |= {hardware_symbol(axis): at for axis, at in enumerate(counted)}
    for name, value in numbering.definitions:
        known[name] = evaluate(value, known)
    return {name: known[name] for name, _ in numbering.definitions}


def tiles_in_order(grid, dies, rows, *, bound=True):
    values = values_in_order(grid, dies, rows, bound=bound)
    axes = (values[workgroup_symbol(axis)] for axis in range(len(grid)))
    return list(zip(*(np.broadcast_to(at, prod(grid)) for at in axes), strict=True))


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("further", LAYERS)
def test_every_tile_has_one_workgroup(further, bound):
    """Also where neither dies divide the workgroups nor rows the tiles."""
    for down, across in product((1, 2, 3, 4, 7, 8, 9, 16, 17), (1, 2, 5, 8, 11)):
        for dies, rows in ((8, 4), (3, 2), (8, 1)):
            grid = (down, across, *further)
            found = tiles_in_order(grid, dies, rows, bound=bound)
            assert sorted(found) == sorted(product(*map(range, grid))), grid


@pytest.mark.parametrize("bound", [True, False])
def test_every_count_of_workgroups_on_one_axis(bound):
    for count in range(1, 200):
        found = [at for (at,) in tiles_in_order((count,), 8, 4, bound=bound)]
        assert sorted(found) == list(range(count))
        for die in range(8):
            own = found[die::8]
            assert own == list(range(count))[own[0] : own[-1] + 1] if own else True


def test_bands_are_walked_down_and_then_across():
    assert tiles_in_order((3, 3, 2), 1, 2)[:9] == [
        *((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 2, 0), (1, 2, 0)),
        *((2, 0, 0), (2, 1, 0), (2, 2, 0)),
    ]


def test_a_die_has_a_block_of_tiles():
    """Of 16 x 16 tiles, 32 each: 4 rows of 8 columns."""
    own = tiles_in_order((16, 16), 8, 4)[3::8]
    assert {m for m, _ in own} == set(range(4, 8))
    assert {n for _, n in own} == set(range(8, 16))


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("grid", [(17, 11), (9, 5, 3), (2, 3, 4, 5)])
def test_no_value_is_negative_or_more_than_the_workgroups(grid, bound):
    values = values_in_order(grid, 8, 4, bound=bound)
    for name, value in values.items():
        assert np.min(value) >= 0, name
        assert np.max(value) <= prod(grid) <= MOST_WORKGROUPS, name


def geometry(*constraints, **bindings):
    rows = [tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint(), *constraints]
    values = {symbol(name): size for name, size in bindings.items()}
    return Geometry(rows, values, generic_target())


@pytest.mark.parametrize("grid", [(0,), (0, 3), (3, 0), (2, 3, 0), (0, 0)])
def test_no_tiles_have_no_order(grid):
    numbering = Numbering(list(map(constant, grid)))
    numbering.give_to_dies(8, 4)
    assert numbering.definitions == ()


def test_one_die_counts_as_the_hardware_does():
    assert geometry(tkw.DieOrder(), M=160).numbering == ()
    assert geometry(tkw.DieOrder(dies=2), M=160).numbering


def test_one_die_has_bands_where_the_target_says_so():
    rows = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 16, 1)]
    sizes = {symbol("M"): 160, symbol("N"): 64}

    def numbering(band_rows, **order):
        target = replace(generic_target(), band_rows=band_rows)
        given = [*rows, tkw.HardwareConstraint(), tkw.DieOrder(**order)]
        return Geometry(given, sizes, target).numbering

    assert numbering(0, rows=2) == ()
    assert numbering(2) == numbering(7, rows=2) != numbering(7)
    first = tiles_in_order((10, 4), 1, 2)[:8]
    assert first == [(row, at) for at in range(4) for row in range(2)]


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("further", LAYERS)
def test_every_tile_of_one_die_has_one_workgroup(further, bound):
    for down, across in product((1, 2, 3, 4, 7, 8, 9), (2, 5, 8)):
        grid = (down, across, *further)
        found = tiles_in_order(grid, 1, 4, bound=bound)
        assert sorted(found) == sorted(product(*map(range, grid))), grid


def test_a_band_of_one_tile_is_as_the_hardware_counts():
    numbering = Numbering([constant(10), constant(1), constant(3)])
    numbering.give_to_dies(1, 2)
    assert numbering.definitions == ()


def test_reorderings_are_of_ordered_coordinates():
    both = geometry(
        tkw.ReorderingConstraint(9 - tkw.WORKGROUP_0, 0), tkw.DieOrder(dies=2), M=160
    )
    found = []
    for number in range(4):
        known = {hardware_symbol(0): number}
        for name, value in both.numbering:
            known[name] = evaluate(value, known)
        found.append(known[workgroup_symbol(0)])
    assert found == [9, 4, 8, 3]


def test_a_kernel_has_one_order():
    with pytest.raises(UserError) as error:
        geometry(tkw.DieOrder(), tkw.DieOrder(rows=2), M=160)
    assert error.value.code == "WV0323"
    assert "the kernel has two DieOrders" in str(error.value)


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"rows": "4"}, {"dies": 0}])
def test_counts_are_positive(wrong):
    with pytest.raises(UserError, match="WV0327"):
        tkw.DieOrder(**wrong)
