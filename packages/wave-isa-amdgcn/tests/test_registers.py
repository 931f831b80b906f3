"""Registers as bits."""

from __future__ import annotations

from wave_isa_amdgcn.registers import EXEC_BITS, SCALAR, VECTOR, rows_of


def test_rows_are_the_set_bits_from_the_lowest():
    assert rows_of(1 << 700 | 5) == [0, 2, 700]


def test_masks_of_lanes_are_no_vectors():
    assert rows_of(EXEC_BITS) == [SCALAR + 126, SCALAR + 127]
    assert not EXEC_BITS & VECTOR
