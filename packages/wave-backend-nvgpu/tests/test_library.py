"""The library's kernels on one chip, in lanes and as PTX."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from emulated_kernels import session

import wave_core.lang as tkl
from wave_core.compile import wave_compile
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError

SHAPES = {
    "attention": {"B": 1, "M": 128, "K2": 70},
    "attention-causal": {"B": 1, "M": 150, "K2": 70},
    "attention-decode": {"B": 2, "M": 3, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-heads": {"B": 1, "H": 2, "M": 100, "K2": 70},
    "attention-join": {"H": 3, "M": 33, "N": 70},
    "attention-merge": {"B": 2, "M": 3, "N": 70, "SPLIT": 3},
    "attention-split": {"B": 1, "M": 3, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "conv-depthwise": {"C": 65},
    "conv2d": {},
    "conv2d-input": {},
    "conv2d-weight": {},
    "copy": {"M": 100, "N": 70},
    "cumsum": {"M": 5, "N": 300},
    "elementwise": {"M": 5, "N": 70},
    "cross-entropy": {"M": 5, "N": 1030},
    "gated": {"M": 5, "N": 70},
    "gather": {"M": 5, "N": 70, "ROWS": 9},
    "gemm": {"M": 130, "N": 70, "K": 72},
    "gemm-batched": {"B": 3, "M": 33, "N": 17, "K": 50},
    "gemm-grouped": {"E": 3, "M": 33, "N": 17, "K": 50},
    "gemm-grouped-weights": {"E": 3, "M": 33, "N": 17, "K": 50},
    "gemm-mxfp": {"M": 130, "N": 70, "K": 96},
    "gemm-nbits": {"M": 5, "N": 33, "K": 150},
    "gemm-nn": {"M": 130, "N": 70, "K": 72},
    "gemm-staged": {"M": 130, "N": 70, "K": 72},
    "gemm-tn": {"M": 130, "N": 70, "K": 72},
    "gemm-tt": {"M": 130, "N": 70, "K": 72},
    "layer-norm": {},
    "moe-combine": {"M": 5, "N": 70, "TOP": 3},
    "moe-group": {"M": 33, "E": 5, "TOP": 3},
    "moe-route": {"M": 5, "E": 70, "TOP": 3},
    "quantize-rows": {"M": 5, "N": 70},
    "rms-norm": {},
    "rotary": {"M": 5, "H": 3, "D": 20},
    "softmax": {},
    "topk": {"M": 5, "N": 300, "TOP": 3},
    "transpose": {"B": 2, "M": 65, "N": 70},
}


def case_of(name, shape):
    factory = session().plugins.load_kernel(name)
    return make_case(factory, name, shape, {}, "sm_90")


@pytest.mark.covering(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("device", ["sim", "emulator"])
@pytest.mark.parametrize("name", SHAPES)
def test_kernels_of_the_library(name, device):
    case = case_of(name, SHAPES[name])
    options = replace(case.options, device=device, preset="default")
    kernel = wave_compile(options, case.kernel, session=session())
    arguments = list(case.make_arguments(np.random.default_rng(1)))
    wanted = case.reference(arguments)
    kernel(*arguments)
    assert kernel.last_run.reports == ()
    for place, right in zip(case.outputs, wanted, strict=True):
        error = np.abs(np.asarray(arguments[place], np.float64) - right).max()
        assert error <= case.tolerance * (case.scale(arguments) if case.scale else 1.0)


def test_sums_that_no_lane_can_hold_are_refused():
    case = case_of("gemm-stream-k", {})
    four_waves = {tkl.sym.WAVES_M: 2, tkl.sym.WAVES_N: 2}
    subs = {**case.options.subs, **four_waves}
    options = replace(case.options, subs=subs, device="emulator", preset="default")
    kernel = wave_compile(options, case.kernel, session=session())
    with pytest.raises(UserError, match="sm_90 has 255") as caught:
        kernel(*case.make_arguments(np.random.default_rng(1)))
    assert caught.value.code == "WV0605"
