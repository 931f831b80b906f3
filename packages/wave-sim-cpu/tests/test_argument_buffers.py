"""Arguments as buffers: views of what the caller passes, whatever it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.types import DTYPES
from wave_sim_cpu.memory import argument_buffer


@pytest.mark.parametrize(
    "dtype", [d for d in DTYPES.values() if not d.is_packed], ids=str
)
def test_every_element_type_is_written_in_place(dtype):
    array = np.zeros((3, 8), dtype.numpy())[:, ::2]
    before = array.copy()
    buffer = argument_buffer("a", dtype, array)
    place = buffer.strides[0] + buffer.strides[1]
    buffer.cells[place] = np.ones((), dtype.numpy())
    assert np.argwhere(array != before).tolist() == [[1, 1]]


def test_reversed_axes_start_at_their_last_element():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)[::-1, ::-1]
    buffer = argument_buffer("a", DTYPES["i32"], array)
    assert buffer.cells[buffer.origin] == array[0, 0]
