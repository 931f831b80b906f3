"""Preset ``auto`` where sizes are smaller than tiles: what it takes is what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.compile import Config, Session
from wave_core.compile.choosing import first_that_fits
from wave_core.compile.compiler import lower_front
from wave_core.compile.front import front_of
from wave_core.compile.kernels import make_case

SESSION = Session(config=Config(cache=False), announce=lambda *_: None)
SHAPES = {
    "gemm": lambda size: {"M": size, "N": 12_288, "K": 4096},
    "gemm-nn": lambda size: {"M": 128, "N": size, "K": 1024},
    "attention-heads": lambda size: {"B": 1, "M": size, "H": 2, "K2": 512},
    "softmax": lambda size: {"M": size, "N": size},
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", [1, 7, 16, 33])
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_80", "sm_90a"])
@pytest.mark.parametrize("kernel", SHAPES)
def test_the_first_choice_compiles_and_is_scheduled_as_it_says(kernel, target, size):
    factory = SESSION.plugins.load_kernel(kernel)
    case = make_case(factory, kernel, SHAPES[kernel](size), {}, target)
    options = replace(case.options, preset="auto")
    tried = []

    def compiled(settled, traces, attempt):
        tried.append(settled.preset)
        front = front_of(settled, case.kernel, SESSION, traces=traces)
        return lower_front(front, case.kernel, machine_code=True, attempt=attempt)

    found = first_that_fits(options, case.kernel, SESSION, compiled)
    assert len(tried) == 1
    assert [row.render() for row in found.warnings] == []
