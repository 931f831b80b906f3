"""Permutations of chunks by two parts of a row's number, over lines of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from wave_core.constraints.machine import LANE, REGISTER
from wave_core.ir import Access
from wave_core.symbols import Facts, as_expr, evaluate, symbol
from wave_core.types import DTYPES, AddressSpace, MemoryType
from wave_passes_memory.layouts.schemes import schemes

ROWS, COLUMNS = 64, (16, 32, 64, 128)


@given(
    rows=st.integers(1, 130),
    chunks=st.integers(1, 40),
    width=st.sampled_from([4, 8, 16]),
)
def test_each_element_has_a_place_of_its_own(rows, chunks, width):
    row, column = np.divmod(np.arange(rows * chunks * width), chunks * width)
    for scheme in schemes(chunks * width, width, rows):
        places = scheme.places(row, column, chunks * width)
        assert len(np.unique(places)) == len(places)
        assert places.min() >= 0
        assert places.max() < rows * (chunks * width + scheme.padding)


@pytest.mark.parametrize("columns", COLUMNS)
def test_expressions_say_the_same_as_numbers(columns):
    kind = MemoryType(
        (symbol("N"), symbol("K")),
        AddressSpace.SHARED,
        DTYPES["f16"],
        (as_expr(ROWS), as_expr(columns)),
    )
    lanes, register = np.arange(ROWS)[:, None], np.arange(4)
    facts = Facts().with_range(LANE, 0, ROWS - 1).with_range(REGISTER, 0, 3)
    for start in range(0, columns, 4):
        access = Access((LANE, REGISTER + start), 4)
        for scheme in schemes(columns * 2, 16, ROWS):
            if scheme.padding:
                continue
            row, column = scheme.apply(access, kind, facts).coordinates
            env = {LANE: lanes, REGISTER: register}
            found = evaluate(row, env) * columns + evaluate(column, env)
            first = scheme.places(lanes, np.full_like(lanes, 2 * start), columns * 2)
            np.testing.assert_array_equal(found, first // 2 + register)
