"""Sequences of different lengths, in caches too, and their attention by the formula."""

from __future__ import annotations

from itertools import accumulate, pairwise

import torch
from attention_formula import attended


def starts(lengths):
    return torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)


def ragged(queries, keys, *, h=4, kvh=2, d=8, dv=9, dtype=torch.float16):
    """Operands of sequences with so many queries and keys."""
    shapes = (sum(queries), h, d), (sum(keys), kvh, d), (sum(keys), kvh, dv)
    made = [torch.randn(shape).to(dtype) for shape in shapes]
    most = {"max_queries": max(queries), "max_keys": max(keys)}
    return [*made, starts(queries), starts(keys)], most


def paged(given, page=4, spare=3):
    """The same keys in shuffled pages of a cache; NaN in what belongs to no one."""
    query, key, value, query_starts, key_starts = given
    lengths = [end - start for start, end in pairwise(key_starts.tolist())]
    pages = [-(-length // page) for length in lengths]
    order = iter(torch.randperm(sum(pages) + spare).tolist())
    slots = [
        [
            first * page + i
            for first in [next(order) for _ in range(n)]
            for i in range(page)
        ]
        for n in pages
    ]
    table = torch.tensor(
        [s for own, n in zip(slots, lengths, strict=True) for s in own[:n]],
        dtype=torch.int32,
    )
    caches = []
    for rows in (key, value):
        cache = torch.full(((sum(pages) + spare) * page, *rows.shape[1:]), torch.nan)
        cache = cache.to(rows.dtype)
        cache[table.long()] = rows
        caches.append(cache)
    return [query, *caches, query_starts, key_starts], table


def one(query, key, value, variant):
    """Of one sequence ``[rows, heads, channels]``, by the formula."""
    heads = (each.transpose(0, 1)[None] for each in (query, key, value))
    return attended(*heads, **variant)[0].transpose(0, 1)


def split(given):
    """Queries, keys and values of each sequence."""
    query, key, value, *ends = given
    spans = [list(pairwise(each.tolist())) for each in ends]
    return [
        (query[slice(*q)], key[slice(*k)], value[slice(*k)])
        for q, k in zip(*spans, strict=True)
    ]


def wanted(given, variant):
    return torch.cat([one(*rows, variant) for rows in split(given)])
