"""Products of matrices, of groups, of experts, and convolutions."""

from __future__ import annotations

from itertools import accumulate

import torch
import torch.nn.functional as torch_functions
from torch.nn.grad import conv2d_input as input_of, conv2d_weight as weight_of

from boundaries.axes import FLOATS, Axis, Boundary, Trial, drawn, greatest, random
from wave_kernels.functions.experts import MOST_EXPERTS

LONGER = Axis(9, long=4099)


def product(a, b):
    """In f64, and how far results may be from it."""
    wide = a.double(), b.double()
    size = greatest(wide[0].abs() @ wide[1].abs())
    return wide[0] @ wide[1], 1e-3 * size


def matmul(dtype, b, m, n, k):
    operands = random(b, m, k, dtype=dtype), random(b, k, n, dtype=dtype)
    wanted, limit = product(*operands)
    return Trial(operands, (wanted,), (limit,))


def matmul_nbits(dtype, m, n, k):
    a, scales = random(m, k, dtype=dtype), drawn(torch.rand(n, 1) + 0.5)
    numbers = torch.randint(-128, 128, (n, k)).to(torch.int8)
    _, limit = product(a, (numbers * scales.double()).mT)
    # Sums are scaled, not weights: an infinite scale has the sign of the sum.
    wanted = a.double() @ numbers.double().mT * scales.double().mT
    return Trial((a, numbers, scales), (wanted,), (limit,))


def swiglu(dtype, m, n, k):
    x = random(m, k, dtype=dtype)
    both = [(random(k, n) / max(k, 1) ** 0.5).to(dtype) for _ in range(2)]
    gate, up = (x.double() @ each.double() for each in both)
    wanted = torch_functions.silu(gate) * up
    return Trial((x, *both), (wanted,), (2e-3 * max(1.0, greatest(wanted)),))


def groups_of(e, m):
    """How many rows each group has: some none, where there are several."""
    counts = [0] * e
    for _ in range(m if e else 0):
        counts[int(torch.randint(max(e - 1, 1), ()))] += 1
    starts = torch.tensor([0, *accumulate(counts)], dtype=torch.int32)
    return counts, starts


def split(rows, counts):
    """Those of each group; none where there is no group."""
    return rows.split(counts) if counts else ()


def grouped_matmul(dtype, e, m, n, k):
    counts, starts = groups_of(e, m)
    a, b = random(m, k, dtype=dtype), random(e, k, n, dtype=dtype)
    parts = zip(split(a, counts), b, strict=True)
    each = [product(*part) for part in parts]
    wanted = torch.cat([row for row, _ in each] or [random(m, n).double()])
    limit = max((limit for _, limit in each), default=0.0)
    return Trial((a, b, starts), (wanted,), (limit,))


def grouped_swiglu(dtype, e, m, n, k):
    counts, starts = groups_of(e, m)
    a, b = random(m, k, dtype=dtype), random(e, k, 2 * n, dtype=dtype)
    b = b / max(k, 1) ** 0.5
    parts = zip(split(a, counts), b, strict=True)
    rows = [(x.double() @ w.double()).chunk(2, -1) for x, w in parts]
    each = [torch_functions.silu(gate) * up for gate, up in rows]
    wanted = torch.cat(each or [random(m, n).double()])
    return Trial((a, b, starts), (wanted,), (1e-3 * greatest(wanted),))


def grouped_matmul_weight(dtype, e, m, n, k):
    counts, starts = groups_of(e, m)
    a, grad = random(m, k, dtype=dtype), random(m, n, dtype=dtype)
    parts = zip(split(a, counts), split(grad, counts), strict=True)
    each = [product(x.mT, y) for x, y in parts]
    wanted = [row for row, _ in each]
    stacked = torch.stack(wanted) if wanted else torch.zeros(0, k, n).double()
    limit = max((limit for _, limit in each), default=0.0)
    return Trial((a, grad, starts), (stacked,), (limit,))


def moe(dtype, t, d, h, e):
    """In f32, so that rounding sends no token elsewhere."""
    del dtype
    shapes = (e, d), (e, 2 * h, d), (e, d, h)
    weights = [random(*each) / max(each[-1], 1) ** 0.5 for each in shapes]
    x = random(t, d)
    router, gate_up, down = (each.double() for each in weights)
    found = (x.double() @ router.mT).softmax(-1).topk(min(2, e))
    shares = found.values / found.values.sum(-1, keepdim=True)
    wanted = torch.zeros(t, d).double()
    for expert in range(e):
        gate, up = (x.double() @ gate_up[expert].mT).chunk(2, -1)
        chosen = found.indices == expert
        share = torch.where(chosen, shares, 0.0).sum(-1, keepdim=True)
        given = share * ((torch_functions.silu(gate) * up) @ down[expert].mT)
        wanted += torch.where(chosen.any(-1, keepdim=True), given, 0.0)
    limit = 1e-5 * max(1.0, greatest(wanted))
    return Trial((x, *weights, 2), (wanted,), (limit,))


def images(dtype, n, c, f, size, extent):
    """Images, filters, and a gradient of the results."""
    x, weight = random(n, c, size, 3, dtype=dtype), random(f, c, extent, 2, dtype=dtype)
    return x, weight, random(n, f, max(size - extent + 1, 0), 2, dtype=dtype)


def conv2d(dtype, **sizes):
    x, weight, like = images(dtype, **sizes)
    fits = x.shape[2] >= weight.shape[2] > 0
    if not fits:
        return Trial((x, weight), (like.double(),), (0.0,))
    wide = x.double(), weight.double()
    limit = 1e-3 * greatest(convolved(*(each.abs() for each in wide)))
    return Trial((x, weight), (convolved(*wide),), (limit,))


def conv1d(dtype, n, c, f, size, extent):
    """A line for each image of one row."""
    x, weight = random(n, c, size, dtype=dtype), random(f, c, extent, dtype=dtype)
    wanted, limit = random(n, f, max(size - extent + 1, 0)).double(), 0.0
    if size >= extent > 0:
        images, filters = x.double()[..., None], weight.double()[..., None]
        wanted = convolved(images, filters)[..., 0]
        limit = 1e-3 * greatest(convolved(images.abs(), filters.abs()))
    return Trial((x, weight), (wanted,), (limit,))


def convolved(x, weight):
    """Torch refuses what has no channels, or no filters."""
    if weight.numel():
        return torch_functions.conv2d(x, weight)
    sizes = zip(x.shape[2:], weight.shape[2:], strict=True)
    places = [size - extent + 1 for size, extent in sizes]
    return torch.zeros(len(x), len(weight), *places).double()


def conv2d_input(dtype, **sizes):
    x, weight, grad = images(dtype, **sizes)
    wanted = x.double(), 0.0
    if x.shape[2] >= weight.shape[2] > 0:
        wanted = gradient(input_of, x.shape, weight, grad)
    return Trial((grad, weight, x.shape[2:]), wanted[:1], wanted[1:])


def conv2d_weight(dtype, **sizes):
    x, weight, grad = images(dtype, **sizes)
    wanted = weight.double(), 0.0
    if x.shape[2] >= weight.shape[2] > 0:
        wanted = gradient(weight_of, x, weight.shape, grad)
    return Trial((x, grad, weight.shape[2:]), wanted[:1], wanted[1:])


def gradient(of, *given):
    """Torch's, of f64; zeros where something is empty, and how far from it to be."""
    shape = next(each for each in given if isinstance(each, torch.Size))
    if not all(each.numel() for each in given):
        return torch.zeros(shape).double(), 0.0
    wide = [each.double() if torch.is_tensor(each) else each for each in given]
    sizes = [each.abs() if torch.is_tensor(each) else each for each in wide]
    return of(*wide), 1e-3 * greatest(of(*sizes))


PRODUCTS = {"m": LONGER, "n": LONGER, "k": LONGER}
GROUPS = {"e": Axis(3, tile=8, long=67, least=1), **PRODUCTS}
IMAGES = {
    "n": Axis(2, tile=8, long=67),
    "c": Axis(3, tile=32, long=257),
    "f": Axis(5, tile=64, long=257),
    "size": Axis(6, tile=64, long=257, least=2),
    "extent": Axis(2, tile=4, least=1, most=6),
}
MULTIPLYING = {
    "conv1d": Boundary(conv1d, IMAGES),
    "conv2d": Boundary(conv2d, IMAGES),
    "conv2d_input": Boundary(conv2d_input, IMAGES),
    "conv2d_weight": Boundary(conv2d_weight, IMAGES),
    "grouped_matmul": Boundary(grouped_matmul, GROUPS),
    "grouped_matmul_weight": Boundary(grouped_matmul_weight, GROUPS),
    "grouped_swiglu": Boundary(grouped_swiglu, GROUPS),
    "matmul": Boundary(matmul, {"b": Axis(2, tile=8, long=67), **PRODUCTS}),
    "matmul_nbits": Boundary(matmul_nbits, PRODUCTS),
    "swiglu": Boundary(swiglu, PRODUCTS),
    "moe": Boundary(
        moe,
        {
            "t": Axis(5, long=259),
            "d": Axis(8, long=259),
            "h": Axis(6, long=259),
            "e": Axis(4, tile=8, least=2, most=MOST_EXPERTS),
        },
        FLOATS[:1],
    ),
}
