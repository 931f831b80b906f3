"""How many waves fit on a SIMD of these targets."""

from __future__ import annotations

import pytest

from wave_backend_amdgpu.targets.chips import gfx942, gfx950


@pytest.mark.parametrize(
    ("vgprs", "lds", "waves"), [(64, 0, 8), (128, 0, 4), (512, 0, 1), (64, 65536, 1)]
)
def test_occupancy(vgprs, lds, waves):
    assert gfx942().occupancy(vgprs, lds, 256)[0] == waves


def test_more_lds_lets_more_waves_in():
    assert gfx950().occupancy(64, 65536, 256)[0] == 2
