"""NaN goes through the functions in machine code as it does in torch."""

from __future__ import annotations

import pytest
import torch

from wave_kernels import functions
from wave_kernels.functions import launches

ROWS, COLUMNS, PLACE = 3, 33, 7
TARGETS = torch.tensor([0, 1, 2])
WEIGHT = torch.ones(COLUMNS)


@pytest.fixture(params=["gfx942", "gfx950", "sm_90a"], autouse=True)
def machine(request, monkeypatch):
    monkeypatch.setattr(launches, "ON_CPU", ("emulator", request.param))


@pytest.fixture
def x():
    """A matrix whose middle row has a NaN, among positive numbers."""
    found = torch.rand(ROWS, COLUMNS) + 1
    found[1, PLACE] = torch.nan
    return found


def test_it_is_the_greatest_of_all(x):
    values, places = functions.topk(x, 4)
    wanted = x.topk(4)
    assert torch.equal(values.nan_to_num(-1), wanted.values.nan_to_num(-1))
    assert torch.equal(places.long(), wanted.indices)


def test_a_token_goes_to_it(x):
    assert functions.route_tokens(x, 2).experts[1, 0] == PLACE


def test_a_row_has_such_a_scale(x):
    scales = functions.quantize_rows(x, torch.int8).scales
    assert scales.isnan().tolist() == [False, True, False]


WORKS = {
    "softmax": functions.softmax,
    "rms_norm": lambda x: functions.rms_norm(x, WEIGHT),
    "cross_entropy": lambda x: functions.cross_entropy(x, TARGETS).loss[:, None],
    "relu": lambda x: functions.matmul(x, torch.eye(COLUMNS), activation="relu"),
    "swiglu": lambda x: functions.swiglu(
        x, torch.eye(COLUMNS), torch.eye(COLUMNS), activation="relu"
    ),
    "gated": lambda x: functions.gated_activation(torch.cat([x, x], 1), "relu"),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", WORKS)
def test_its_row_is_not_a_number(x, name):
    found = WORKS[name](x)
    assert found[1].isnan().any()
    assert not found[::2].isnan().any()
