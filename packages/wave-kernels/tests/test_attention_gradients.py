"""`attention_backward` on tensors of the CPU, against torch's gradients in f64."""

from __future__ import annotations

import pytest
import torch
from attention_formula import attended

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import attention_backward, attention_with_lse, launches

ACCURACY = {torch.float16: 2e-3, torch.bfloat16: 2e-2}
TILE = 64
EDGES = [(1, 1), (1, 67), (67, 1), *((TILE + i, TILE - i) for i in (-1, 0, 1))]
VARIANTS = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": 5},
    "causal window": {"causal": True, "window": 40},
    "softcap": {"softcap": 1.5, "scale": 0.7},
    "bias": {"bias": torch.randn(2, 1, 1, 1)},
    "all": {"causal": True, "window": 50, "softcap": 2.0, "slopes": torch.rand(4)},
}


def tensors(*, h=4, kvh=4, m=70, s=130, d=20, dv=17, dtype=torch.float16):
    """Queries, keys, values, and the gradient of the result."""
    shapes = (2, h, m, d), (2, kvh, s, d), (2, kvh, s, dv), (2, h, m, dv)
    return [torch.randn(shape).to(dtype) for shape in shapes]


def wanted(given, variant):
    """By torch, of the formula."""
    *rows, grad = (each.double() for each in given)
    rows = [each.requires_grad_() for each in rows]
    return torch.autograd.grad((attended(*rows, **variant) * grad).sum(), rows)


def turned(tensors, layout):
    return [x.transpose(1, 2) if layout == "bshd" else x for x in tensors]


def found(given, layout="bhsd", **variant):
    *rows, grad = turned(given, layout)
    results = attention_with_lse(*rows, layout=layout, **variant)
    out = tuple(torch.full(x.shape, torch.nan, dtype=x.dtype) for x in rows)
    words = {"layout": layout, "out": out, **variant}
    return turned(attention_backward(*rows, *results, grad, **words), layout)


def check(given, layout="bhsd", **variant):
    right = wanted(given, variant)
    for mine, each, like in zip(
        found(given, layout, **variant), right, given, strict=False
    ):
        assert (mine.dtype, mine.shape) == (like.dtype, like.shape)
        atol = ACCURACY[mine.dtype] * max(1.0, float(each.abs().max()))
        torch.testing.assert_close(mine.double(), each, atol=atol, rtol=0)


@pytest.mark.parametrize("sizes", EDGES)
@pytest.mark.parametrize("variant", ["plain", "causal", "window"])
def test_sizes_that_no_tile_divides(sizes, variant):
    check(tensors(h=2, kvh=2, m=sizes[0], s=sizes[1], d=8, dv=8), **VARIANTS[variant])


@pytest.mark.covering(1)
@pytest.mark.parametrize("kvh", [1, 2, 4])
@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("dtype", ACCURACY)
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_done_to_scores(variant, dtype, layout, kvh):
    words = dict(VARIANTS[variant])
    if "bias" in words:
        words["bias"] = words["bias"].to(dtype)
    check(tensors(kvh=kvh, dtype=dtype), layout, **words)


def test_sums_are_those_of_scores():
    query, key, value, _ = tensors()
    _, lse = attention_with_lse(query, key, value, scale=0.5)
    right = (query.double() @ key.double().mT * 0.5).logsumexp(-1)
    torch.testing.assert_close(lse.double(), right, atol=1e-3, rtol=0)


def test_sums_are_written_once_where_channels_have_several_workgroups(monkeypatch):
    """Two that write the same number to one place race all the same."""
    monkeypatch.setattr(launches, "ON_CPU", ("sim", "generic"))
    query, key, value, _ = tensors(h=1, kvh=1, m=3, s=5, d=8, dv=130)
    _, lse = attention_with_lse(query, key, value, scale=0.5)
    right = (query.double() @ key.double().mT * 0.5).logsumexp(-1)
    torch.testing.assert_close(lse.double(), right, atol=1e-3, rtol=0)


def test_queries_that_see_no_key_have_and_give_zeros():
    given = tensors(m=70, s=20)
    _, lse = attention_with_lse(*given[:3], causal=True)
    assert (lse[:, :, :50] == -torch.inf).all()
    assert not found(given, causal=True)[0][:, :, :50].any()
    check(given, causal=True)
    bias = torch.zeros(70, 20, dtype=torch.float16)
    bias[3] = -torch.inf
    gradients = found(given, bias=bias)
    assert not gradients[0][:, :, 3].any()
    assert all(each.isfinite().all() for each in gradients)


def of_rounded_results(given):
    """What gradients of queries and keys lose as results are rounded to f16.

    Their product with ``grad`` is taken from each score's gradient; where one key takes
    all, little else is left, and keys and queries multiply it.
    """
    query, key, value, grad = (each.double() for each in given)
    scale = query.shape[-1] ** -0.5
    weights = (query @ key.mT * scale).softmax(-1)
    lost = (weights @ value * grad).abs().sum(-1, keepdim=True) * 2.0**-11
    scores = weights * lost * scale
    return scores @ key.abs(), scores.mT @ query.abs(), torch.zeros_like(value)


@pytest.mark.parametrize("sign", [-1, 1])
def test_scores_far_from_zero(sign):
    query, key, value, grad = tensors(m=33, s=41)
    given = [query.abs() * 8, sign * key.abs() * 8, value, grad]
    rows = zip(found(given), wanted(given, {}), of_rounded_results(given), strict=True)
    for mine, right, lost in rows:
        atol = ACCURACY[mine.dtype] * max(1.0, float(right.abs().max()))
        assert ((mine.double() - right).abs() <= atol + lost).all()


@pytest.mark.parametrize("empty", [{"h": 0, "kvh": 0}, {"m": 0}, {"s": 0}, {"dv": 0}])
def test_nothing_of_something(empty):
    given = tensors(**empty)
    for mine, like in zip(found(given), given, strict=False):
        assert mine.shape == like.shape
        assert not mine.any()


def test_a_call_gives_the_same_bits_each_time():
    given = tensors(kvh=2)
    for first, second in zip(found(given), found(given), strict=True):
        assert first.equal(second)


GIVEN = tensors(h=2, kvh=2, m=5, s=6, d=8, dv=8)
REFUSED = [
    ("WV0704", "lse", {"lse": lambda _: None}),
    ("WV0705", "grad", {"grad": lambda x: x.float()}),
    ("WV0705", "lse", {"lse": lambda x: x.half()}),
    ("WV0707", "grad", {"grad": lambda x: x[..., :4]}),
    ("WV0707", "result", {"result": lambda x: x[:1]}),
    ("WV0707", "lse", {"lse": lambda x: x[:, :1]}),
    ("WV0707", "key", {"key": lambda x: x[..., :4]}),
    ("WV0714", "query", {"query": lambda x: x.clone().requires_grad_()}),
]


@pytest.mark.parametrize(("code", "name", "changes"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(code, name, changes):
    *rows, grad = GIVEN
    given = (*rows, *attention_with_lse(*rows), grad)
    names = ("query", "key", "value", "result", "lse", "grad")
    words = dict(zip(names, given, strict=True))
    words |= {n: make(words[n]) for n, make in changes.items()}
    with pytest.raises(LaunchError) as raised:
        attention_backward(**words)
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
