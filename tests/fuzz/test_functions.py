"""Random calls of the library's functions, beside formulas of torch in f64.

Sizes, types, layouts in memory and variants are drawn from a seed; results are compared
where the formula is finite, and have to be the same elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import pytest
import torch
import torch.nn.functional as torch_functions

from wave_kernels import functions
from wave_kernels.functions import launches

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, *HALVES)
ULP = {torch.float32: 2.0**-20, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
"""Of the type of a result, and some more for f32, where powers are approximated."""

CALLS = 10
FUZZ = pytest.mark.fuzz
SEEDS = range(1000, 11000, 1000)

ODD = (torch.nan, torch.inf, -torch.inf, -0.0, 1e4)
ACTIVATIONS = {
    "": lambda x: x,
    "relu": torch_functions.relu,
    "gelu": lambda x: torch_functions.gelu(x, approximate="tanh"),
    "silu": torch_functions.silu,
}


@dataclass
class Draw:
    """What a seed gives.

    Attributes:
        seed: Of the numbers.
    """

    seed: int
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self):
        self._rng = np.random.default_rng(self.seed)
        torch.manual_seed(self.seed)

    def one(self, *options):
        return options[self._rng.integers(len(options))]

    def count(self, least, most):
        return int(self._rng.integers(least, most + 1))

    def chance(self, share):
        return self._rng.random() < share

    def size(self, most=70):
        near = (1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65)
        return self.one(*near, self.count(1, most))

    def rows(self, most=70):
        """Sizes of a tensor of one to three dimensions, maybe empty."""
        lead = [self.size(5) for _ in range(self.count(0, 2))]
        if lead and self.chance(0.1):
            lead[0] = 0
        return (*lead, self.size(most))

    def tensor(self, *shape, dtype, odd=False):
        """Normal numbers; some odd ones, where asked for; in some layout."""
        found = torch.randn(shape).to(dtype)
        if odd and found.numel() and self.chance(0.2):
            found.view(-1)[self.count(0, found.numel() - 1)] = self.one(*ODD)
        return self.laid(found)

    def laid(self, tensor):
        """The same numbers, maybe as part of another tensor."""
        way = self.one("dense", "turned", "within", "apart")
        if way == "turned" and tensor.ndim > 1:
            return tensor.mT.contiguous().mT
        if way == "within":
            larger = tensor.new_empty([n + self.count(0, 2) for n in tensor.shape])
            part = larger[tuple(slice(n) for n in tensor.shape)]
            return part.copy_(tensor)
        if way == "apart":
            larger = tensor.new_empty([*tensor.shape[:-1], 2 * tensor.shape[-1]])
            return larger[..., ::2].copy_(tensor)
        return tensor


def matmul(draw):
    dtype, (m, n, k) = (
        draw.one(*FLOATS),
        (draw.size(), draw.size(), draw.size(200)),
    )
    lead = draw.rows(3)[:-1]
    a = draw.tensor(*lead, m, k, dtype=dtype, odd=True)
    b, bias = draw.tensor(*lead, k, n, dtype=dtype), draw.tensor(n, dtype=dtype)
    name = draw.one(*ACTIVATIONS)
    found = functions.matmul(a, b, bias=bias, activation=name)
    return found, ACTIVATIONS[name](a.double() @ b.double() + bias.double()), 2e-3


def softmax(draw):
    x = draw.tensor(*draw.rows(700), dtype=draw.one(*FLOATS), odd=True)
    return functions.softmax(x), x.double().softmax(-1), 1e-5


def rms_norm(draw):
    dtype, shape = draw.one(*FLOATS), draw.rows(700)
    x, weight = (draw.tensor(*each, dtype=dtype) for each in (shape, shape[-1:]))
    wanted = torch_functions.rms_norm(x.double(), shape[-1:], weight.double(), 1e-5)
    return functions.rms_norm(x, weight), wanted, 1e-4


def cumsum(draw):
    x = draw.tensor(*draw.rows(700), dtype=draw.one(*FLOATS))
    return functions.cumsum(x), x.double().cumsum(-1), 1e-3


def topk(draw):
    shape = draw.rows(700)
    x = draw.tensor(*shape, dtype=draw.one(*FLOATS), odd=True)
    k = draw.count(1, min(shape[-1], 32))
    found, places = functions.topk(x, k)
    assert torch.equal(x.gather(-1, places.long()).nan_to_num(), found.nan_to_num())
    return found, x.double().topk(k).values, 0.0


def conv2d(draw):
    dtype, groups = draw.one(*FLOATS), draw.one(1, 1, 2, 3)
    c, f = (groups * draw.count(1, 9) for _ in range(2))
    steps = {
        name: (draw.count(least, 3), draw.count(least, 3))
        for name, least in (("stride", 1), ("padding", 0), ("dilation", 1))
    }
    size = [max(draw.size(20), 3 * 3) for _ in range(2)]
    x = draw.tensor(draw.count(0, 2), c, *size, dtype=dtype)
    filters = [draw.count(1, 3) for _ in range(2)]
    weight = draw.tensor(f, c // groups, *filters, dtype=dtype)
    wanted = torch_functions.conv2d(x.double(), weight.double(), groups=groups, **steps)
    return functions.conv2d(x, weight, groups=groups, **steps), wanted, 2e-3


def attention(draw):
    dtype, kvh, shared = draw.one(*HALVES), draw.size(3), draw.count(1, 3)
    m, s = sorted((draw.size(150), draw.size(150)))
    d, dv = draw.one(8, 17, 40, 64, 128), draw.one(16, 33, 64)
    q = draw.tensor(1, kvh * shared, m, d, dtype=dtype)
    k, v = (draw.tensor(1, kvh, s, n, dtype=dtype) for n in (d, dv))
    causal = draw.chance(0.5)
    seen = torch.ones(m, s, dtype=torch.bool).tril(s - m if causal else s)
    wanted = torch_functions.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), attn_mask=seen, enable_gqa=True
    )
    return functions.attention(q, k, v, causal=causal), wanted, 4e-3


def grouped_matmul(draw):
    dtype, groups = draw.one(*FLOATS), draw.count(1, 5)
    n, k = draw.size(100), draw.size(100)
    counts = [draw.count(0, 30) for _ in range(groups)]
    a = draw.tensor(sum(counts), k, dtype=dtype)
    b = draw.tensor(groups, k, n, dtype=dtype)
    starts = torch.tensor([0, *accumulate(counts)], dtype=torch.int32)
    parts = zip(a.double().split(counts), b.double(), strict=True)
    wanted = torch.cat([rows @ weights for rows, weights in parts])
    return functions.grouped_matmul(a, b, starts), wanted, 2e-3


WORKS = (
    *(matmul, softmax, rms_norm, cumsum, topk, conv2d),
    *(attention, grouped_matmul),
)


def check(work, seed):
    found, wanted, accuracy = work(Draw(seed))
    assert found.shape == wanted.shape
    ulp, wanted = ULP[found.dtype], wanted.to(found.dtype).double()
    finite = wanted.isfinite()
    same = found[~finite].double().nan_to_num(), wanted[~finite].nan_to_num()
    assert torch.equal(*same)
    found, wanted = found[finite].double(), wanted[finite]
    limit = accuracy * wanted.abs().max() if wanted.numel() else 0
    assert ((found - wanted).abs() <= limit + ulp * wanted.abs()).all()


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=FUZZ) for n in SEEDS)])
def test_tiles_are_right(work, first):
    for seed in range(first, first + CALLS):
        check(work, seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("first", SEEDS[:3])
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1100", "sm_80", "sm_90a"])
def test_machine_code_is_right(work, first, target, monkeypatch):
    monkeypatch.setattr(launches, "ON_CPU", ("emulator", target))
    for seed in range(first, first + CALLS):
        check(work, seed)
