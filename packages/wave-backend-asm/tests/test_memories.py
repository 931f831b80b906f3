"""Buffers of LDS that share bytes share a name."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from wave_backend_asm.codegen.memories import shared_names


def test_buffers_side_by_side_have_names_of_their_own():
    assert len({*shared_names([(0, 16, 1), (16, 32, 2), (48, 64, 3)]).values()}) == 3


def test_buffers_share_a_name_through_others():
    found = shared_names([(0, 64, 1), (16, 32, 2), (48, 80, 3), (80, 96, 4)])
    assert found[1] == found[2] == found[3] != found[4]


def test_whatever_shares_a_byte_shares_a_name():
    rng = np.random.default_rng()
    starts, sizes = rng.integers(0, 400, 20), rng.integers(1, 40, 20)
    rows = [
        (int(a), int(a + n), key)
        for key, (a, n) in enumerate(zip(starts, sizes, strict=True))
    ]
    names = shared_names(rows)
    for (a, b, one), (c, d, two) in combinations(rows, 2):
        assert names[one] == names[two] or b <= c or d <= a
