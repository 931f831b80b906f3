"""Products of one row, which no matrix instruction computes, against torch in f64."""

from __future__ import annotations

import pytest
import torch

from wave_kernels.definitions.gemv import HELD, LONGEST
from wave_kernels.functions import launches, matmul, swiglu

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
ULP = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


@pytest.fixture
def kernels(monkeypatch):
    """Names of the kernels that calls ask for."""
    found = []
    run = launches._run

    def named(call):
        found.append(call.request.make.__name__)
        run(call)

    monkeypatch.setattr(launches, "_run", named)
    return found


def near(found, wanted, size):
    assert found.shape == wanted.shape
    assert (found.double() - wanted).abs().max() <= (1e-3 + ULP[found.dtype]) * size


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("extra", [0, 1, 7])
@pytest.mark.parametrize("columns", [2, 3, 31])
def test_finished_products_of_one_row(columns, extra, dtype, kernels):
    depth = 1024 + extra
    x, w = torch.randn(1, depth).to(dtype), torch.randn(columns, depth).to(dtype)
    bias, residual = torch.randn(columns).to(dtype), torch.randn(1, columns).to(dtype)
    found = matmul(x, w.mT, bias=bias, activation="relu", residual=residual)
    sums = x.double() @ w.mT.double() + bias.double()
    size = (x.double().abs() @ w.mT.double().abs()).max()
    near(found, sums.relu() + residual.double(), size)
    assert kernels == ["gemv_kernel"]


@pytest.mark.parametrize("activation", ["silu", "gelu"])
@pytest.mark.parametrize("lead", [(), (1,), (1, 1)])
def test_gated_products_of_one_row(lead, activation, kernels):
    x, gate, up = torch.randn(*lead, 1500), torch.randn(5, 1500), torch.randn(5, 1500)
    found = swiglu(x, gate.mT, up.mT, activation=activation)
    act = getattr(torch.nn.functional, activation)
    gates, ups = x.double() @ gate.mT.double(), x.double() @ up.mT.double()
    # Not the largest result: where all gates are closed, that is what f64 rounds to 0.
    near(found, act(gates) * ups, (gates * ups).abs().max())
    assert kernels == ["gated_gemv_kernel"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_as_long_as_waves_hold(dtype, kernels):
    bytes_each = torch.empty(0, dtype=dtype).element_size()
    held = [4 * HELD // 3 // bytes_each + more for more in (0, 1)]
    longest = [LONGEST // bytes_each + more for more in (0, 1)]
    for depth in (*held, *longest):
        x, w = torch.ones(1, depth).to(dtype), torch.ones(3, depth).to(dtype)
        assert torch.equal(matmul(x, w.mT), torch.full((1, 3), depth).to(dtype))
    assert kernels[:-1] == ["gemv_kernel"] * 3
    assert kernels[-1] == "gemm_kernel"


def test_what_matrix_instructions_compute(kernels):
    x, w = torch.randn(1, 1024), torch.randn(1024, 8)
    several = torch.randn(2, 1, 1024)
    matmul(x, w)
    matmul(x.expand(2, -1), w.mT.contiguous().mT)
    matmul(x[:, :100], w[:100].mT.contiguous().mT)
    matmul(several, w.mT.contiguous().mT.expand(2, -1, -1))
    swiglu(x, w, w)
    assert kernels == [*["gemm_kernel"] * 4, "gated_gemm_kernel"]


def test_numbers_that_are_none_stay_in_their_columns(kernels):
    x, w = torch.randn(1, 1024), torch.randn(3, 1024)
    w[1, 5], x[0, 7] = torch.nan, torch.inf
    found, wanted = matmul(x, w.mT), x @ w.mT
    assert torch.equal(found.isnan(), wanted.isnan())
    assert torch.equal(found.isinf(), wanted.isinf())
    assert kernels == ["gemv_kernel"]
