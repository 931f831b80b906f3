"""What `auto` makes of the library, on the oldest and the newest chip, as PTX."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.compile import Config, Session, run_case
from wave_core.compile.kernels import make_case
from wave_kernels.plugin import KERNELS

PRODUCT = {"M": 65, "N": 100, "K": 72}
SIZES = {
    "attention": {"B": 1, "M": 64, "N": 64, "K1": 64, "K2": 128},
    "attention-decode": {"B": 1, "M": 3, "H": 2, "N": 20, "K1": 24, "K2": 66},
    "attention-split": {"B": 1, "M": 3, "H": 2, "N": 20, "K1": 24, "K2": 66},
    "conv-depthwise": {"N": 1, "H": 9, "W": 10, "C": 65},
    "conv2d": {"N": 1, "H": 9, "W": 10, "C": 16, "NF": 32},
    "conv2d-input": {"N": 1, "H": 9, "W": 10, "C": 16, "NF": 32},
    "conv2d-weight": {"N": 1, "H": 9, "W": 10, "C": 16, "NF": 32},
    "gemm-batched": {"B": 2, **PRODUCT},
    "gemm-grouped": {"E": 2, **PRODUCT},
    "gemm-grouped-weights": {"E": 2, "M": 33, "N": 20, "K": 24},
    **dict.fromkeys(
        ("gemm", "gemm-gated", "gemm-nn", "gemm-split-k", "gemm-staged"), PRODUCT
    ),
    **dict.fromkeys(("gemm-stream-k", "gemm-tn", "gemm-tt"), PRODUCT),
}
"""Smaller than those that the kernels come with."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", [spec.name for spec in KERNELS])
def test_kernel_agrees_with_its_reference(session, name, target):
    factory = session.plugins.load_kernel(name)
    case = make_case(factory, name, SIZES.get(name, {}), {}, target)
    options = replace(case.options, device="emulator", preset="auto")
    report = run_case(case, options=options, session=session, seed=1)
    assert report.passed, report.to_json()
    assert report.record.reports == ()
