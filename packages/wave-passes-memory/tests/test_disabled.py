"""Without any one of the passes every kernel is still right."""

from __future__ import annotations

import dataclasses

import pytest
from staged import case_of, check_case

PASSES = (
    "promote-shared",
    "pack-matrix-operands",
    "minimize-global-loads",
    "chain-matrix-products",
    "swap-matrix-operands",
    "settle-access-masks",
    "merge-contiguous-reads",
    "merge-contiguous-writes",
    "choose-lds-layouts",
    "delay-reads",
)
SHAPES = {
    "gemm": {"M": 130, "N": 70, "K": 72},
    "gemm-staged": {"M": 130, "N": 70, "K": 72},
    "attention": {"B": 1, "M": 100, "K2": 70},
    "attention-heads": {"B": 1, "M": 100, "K2": 70, "H": 2},
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("kernel", SHAPES)
@pytest.mark.filterwarnings("ignore")
def test_kernels_are_right_without_one_pass(kernel, name):
    case = case_of(kernel, "gfx942", SHAPES[kernel])
    options = dataclasses.replace(case.options, disable_passes=(name,))
    _, result, right = check_case(dataclasses.replace(case, options=options))
    assert right
    assert result.reports == ()
