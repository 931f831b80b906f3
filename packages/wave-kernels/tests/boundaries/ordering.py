"""Functions that find, count and arrange."""

from __future__ import annotations

import numpy as np
import torch

from boundaries.axes import Axis, Boundary, Trial, drawn, greatest, random
from wave_kernels.functions.experts import MOST_CHOICES, MOST_EXPERTS
from wave_kernels.functions.rows import LONGEST
from wave_kernels.microscaling import block_shape, byte_place, scale_place

WAVE = 1024
"""Pairs of a token and an expert that a wave looks at at a time."""


def cumsum(dtype, m, n):
    x = random(m, n, dtype=dtype)
    wide = x.double()
    limit = 1e-6 * greatest(wide.abs().sum(-1))
    return Trial((x,), (wide.cumsum(-1),), (limit,))


def topk(dtype, m, n, k):
    x = random(m, n, dtype=dtype)
    found = x.double().sort(dim=-1, descending=True, stable=True)
    wanted = found.values[..., :k], found.indices[..., :k].double()
    return Trial((x, k), wanted, (0.0, 0.0))


def route_tokens(dtype, t, e, k):
    """Logits that are far apart, so that rounding changes no order."""
    order = torch.rand(t, e).argsort(-1)
    logits = drawn(order * 8.0 / max(e, 1))
    logits = logits.to(torch.float32 if e > 256 else dtype)
    found = logits.double().topk(min(k, e))
    wanted = found.values.softmax(-1), found.indices.double()
    return Trial((logits, k), wanted, (1e-5, 0.0))


def group_tokens(dtype, t, k, groups):
    del dtype
    experts = torch.randint(max(groups, 1), (t, k), dtype=torch.int32)
    order = experts.flatten().sort(stable=True).indices
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order))
    counts = torch.bincount(experts.flatten(), minlength=groups)
    starts = torch.cat([torch.zeros(1), counts.cumsum(0)])
    wanted = order // max(k, 1), places.view(t, k), starts
    return Trial((experts, groups), tuple(w.double() for w in wanted), (0.0,) * 3)


def combine_tokens(dtype, t, k, n):
    rows = random(t * k, n, dtype=dtype)
    places = torch.randperm(t * k).int().view(t, k)
    weights = drawn(torch.rand(t, k))
    each = weights.double()[..., None] * rows.double()[places.long()]
    limit = 1e-6 * greatest(each.abs().sum(1))
    return Trial((rows, places, weights), (each.sum(1),), (limit,))


def shuffled(stored, bits, place):
    """Where each byte belongs, in blocks that are filled up with 0."""
    high, wide = block_shape(bits)
    rows, columns = stored.shape
    blocks = -(-rows // high), -(-columns // wide), high * wide
    wanted = np.zeros(blocks)
    for row, column in np.ndindex(rows, columns):
        wanted[place(row, column)] = stored[row, column]
    return torch.from_numpy(wanted)


def shuffle_scales(dtype, rows, columns):
    del dtype
    stored = torch.randint(256, (rows, columns), dtype=torch.uint8)
    return Trial((stored,), (shuffled(stored, 0, scale_place),), (0.0,))


def shuffle_weights(dtype, rows, columns):
    del dtype
    stored = torch.randint(256, (rows, columns), dtype=torch.uint8)

    def place(row, column):
        return byte_place(row, column, 4)

    return Trial((stored, 4), (shuffled(stored, 4, place),), (0.0,))


FEW = Axis(2, tile=8, most=MOST_CHOICES)
BYTES = (torch.float32,)
"""What is arranged has no type of its own."""

ORDERING = {
    "combine_tokens": Boundary(
        combine_tokens, {"t": Axis(5, tile=4), "k": FEW, "n": Axis(9, tile=1024)}
    ),
    "cumsum": Boundary(
        cumsum, {"m": Axis(3, tile=4), "n": Axis(37, tile=256, long=LONGEST + 1)}
    ),
    "group_tokens": Boundary(
        group_tokens,
        {
            "t": Axis(7, tile=WAVE // 2, long=3001),
            "k": Axis(2, tile=8),
            "groups": Axis(5, tile=64, least=1),
        },
        BYTES,
    ),
    "route_tokens": Boundary(
        route_tokens,
        {
            "t": Axis(3, tile=4),
            "e": Axis(9, tile=64, least=2, most=MOST_EXPERTS),
            "k": Axis(2, tile=8, least=1, most=9),
        },
    ),
    "shuffle_scales": Boundary(
        shuffle_scales, {"rows": Axis(5, tile=128), "columns": Axis(3, tile=8)}, BYTES
    ),
    "shuffle_weights": Boundary(
        shuffle_weights,
        {"rows": Axis(5, tile=16), "columns": Axis(16, tile=128, long=1040, step=16)},
        BYTES,
    ),
    "topk": Boundary(
        topk,
        {
            "m": Axis(3, tile=4),
            "n": Axis(37, tile=256, least=2, long=LONGEST + 1),
            "k": Axis(2, tile=8, least=1, most=MOST_CHOICES),
        },
    ),
}
