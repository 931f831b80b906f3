"""Functions from row to row."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as torch_functions

from boundaries.axes import Axis, Boundary, Trial, drawn, greatest, random
from wave_kernels.functions.rotary import MOST_CHANNELS
from wave_kernels.functions.rows import LONGEST

M = Axis(3, tile=4)
N = Axis(37, tile=256, long=LONGEST + 1)
ANY_N = Axis(37, tile=1024, long=5003)


def softmax(dtype, m, n):
    x = random(m, n, dtype=dtype)
    return Trial((x,), (x.double().softmax(-1),), (1e-5,))


def rms_norm(dtype, m, n):
    x, weight = random(m, n, dtype=dtype), random(n, dtype=dtype)
    wide = x.double()
    root = (wide.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    wanted = wide / root * weight.double()
    return Trial((x, weight), (wanted,), (1e-5 * greatest(wanted),))


def layer_norm(dtype, m, n):
    x = random(m, n, dtype=dtype)
    weight, bias = random(n, dtype=dtype), random(n, dtype=dtype)
    wide = x.double()
    away = wide - wide.mean(-1, keepdim=True)
    root = (away.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    wanted = away / root * weight.double() + bias.double()
    return Trial((x, weight, bias), (wanted,), (1e-5 * greatest(wanted),))


def gated_activation(dtype, m, n):
    x = random(m, n, dtype=dtype)
    gate, factor = x.double().chunk(2, -1) if n % 2 == 0 else (x.double(),) * 2
    return Trial((x,), (torch_functions.silu(gate) * factor,), (1e-5,))


def elementwise(dtype, b, m, n):
    x, y = random(b, m, n, dtype=dtype), random(m, 1, dtype=dtype)
    wanted = torch_functions.silu(x.double() * y.double()) + 1
    return Trial(("x, y -> silu(x * y) + 1", (x, y)), (wanted,), (1e-5,))


def cross_entropy(dtype, m, n):
    logits, targets = random(m, n, dtype=dtype), torch.randint(max(n, 1), (m,))
    wide = logits.double()
    away = wide - wide.amax(-1, keepdim=True) if n else wide
    sums = away.exp().sum(-1).log()
    picked, of = (
        each.gather(1, targets[:, None])[:, 0] if n else sums for each in (away, wide)
    )
    limit = 1e-5 * max(1.0, greatest(wide))
    wanted = sums - picked, sums - picked + of
    return Trial((logits, targets), wanted, (limit,) * 2)


def quantize_rows(dtype, m, n):
    x = random(m, n, dtype=dtype)
    wide = x.double()
    top = wide.abs().amax(-1) if n else wide.new_zeros(m)
    scales = (top / 127).clamp(min=2.0**-126)
    wanted = (wide / scales[:, None]).round()
    limits = (1.0, 1e-6 * greatest(scales))
    return Trial((x, torch.int8), (wanted, scales), limits)


def rotary_embedding(dtype, t, h, d, pairs):
    x, angles = random(t, h, d, dtype=dtype), 7 * torch.rand(t, pairs)
    cos, sin = drawn(angles.cos()), drawn(angles.sin())
    if d < 2 * pairs:
        return Trial((x, cos, sin), (x.double(),), (0.0,))
    first, second, rest = x.double().tensor_split((pairs, 2 * pairs), -1)
    turn, rise = cos.double()[:, None], sin.double()[:, None]
    turned = first * turn - second * rise, second * turn + first * rise
    limit = 2e-6 * greatest(x.double())
    return Trial((x, cos, sin), (torch.cat((*turned, rest), -1),), (limit,))


def column_sums(dtype, m, n):
    x = random(m, n, dtype=dtype)
    wide = x.double()
    return Trial((x,), (wide.sum(0),), (1e-5 * greatest(wide.abs().sum(0)),))


def transpose(dtype, b, m, n):
    x = random(b, m, n, dtype=dtype)
    return Trial((x,), (x.double().mT,), (0.0,))


def gather_rows(dtype, m, n, rows):
    table = random(rows, n, dtype=dtype)
    indices = torch.randint(max(rows, 1), (m,))
    wanted = table.double()[indices] if rows else random(m, n).double()
    return Trial((table, indices), (wanted,), (0.0,))


def scattered(dtype, m, n, rows, *, add):
    """Rows for places of which some come several times."""
    table, new = random(rows, n, dtype=dtype), random(m, n, dtype=dtype)
    places = torch.randint(max(rows, 1), (m,))
    wanted, size = table.double(), table.double().abs()
    if not rows:
        return Trial((table, places, new), (wanted,), (0.0,))
    if add:
        wanted, size = (
            each.index_add(0, places, part)
            for each, part in ((wanted, new.double()), (size, new.double().abs()))
        )
        return Trial((table, places, new), (wanted,), (1e-5 * greatest(size),))
    for place, row in zip(places, new, strict=True):
        wanted[place] = row
    return Trial((table, places, new), (wanted,), (0.0,))


PLACES = {"m": Axis(5, tile=8), "n": ANY_N, "rows": Axis(7, tile=8, least=1)}
ROWS = {
    "column_sums": Boundary(
        column_sums, {"m": Axis(5, tile=64), "n": Axis(9, tile=64)}
    ),
    "cross_entropy": Boundary(
        cross_entropy, {"m": M, "n": Axis(37, tile=1024, long=5003, least=1)}
    ),
    "elementwise": Boundary(
        elementwise,
        {"b": Axis(2, tile=4), "m": Axis(3, tile=4), "n": ANY_N},
    ),
    "gated_activation": Boundary(
        gated_activation,
        {"m": M, "n": Axis(38, tile=512, long=5004, step=2)},
    ),
    "gather_rows": Boundary(
        gather_rows,
        PLACES,
    ),
    "layer_norm": Boundary(layer_norm, {"m": M, "n": N}),
    "quantize_rows": Boundary(quantize_rows, {"m": M, "n": N}),
    "rms_norm": Boundary(rms_norm, {"m": M, "n": N}),
    "rotary_embedding": Boundary(
        rotary_embedding,
        {
            "t": Axis(3, tile=4),
            "h": Axis(2, tile=8, long=257),
            "d": Axis(10, tile=128, least=6, most=MOST_CHANNELS),
            "pairs": Axis(3, tile=4, most=5),
        },
    ),
    "scatter_add_rows": Boundary(partial(scattered, add=True), PLACES),
    "scatter_rows": Boundary(partial(scattered, add=False), PLACES),
    "softmax": Boundary(softmax, {"m": M, "n": N}),
    "transpose": Boundary(
        transpose,
        {"b": Axis(2, tile=4), "m": Axis(3, tile=64), "n": Axis(5, tile=64)},
    ),
}
