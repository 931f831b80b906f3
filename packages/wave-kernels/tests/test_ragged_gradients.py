"""Gradients of `attention_varlen` on tensors of the CPU, against torch's in f64."""

from __future__ import annotations

import pytest
import torch
from sequences import ragged, split, wanted

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import (
    attention_varlen,
    attention_varlen_backward,
    attention_varlen_with_lse,
    launches,
)

ACCURACY = {torch.float16: 2e-3, torch.bfloat16: 2e-2}
TILE = 64
QUERIES, KEYS = [0, 3, TILE - 1, TILE, TILE + 1, 4], [5, 70, TILE + 1, 64, 200, 0]
VARIANTS = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": 5},
    "slopes": {"slopes": torch.linspace(-0.5, 0.5, 4)},
    "all": {"causal": True, "window": 50, "softcap": 2.0, "slopes": torch.rand(4)},
}


def poisoned(*like, dtype=None):
    made = [
        torch.full(each.shape, torch.nan, dtype=dtype or each.dtype) for each in like
    ]
    return tuple(made)


def check(given, most, **variant):
    rows, ends = given[:3], given[3:]
    wide = [each.double().requires_grad_() for each in rows]
    right = wanted([*wide, *ends], variant)
    grad = torch.randn(right.shape).to(rows[0].dtype)
    gradients = torch.autograd.grad((right * grad.double()).sum(), wide)
    lse = torch.full((rows[0].shape[1], rows[0].shape[0]), torch.nan)
    out = (torch.full(right.shape, torch.nan, dtype=rows[0].dtype), lse)
    results = attention_varlen_with_lse(*given, **most, **variant, out=out)
    assert results[0] is out[0]
    assert results[1] is out[1]
    assert results[0].equal(attention_varlen(*given, **most, **variant))
    out = poisoned(*rows)
    words = {**most, **variant, "out": out}
    found = attention_varlen_backward(*rows, *results, grad, *ends, **words)
    for mine, each, place in zip(found, gradients, out, strict=True):
        assert mine is place
        limit = ACCURACY[mine.dtype] * max(1.0, float(each.abs().max()))
        torch.testing.assert_close(mine.double(), each, atol=limit, rtol=0)


@pytest.mark.parametrize("kvh", [1, 4])
@pytest.mark.parametrize("dtype", ACCURACY)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.covering(1)
def test_sequences_of_different_lengths(variant, dtype, kvh):
    check(*ragged(QUERIES, KEYS, kvh=kvh, dtype=dtype), **VARIANTS[variant])


def test_lanes(monkeypatch):
    monkeypatch.setattr(launches, "ON_CPU", ("sim", "generic"))
    given = ragged([3, TILE + 1, 0], [TILE + 1, 70, 2], h=2, kvh=1)
    check(*given, **VARIANTS["causal"])


def test_more_queries_than_keys():
    check(*ragged([70, 9], [3, 9]), causal=True)


def test_sums_are_those_of_scores():
    given, most = ragged(QUERIES, KEYS, kvh=4)
    _, lse = attention_varlen_with_lse(*given, **most, scale=0.5)
    scores = [
        (q.double().transpose(0, 1) @ k.double().permute(1, 2, 0) * 0.5).logsumexp(-1)
        for q, k, _ in split(given)
    ]
    torch.testing.assert_close(lse.double(), torch.cat(scores, 1), atol=1e-3, rtol=0)


def test_keys_of_no_sequence_are_not_touched():
    """Rows before the first key and behind the last are NaN."""
    given, most = ragged([2, 5], [3, 7])
    query, key, value, query_starts, key_starts = given
    padded = [
        torch.nn.functional.pad(each, (0, 0, 0, 0, 2, 3), value=torch.nan)
        for each in (key, value)
    ]
    rows, ends = (query, *padded), (query_starts, key_starts + 2)
    results = attention_varlen_with_lse(*rows, *ends, **most)
    grad = torch.randn(results[0].shape).half()
    found = attention_varlen_backward(*rows, *results, grad, *ends, **most)
    words = (*given[:3], *results, grad, query_starts, key_starts)
    plain = attention_varlen_backward(*words, **most)
    assert found[0].equal(plain[0])
    for mine, each in zip(found[1:], plain[1:], strict=True):
        assert mine[2:-3].equal(each)
        assert not mine[:2].any()
        assert not mine[-3:].any()


def test_a_call_gives_the_same_bits_each_time():
    given, most = ragged(QUERIES, KEYS)
    results = attention_varlen_with_lse(*given, **most)
    words = (*given[:3], *results, results[0], *given[3:])
    first, second = (attention_varlen_backward(*words, **most) for _ in range(2))
    assert all(a.equal(b) for a, b in zip(first, second, strict=True))


REFUSED = [
    ("WV0704", "lse", {"lse": lambda _: None}),
    ("WV0705", "grad", {"grad": lambda x: x.float()}),
    ("WV0707", "grad", {"grad": lambda x: x[..., :4]}),
    ("WV0707", "lse", {"lse": lambda x: x.mT}),
    ("WV0707", "key_starts", {"key_starts": lambda x: x + 1}),
    ("WV0714", "query", {"query": lambda x: x.clone().requires_grad_()}),
]


@pytest.mark.parametrize(("code", "name", "changes"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(code, name, changes):
    given, most = ragged([2, 1], [3, 4])
    results = attention_varlen_with_lse(*given, **most)
    names = ("query", "key", "value", "query_starts", "key_starts")
    words = dict(zip(names, given, strict=True)) | most
    words |= {"result": results[0], "lse": results[1], "grad": results[0]}
    words |= {each: make(words[each]) for each, make in changes.items()}
    with pytest.raises(LaunchError) as raised:
        attention_varlen_backward(**words)
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
