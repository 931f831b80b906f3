"""A formula of elements as machine code."""

from __future__ import annotations

import pytest
import torch

from wave_core.compile import default_session
from wave_kernels.functions import elementwise, launches


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_80", "sm_90a"])
def test_a_formula(target, dtype, monkeypatch):
    default_session().forget()
    monkeypatch.setattr(launches, "ON_CPU", ("emulator", target))
    x, y = torch.randn(3, 11).to(dtype), torch.randn(11).to(dtype)
    found = elementwise("x, y -> where(x > -0.5, x * y, x - mean(y)) / 2", (x, y))
    default_session().forget()
    a, b = x.double(), y.double()
    wanted = torch.where(a > -0.5, a * b, a - b.mean()) / 2
    limit = 2**-8 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(found.double(), wanted, rtol=limit, atol=limit)
