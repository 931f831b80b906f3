"""Random orders of completion: correct code gives one result, races give several."""

from __future__ import annotations

import numpy as np
import pytest

from wave_emulator_amdgcn.codeobject import load
from wave_emulator_amdgcn.hazards.planted import planted
from wave_emulator_amdgcn.launch import LaunchOptions, emulate

ARCHS = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


def _inputs(name, arch):
    rng = np.random.default_rng(1)
    lanes = 64 if arch in ARCHS[:3] else 32
    if name == "gemm":
        a, b = rng.standard_normal((2, 128, 128)).astype(np.float16)
        return [a, b, np.zeros((128, 128), np.float32)], (2, 2, 1)
    if name == "softmax":
        x = rng.standard_normal((64, 4 * lanes)).astype(np.float32)
        return [x, np.zeros_like(x)], (64, 1, 1)
    if name == "histogram":
        a = rng.integers(0, 99, 4096).astype(np.int32)
        return [a, np.zeros(16, np.int32)], (16, 1, 1)
    if name == "triangle":
        return [np.arange(256, dtype=np.int32), np.zeros(256, np.int32)], (1, 1, 1)
    a = rng.standard_normal(4096).astype(np.float32)
    return [a, np.zeros_like(a)], (16, 1, 1)


def outputs(code, name, arch, order):
    """What a launch leaves in its buffers; ``None`` is the order without chance."""
    buffers, grid = _inputs(name, arch)
    options = LaunchOptions(hazards=False, order=order, step_limit=1_000_000)
    emulate(code, buffers, grid=grid, options=options)
    return b"".join(x.tobytes() for x in buffers)


CASES = [
    (name, arch)
    for arch in ARCHS
    for name in ("exchange", "histogram", "triangle", "copy", "softmax", "gemm")
    if name != "gemm" or arch in ARCHS[:3]
]


@pytest.mark.parametrize(("name", "arch"), CASES)
def test_correct_code_gives_one_result(code_object, name, arch):
    code = code_object(name, arch)
    want = outputs(code, name, arch, None)
    assert all(outputs(code, name, arch, seed) == want for seed in range(4))


def test_one_seed_is_one_order(code_bytes):
    """A race gives the same wrong result each time its seed is asked for."""
    mutant = _without(code_bytes("exchange", "gfx942"), "barrier")
    seen = [outputs(mutant, "exchange", "gfx942", seed) for seed in (1, 2, 1, 2)]
    assert seen[:2] == seen[2:]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("exchange", "barrier"), ("exchange", "wait"), ("softmax", "wait")],
)
def test_some_order_shows_a_defect(code_bytes, code_object, name, kind):
    want = outputs(code_object(name, "gfx942"), name, "gfx942", None)
    mutant = _without(code_bytes(name, "gfx942"), kind)
    # Without chance everything completes at once, and nothing is seen.
    assert outputs(mutant, name, "gfx942", None) == want
    assert any(outputs(mutant, name, "gfx942", seed) != want for seed in range(10))


def _without(data, kind):
    return load(next(d for d in planted(data) if d.kind == kind).code)


def test_every_wait_of_softmax_matters_in_some_order(code_bytes, code_object):
    want = outputs(code_object("softmax", "gfx942"), "softmax", "gfx942", None)
    for defect in list(planted(code_bytes("softmax", "gfx942")))[::3]:
        code = load(defect.code)
        assert any(
            outputs(code, "softmax", "gfx942", seed) != want for seed in range(40)
        ), defect.what


def test_random_orders_end_at_the_step_limit(code_object):
    from wave_emulator_amdgcn.errors import StepLimitError

    buffers, grid = _inputs("gemm", "gfx942")
    options = LaunchOptions(order=1, step_limit=100)
    with pytest.raises(StepLimitError, match="EM0303"):
        emulate(code_object("gemm", "gfx942"), buffers, grid=grid, options=options)
    assert (buffers[2] == 0).all()
