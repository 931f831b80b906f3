"""Functions of tensors that are parts of others, in machine code, against torch.

Machine code knows no strides; the simulator, where functions run without a GPU, does.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as torch_functions

from wave_kernels import functions
from wave_kernels.functions import launches

ROWS, COLUMNS = 5, 48


def within(shape, dtype=torch.float16):
    """Every second element of a part of a larger tensor."""
    *lead, last = shape
    larger = torch.randn([*(n + 2 for n in lead), 2 * last + 1], dtype=torch.float32)
    part = larger.to(dtype)[tuple(slice(1, n + 1) for n in lead)][..., 1::2]
    assert part.shape == shape
    assert not part.is_contiguous()
    return part


def quantized(x):
    found = functions.quantize_rows(x, torch.int8)
    return found.values * found.scales[:, None]


def rotated(x):
    angles = torch.zeros(x.shape[-3], x.shape[-1] // 2)
    return functions.rotary_embedding(x, angles.cos(), angles.sin())


def heads(x):
    return functions.attention(x, x, x)


WEIGHT = torch.ones(COLUMNS, dtype=torch.float16)
TABLE = torch.tensor([4, 0, 0])
GATES = torch.eye(COLUMNS, dtype=torch.float16)
NUMBERS = torch.eye(COLUMNS, dtype=torch.int8)
UNIT = torch.ones(COLUMNS, 1, dtype=torch.float16)
ROUNDED = 1 / 127
WORKS = {
    "softmax": (functions.softmax, lambda x: x.softmax(-1), 1e-3),
    "rms_norm": (
        lambda x: functions.rms_norm(x, WEIGHT),
        lambda x: torch_functions.rms_norm(x, (COLUMNS,), eps=1e-5),
        4e-3,
    ),
    "layer_norm": (
        lambda x: functions.layer_norm(x, WEIGHT, 0 * WEIGHT),
        lambda x: torch_functions.layer_norm(x, (COLUMNS,), eps=1e-5),
        4e-3,
    ),
    "cumsum": (functions.cumsum, lambda x: x.cumsum(-1), 3e-2),
    "topk": (lambda x: functions.topk(x, 3)[0], lambda x: x.topk(3)[0], 0),
    "quantize_rows": (quantized, lambda x: x, 4 * ROUNDED),
    "swiglu": (
        lambda x: functions.swiglu(x, GATES, GATES, activation="relu"),
        lambda x: x.relu() * x,
        1e-2,
    ),
    "gated_activation": (
        lambda x: functions.gated_activation(x, "relu"),
        lambda x: x[:, : COLUMNS // 2].relu() * x[:, COLUMNS // 2 :],
        1e-2,
    ),
    "gather_rows": (
        lambda x: functions.gather_rows(x, TABLE),
        lambda x: x[TABLE],
        0,
    ),
    "transpose": (functions.transpose, lambda x: x.mT, 0),
    "matmul": (lambda x: functions.matmul(x, x.mT), lambda x: x @ x.mT, 6e-2),
    "matmul_nbits": (
        lambda x: functions.matmul_nbits(x, NUMBERS, UNIT),
        lambda x: x,
        1e-2,
    ),
    "cross_entropy": (
        lambda x: functions.cross_entropy(x, TABLE.repeat(2)[:ROWS]).loss,
        lambda x: torch_functions.cross_entropy(
            x, TABLE.repeat(2)[:ROWS], reduction="none"
        ),
        1e-3,
    ),
}


@pytest.fixture(params=["gfx942", "sm_90a"])
def machine(request, monkeypatch):
    monkeypatch.setattr(launches, "ON_CPU", ("emulator", request.param))


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", WORKS)
def test_rows_of_a_part(machine, name):
    function, formula, accuracy = WORKS[name]
    x = within((ROWS, COLUMNS))
    error = (function(x).double() - formula(x.double())).abs().max()
    assert error <= accuracy


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["rotary_embedding", "attention"])
def test_heads_of_a_part(machine, name):
    x = within((1, 3, 2, 16))
    if name == "attention":
        wide = x.double()
        wanted = torch_functions.scaled_dot_product_attention(wide, wide, wide)
        assert (heads(x).double() - wanted).abs().max() <= 4e-3
    else:
        assert torch.equal(rotated(x), x)
