"""Attention in all its forms."""

from __future__ import annotations

from itertools import accumulate

import torch
from attention_formula import ACCURACY, attended
from sequences import split, wanted as attended_in_sequences

from boundaries.axes import HALVES, Axis, Boundary, Trial, greatest, random

CHANNELS = 256
"""The most that a head of queries has."""


def operands(dtype, b, h, m, s, d, dv):
    """Of so many heads of queries, which share one of keys and values."""
    shapes = (b, h, m, d), (b, min(h, 1), s, d), (b, min(h, 1), s, dv)
    return [random(*shape, dtype=dtype) for shape in shapes]


def limit(value):
    return ACCURACY[value.dtype] * greatest(value.double())


def attention(dtype, **sizes):
    query, key, value = given = operands(dtype, **sizes)
    return Trial(tuple(given), (attended(query, key, value),), (limit(value),))


def sums(query, key):
    scale = max(query.shape[-1], 1) ** -0.5
    scores = query.double() @ key.double().mT * scale
    # A row is NaN, as its softmax is.
    endless = (scores == torch.inf).any(-1)
    return scores.logsumexp(-1).masked_fill(endless, torch.nan)


def attention_with_lse(dtype, **sizes):
    query, key, value = given = operands(dtype, **sizes)
    wanted = attended(query, key, value), sums(query, key)
    return Trial(tuple(given), wanted, (limit(value), 1e-3))


def attention_backward(dtype, **sizes):
    given = operands(dtype, **sizes)
    wide = [each.double().requires_grad_() for each in given]
    result = attended(*wide)
    grad = random(*result.shape, dtype=dtype)
    wanted = torch.autograd.grad(result, wide, grad.double(), allow_unused=True)
    lse = sums(*given[:2]).float()
    share = {torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    found = [
        torch.zeros_like(w) if g is None else g
        for g, w in zip(wanted, wide, strict=True)
    ]
    limits = tuple(share * max(1.0, greatest(each)) for each in found)
    arguments = (*given, result.detach().to(dtype), lse, grad)
    return Trial(arguments, tuple(found), limits)


def lengths(b, most):
    """The longest first, and one that is empty, where there are several."""
    return [max(most - 3 * i, 0) if i < 2 else 0 for i in range(b)]


def sequences(dtype, b, queries, keys, h, d, dv):
    """Operands of sequences one behind the other."""
    counts = [lengths(b, each) for each in (queries, keys)]
    shapes = (
        (sum(counts[0]), h, d),
        (sum(counts[1]), min(h, 1), d),
        (sum(counts[1]), min(h, 1), dv),
    )
    starts = [torch.tensor([0, *accumulate(each)]).int() for each in counts]
    return [*(random(*shape, dtype=dtype) for shape in shapes), *starts]


def formula(given):
    """One sequence after the other, if there is one."""
    query, _, value, starts, _ = given
    if len(starts) == 1:
        return query.new_zeros((*query.shape[:2], value.shape[-1])).double()
    return attended_in_sequences(given, {})


def attention_varlen(dtype, queries, keys, **sizes):
    given = sequences(dtype, queries=queries, keys=keys, **sizes)
    right = formula(given)
    most = {"max_queries": queries, "max_keys": keys}
    return Trial(tuple(given), (right,), (limit(given[2]),), most)


def sums_of_sequences(given):
    """By heads; minus infinity where a sequence has no key."""
    found = [sums(q.transpose(0, 1), k.transpose(0, 1)) for q, k, _ in split(given)]
    query = given[0]
    return torch.cat([query.new_zeros(query.shape[1], 0).double(), *found], 1)


def attention_varlen_with_lse(dtype, **sizes):
    trial = attention_varlen(dtype, **sizes)
    lse = sums_of_sequences(trial.arguments)
    wanted, limits = (*trial.wanted, lse), (*trial.limits, 1e-3)
    return Trial(trial.arguments, wanted, limits, trial.named)


def attention_varlen_backward(dtype, **sizes):
    trial = attention_varlen_with_lse(dtype, **sizes)
    *rows, query_starts, key_starts = trial.arguments
    wide = [each.double().requires_grad_() for each in rows]
    result = formula([*wide, query_starts, key_starts])
    grad = random(*result.shape, dtype=dtype)
    found = [torch.zeros_like(each) for each in wide]
    if result.requires_grad:
        given = torch.autograd.grad(result, wide, grad.double(), allow_unused=True)
        found = [g if g is not None else f for g, f in zip(given, found, strict=True)]
    share = {torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    limits = tuple(share * max(1.0, greatest(each)) for each in found)
    results = result.detach().to(dtype), trial.wanted[1].float(), grad
    arguments = (*rows, *results, query_starts, key_starts)
    return Trial(arguments, tuple(f.detach() for f in found), limits, trial.named)


def attention_decode(dtype, b, keys, **sizes):
    _, key, value, _, starts = sequences(dtype, b=b, queries=1, keys=keys, **sizes)
    query = random(b, sizes["h"], sizes["d"], dtype=dtype)
    given = query, key, value, torch.arange(b + 1).int(), starts
    right = formula(given)
    arguments = query, key, value, starts
    return Trial(arguments, (right,), (limit(value),), {"max_keys": keys})


HEADS = {
    "b": Axis(2, tile=4, long=67),
    "h": Axis(2, tile=4, long=67),
    "d": Axis(8, tile=16, least=1, most=CHANNELS),
    "dv": Axis(9, tile=16, most=CHANNELS),
}
SEQUENCE = {"queries": Axis(5), "keys": Axis(7)}
ROWS = {"m": Axis(5, tile=64), "s": Axis(7, tile=64)}
ATTENDING = {
    "attention": Boundary(attention, HEADS | ROWS, HALVES),
    "attention_backward": Boundary(attention_backward, HEADS | ROWS, HALVES),
    "attention_decode": Boundary(
        attention_decode, HEADS | {"keys": Axis(7, tile=256)}, HALVES
    ),
    "attention_varlen": Boundary(attention_varlen, HEADS | SEQUENCE, HALVES),
    "attention_varlen_backward": Boundary(
        attention_varlen_backward, HEADS | SEQUENCE, HALVES
    ),
    "attention_varlen_with_lse": Boundary(
        attention_varlen_with_lse, HEADS | SEQUENCE, HALVES
    ),
    "attention_with_lse": Boundary(attention_with_lse, HEADS | ROWS, HALVES),
}
