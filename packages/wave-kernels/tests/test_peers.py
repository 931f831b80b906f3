"""What kernels are compared with computes the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wave_core.compile import Config, Session
from wave_core.compile.kernels import make_case

SESSION = Session(config=Config(cache=False), announce=lambda _: None)
SIZES = {"M": 5, "N": 33, "K": 17, "B": 2, "K1": 33, "K2": 9}


def cases():
    for name in SESSION.plugins.kernels:
        factory = SESSION.plugins.load_kernel(name)
        usual = make_case(factory, name, {}, {}, "generic")
        shape = {k: v for k, v in SIZES.items() if k in usual.shape}
        if usual.peers:
            yield pytest.param(make_case(factory, name, shape, {}, "generic"), id=name)


@pytest.mark.parametrize("case", list(cases()))
def test_a_peer_computes_what_the_reference_does(case):
    given = list(case.make_arguments(np.random.default_rng()))
    (wanted,) = case.reference(given)
    # In f32, in which torch computes on any CPU.
    tensors = [
        torch.from_numpy(each.astype("float32")) if hasattr(each, "shape") else each
        for each in given
    ]
    found = case.peers["torch"](tensors)
    scale = case.scale(given) if case.scale else np.abs(wanted).max()
    error = np.abs(found.numpy().reshape(wanted.shape) - wanted).max()
    assert error <= 1e-5 * scale


def test_work_is_counted_as_papers_do():
    rows = {
        "gemm": ({"M": 3, "N": 5, "K": 7}, 2 * 3 * 5 * 7),
        "gemm-batched": ({"B": 2, "M": 3, "N": 5, "K": 7}, 2 * 2 * 3 * 5 * 7),
        "attention": (
            {"B": 2, "M": 3, "N": 16, "K1": 32, "K2": 5},
            2 * 2 * 3 * 5 * (32 + 16),
        ),
        "softmax": ({"M": 3}, 0),
    }
    for name, (shape, flops) in rows.items():
        factory = SESSION.plugins.load_kernel(name)
        assert make_case(factory, name, shape, {}, "generic").flops == flops
