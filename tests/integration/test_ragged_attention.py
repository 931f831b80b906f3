"""Ragged and paged attention, in lanes and as machine code."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
import torch

import wave_core.lang as tkl
from wave_core.compile import wave_compile
from wave_kernels.definitions.attention import Heads
from wave_kernels.definitions.attention_scores import LOG2_E, Scoring
from wave_kernels.definitions.ragged_attention import ragged_attention_kernel

MACHINES = [("sim", "generic"), ("emulator", "gfx942"), ("emulator", "sm_90a")]
LENGTHS = [(3, 5), (1, 0), (2, 65)]
"""Queries and keys of each sequence."""

SIZES = {"H": 2, "KVH": 1, "K1": 20, "N": 17, "M": 4, "K2": 128}


def compiled(machine, *, paged):
    sizes = SIZES | {"BLOCK_B": 1, "BLOCK_H": 1}
    dynamic = ("B", "TOKENS", "SLOTS", *(["ROWS"] if paged else []))
    options = tkl.WaveCompileOptions(
        subs={getattr(tkl.sym, name): size for name, size in sizes.items()},
        dynamic_symbols=[getattr(tkl.sym, name) for name in dynamic],
        device=machine[0],
        target=machine[1],
    )
    kernel = ragged_attention_kernel(
        20**-0.5 * LOG2_E,
        heads=Heads("bshd", 2, tkl.f16, tkl.f16),
        scoring=Scoring(causal=True, complete=True),
        paged=paged,
    )
    return wave_compile(options, kernel)


def starts(lengths):
    return torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)


def wanted(query, key, value, ends):
    """Causal, in f64: both heads of queries share one of keys."""
    found = []
    for (q0, q1), (k0, k1) in zip(*(pairwise(e.tolist()) for e in ends), strict=True):
        scores = query[q0:q1].double().transpose(0, 1) @ key[k0:k1, 0].double().T
        hidden = torch.ones(scores.shape[1:], dtype=torch.bool).triu(
            1 + k1 - k0 - q1 + q0
        )
        scores = (scores * 20**-0.5).masked_fill(hidden, -torch.inf)
        powers = scores.softmax(-1).nan_to_num(0.0)  # rows that see no key
        found.append((powers @ value[k0:k1, 0].double()).transpose(0, 1))
    return torch.cat(found)


@pytest.mark.covering(1)
@pytest.mark.parametrize("machine", MACHINES, ids="-".join)
@pytest.mark.parametrize("paged", [True, False])
def test_sequences_of_different_lengths(machine, paged):
    ends = [starts(lengths) for lengths in zip(*LENGTHS, strict=True)]
    tokens, rows = (int(each[-1]) for each in ends)
    query = torch.randn(tokens, 2, 20).half()
    key, value = (torch.randn(rows, 1, n).half() for n in (20, 17))
    out = torch.full((tokens, 2, 17), torch.nan).half()
    given = [query, key, value, *ends]
    if paged:
        table = torch.randperm(rows + 5)[:rows]
        caches = [
            each.new_full((rows + 5, *each.shape[1:]), torch.nan) for each in given[1:3]
        ]
        for cache, each in zip(caches, (key, value), strict=True):
            cache[table] = each
        given = [query, *caches, *ends, table.to(torch.int32)]
    compiled(machine, paged=paged)(*given, out)
    right = wanted(query, key, value, ends)
    torch.testing.assert_close(out.double(), right, atol=6e-3, rtol=0)
