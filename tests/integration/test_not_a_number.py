"""NaN and infinities go through the functions in machine code as they do in torch."""

from __future__ import annotations

import pytest
from boundaries.spoiling import CALLS, ODD, check

from wave_kernels.functions import launches

TARGETS = ("gfx942", "gfx950", "sm_90a")
FEW = (
    *("softmax", "layer_norm", "cross_entropy", "cumsum", "topk", "quantize_rows"),
    *("rms_norm", "route_tokens", "elementwise", "gated relu", "swiglu relu"),
    *("matmul gelu", "matmul relu", "grouped_swiglu"),
    *("attention", "decode parts"),
)
"""At least one of each form: rows, scans, orders, products, attention, its parts."""


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", FEW)
def test_they_stand_where_torch_has_them(name, odd, target, monkeypatch):
    monkeypatch.setattr(launches, "ON_CPU", ("emulator", target))
    check(name, odd)


@pytest.mark.fuzz
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("name", CALLS)
def test_every_function(name, place, odd, target, monkeypatch):
    monkeypatch.setattr(launches, "ON_CPU", ("emulator", target))
    check(name, odd, place)
