"""`attention_varlen` on tensors of the CPU, against f64; what it refuses."""

from __future__ import annotations

import pytest
import torch
from attention_formula import assert_accurate
from sequences import one, paged, ragged, split, wanted

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import attention_varlen

TILE = 64
KEYS = (0, 1, TILE - 1, TILE, TILE + 1)


def check(given, most, *, pages=False, **variant):
    called, table = paged(given) if pages else (given, None)
    out = torch.full((*given[0].shape[:2], given[2].shape[2]), torch.nan)
    out = out.to(given[0].dtype)
    found = attention_varlen(*called, **most, table=table, out=out, **variant)
    assert found is out
    assert_accurate(found, wanted(given, variant), given[2])


VARIANTS = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": 5},
    "all": {"causal": True, "window": 50, "softcap": 2.0, "slopes": torch.rand(4)},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("pages", [False, True])
def test_one_query_each(pages, variant):
    check(*ragged([1] * len(KEYS), KEYS), pages=pages, **VARIANTS[variant])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("pages", [False, True])
def test_queries_of_different_number(pages, variant):
    given = ragged([0, 3, TILE - 1, TILE, TILE + 1], KEYS[::-1], dtype=torch.bfloat16)
    check(*given, pages=pages, **VARIANTS[variant])


@pytest.mark.parametrize("kvh", [1, 4])
def test_heads_share_keys(kvh):
    check(*ragged([2, 5], [7, 5], kvh=kvh), pages=True, causal=True)


def drafts(queries, width):
    """For each query of sequences, drafts that it sees: itself, and some before it."""
    every = [
        torch.eye(n, width).bool() | (torch.rand(n, width) < 0.5).tril()
        for n in queries
    ]
    return torch.cat(every)


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("extra", [0, 3])
def test_drafts_see_a_tree(extra, pages):
    queries, keys = [1, 7, 5, 0], [1, TILE + 3, 5, 2]
    given, most = ragged(queries, keys)
    tree = drafts(queries, 7 + extra)
    called, table = paged(given) if pages else (given, None)
    found = attention_varlen(*called, **most, table=table, tree=tree)
    row = 0
    for (query, key, value), n in zip(split(given), queries, strict=True):
        mask = torch.zeros(n, key.shape[0])
        hidden = ~tree[row : row + n, :n]
        mask[:, key.shape[0] - n :].masked_fill_(hidden, -torch.inf)
        right = one(query, key, value, {"bias": mask})
        assert_accurate(found[row : row + n], right, given[2])
        row += n


def test_nothing_of_something():
    given, most = ragged([2, 0], [0, 3])
    empty = [given[0], given[1][:0], given[2][:0], given[3], given[4] * 0]
    assert not attention_varlen(*empty, **most).any()
    assert attention_varlen(
        given[0][:0], *given[1:3], given[3] * 0, given[4], **most
    ).shape == (0, 4, 9)


def refused(**changes):
    """A call of which some arguments are replaced."""
    given, most = ragged([2, 1], [3, 4])
    names = ("query", "key", "value", "query_starts", "key_starts")
    words = dict(zip(names, given, strict=True)) | most
    words |= {name: make(words.get(name)) for name, make in changes.items()}
    return attention_varlen(**words)


def i32(*numbers):
    return lambda _: torch.tensor(numbers, dtype=torch.int32)


REFUSED = [
    ("WV0705", "tree", {"tree": lambda _: torch.ones(3, 2)}),
    ("WV0707", "tree", {"tree": lambda _: torch.ones(3, 1).bool()}),
    ("WV0707", "tree", {"tree": lambda _: torch.ones(2, 2).bool()}),
    ("WV0704", "table", {"table": lambda _: [1]}),
    ("WV0705", "query", {"query": lambda q: q.float()}),
    ("WV0705", "key", {"key": lambda k: k.bfloat16()}),
    ("WV0705", "key_starts", {"key_starts": lambda s: s.long()}),
    ("WV0705", "table", {"table": lambda _: torch.arange(7)}),
    ("WV0706", "key", {"key": lambda k: k[0]}),
    ("WV0707", "key", {"key": lambda k: k[:, :0]}),
    ("WV0707", "value", {"value": lambda v: v[:4]}),
    ("WV0707", "query_starts", {"query_starts": i32(), "key_starts": i32()}),
    ("WV0707", "query_starts", {"query_starts": i32(0, 2, 4)}),
    ("WV0707", "query_starts", {"query_starts": i32(0, 1, 2)}),
    ("WV0707", "query_starts", {"query_starts": i32(1, 2, 3)}),
    ("WV0707", "query_starts", {"max_queries": lambda _: 1}),
    ("WV0707", "key_starts", {"key_starts": i32(0, 3)}),
    ("WV0707", "key_starts", {"key_starts": i32(0, 3, 8)}),
    ("WV0707", "key_starts", {"key_starts": i32(-1, 3, 7)}),
    ("WV0707", "key_starts", {"key_starts": i32(0, 5, 4)}),
    ("WV0707", "key_starts", {"max_keys": lambda _: 3}),
    ("WV0707", "key_starts", {"table": i32(0, 1, 2, 3, 4, 5)}),
    ("WV0707", "table", {"table": i32(0, 1, 2, 3, 4, 5, 7)}),
    ("WV0707", "table", {"table": i32(0, 1, 2, 3, 4, 5, -1)}),
]


@pytest.mark.parametrize(("code", "name", "changes"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(code, name, changes):
    with pytest.raises(LaunchError) as raised:
        refused(**changes)
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
