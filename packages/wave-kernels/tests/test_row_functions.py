"""Functions that go from row to row, against torch in f64; what they refuse."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as torch_functions

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import cross_entropy

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(1,), (0, 4), (3, 31), (2, 3, 64), (2, 1025)])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.covering(1)
def test_cross_entropy(dtype, shape, smoothing, kind):
    logits = (torch.randn(shape) * 5).to(dtype)
    targets = torch.randint(shape[-1], shape[:-1], dtype=kind)
    loss, lse = cross_entropy(logits, targets, label_smoothing=smoothing)
    wide = logits.double()
    wanted = torch_functions.cross_entropy(
        wide.view(-1, shape[-1]),
        targets.view(-1).long(),
        label_smoothing=smoothing,
        reduction="none",
    )
    torch.testing.assert_close(
        loss.double(), wanted.view(shape[:-1]), rtol=1e-5, atol=2e-4
    )
    torch.testing.assert_close(lse.double(), wide.logsumexp(-1), rtol=1e-5, atol=2e-4)


def test_cross_entropy_of_what_is_no_number():
    logits, targets = torch.randn(5, 2000), torch.tensor([0, 0, 1999, 0, 3])
    logits[0, 3], logits[1, 4], logits[3] = torch.nan, torch.inf, -torch.inf
    logits[2, :1500], logits[4, 3] = -torch.inf, -torch.inf
    wanted = torch_functions.cross_entropy(logits, targets, reduction="none")
    found, _ = cross_entropy(logits, targets)
    torch.testing.assert_close(found, wanted, equal_nan=True)


def test_targets_that_are_no_columns():
    logits, targets = torch.zeros(4, 3), torch.tensor([3, -1, 2**40, -100])
    with pytest.raises(LaunchError, match="columns 0 to 2"):
        cross_entropy(logits, targets)
    loss, _ = cross_entropy(logits, targets, checked=False)
    assert loss.isnan().tolist() == [True, True, True, False]
    assert float(loss[3]) == 0.0


ROWS, TARGETS = torch.zeros(4, 3), torch.zeros(4).int()
REFUSED = [
    ("WV0705", lambda: cross_entropy(ROWS.double(), TARGETS)),
    ("WV0705", lambda: cross_entropy(ROWS, TARGETS.float())),
    ("WV0706", lambda: cross_entropy(torch.tensor(1.0), TARGETS)),
    ("WV0707", lambda: cross_entropy(ROWS, TARGETS[:2])),
    ("WV0707", lambda: cross_entropy(ROWS[:, :0], TARGETS)),
    ("WV0707", lambda: cross_entropy(ROWS, TARGETS, label_smoothing=1.5)),
    ("WV0707", lambda: cross_entropy(ROWS, TARGETS, ignore_index=2**40)),
]


@pytest.mark.parametrize(("code", "call"), REFUSED)
def test_what_does_not_fit_is_refused_at_the_call(code, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert "test_row_functions.py" in str(raised.value)
