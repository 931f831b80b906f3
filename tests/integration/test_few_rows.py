"""Products of few rows whose waves share K, as machine code, against torch in f64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as torch_functions

from wave_core.compile import default_session
from wave_kernels.functions import launches, matmul

TARGETS = ("sm_80", "sm_90a", "gfx942", "gfx950")


SIZES = ((1, 1, 1024), (7, 33, 1056), (16, 40, 1024), (17, 33, 1056))
"""M, N and K, whose parts of K no tile divides in some."""

FORMS = (
    ((0, 1), "", ()),
    ((0, 0), "silu", ("bias",)),
    ((1, 1), "", ("residual",)),
    ((1, 0), "silu", ("bias", "residual")),
)
"""Whether operands lie transposed, and how sums are finished."""


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_that_waves_share(asked, monkeypatch, target, sizes, form, dtype):
    (rows, columns, depth), (turned, activation, added) = sizes, form
    monkeypatch.setattr(launches, "GAIN", 0.0)
    requests = asked(target)
    a = torch.randn(depth, rows).mT if turned[0] else torch.randn(rows, depth)
    b = torch.randn(columns, depth).mT if turned[1] else torch.randn(depth, columns)
    a, b = a.to(dtype), b.to(dtype)
    shapes = {"bias": (columns,), "residual": (rows, columns)}
    more = {name: torch.randn(shapes[name]).to(dtype) for name in added}
    sums = a.double() @ b.double() + more.get("bias", torch.zeros(1)).double()
    wanted = torch_functions.silu(sums) if activation else sums
    wanted = wanted + more.get("residual", torch.zeros(1)).double()
    runs = []
    for _ in range(2):
        out = torch.full((rows, columns), torch.nan, dtype=dtype)
        runs.append(matmul(a, b, activation=activation, out=out, **more))
    assert all(request.what["parts"] for request in requests)
    size = (a.double().abs() @ b.double().abs()).max()
    unit = torch.finfo(dtype).eps
    error = (runs[0].double() - wanted).abs()
    assert (error <= 1e-3 * size + unit / 2 * wanted.abs()).all()
    assert torch.equal(*runs)


def shared(requests, monkeypatch, a, b):
    """Whether waves share K of a product, which is not run."""
    monkeypatch.setattr(launches, "_run", lambda call: requests.append(call.request))
    matmul(a, b)
    return requests[-1].what.get("parts", False)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
def test_narrow_products_are_shared_and_wide_ones_are_not(asked, monkeypatch, target):
    requests = asked(target)
    few = torch.zeros(2, 4096, dtype=torch.bfloat16)
    many = torch.zeros(64, 4096, dtype=torch.bfloat16)
    narrow, wide = (
        torch.zeros(columns, 4096, dtype=torch.bfloat16).mT for columns in (512, 12288)
    )
    assert shared(requests, monkeypatch, few, narrow)
    assert not shared(requests, monkeypatch, few, wide)
    assert not shared(requests, monkeypatch, many, narrow)


def test_parts_that_would_begin_between_accesses_are_not_shared(asked, monkeypatch):
    monkeypatch.setattr(launches, "GAIN", 0.0)
    requests = asked("sm_90a")
    for depth, some in ((1024, True), (1032, False), (1025, False), (512, False)):
        a, b = (torch.zeros(3, depth, dtype=torch.bfloat16) for _ in range(2))
        assert shared(requests, monkeypatch, a, b.mT) is some
    a = torch.zeros(2, 3, 1024)
    assert not shared(requests, monkeypatch, a, a.mT)


def test_where_nothing_is_estimated_the_usual_kernel_is_taken(monkeypatch):
    default_session().forget()
    requests = []
    a = torch.zeros(1, 4096, dtype=torch.bfloat16)
    b = torch.zeros(512, 4096, dtype=torch.bfloat16).mT
    assert not shared(requests, monkeypatch, a, b)
