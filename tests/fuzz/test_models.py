"""Random modules under ``torch.compile(backend="wave")``, beside eager and f64.

A seed gives layers one behind the other, a size, a type, and how they run: trained or
not, sizes open or not. Results, gradients and buffers may be as far from f64 as eager's
are, several times, and have its types and shapes; results lie in memory as eager's.
"""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as torch_functions
from test_functions import Draw
from torch import nn

from wave_torch.backend import compile_graph

EPSILON = {torch.float32: 2e-5, torch.float16: 6e-3, torch.bfloat16: 5e-2}
ACTIVATIONS = (
    *(torch_functions.gelu, torch_functions.relu, torch_functions.silu, torch.tanh),
    *(torch.sigmoid, torch_functions.hardswish, torch_functions.leaky_relu),
    *(torch_functions.softplus, torch_functions.mish, torch_functions.elu),
    lambda x: torch_functions.gelu(x, approximate="tanh"),
    lambda x: x.relu().square(),
)
"""Nothing that jumps: rounding would decide."""

FORMULAS = (
    lambda x, w: torch.cat([x[..., 1:].sin(), x[..., :1] * 2], -1) * w,
    lambda x, w: torch.where(w > 0, x * w, x.expm1()) + (w > 1).to(x.dtype),
    lambda x, w: x / (x.norm(dim=-1, keepdim=True) + 1) - x.mean(0, keepdim=True),
    lambda x, w: x.softmax(0) + x.softmax(-1) * w,
    lambda x, w: x.log_softmax(-1) * 0.3 + torch.logsumexp(x, -1, keepdim=True),
    lambda x, w: (x.transpose(0, -1).contiguous().transpose(0, -1) + w).exp().log1p(),
    lambda x, w: torch.addcmul(x, w, w, value=0.3) + torch.lerp(x, w + x, 0.4),
    lambda x, w: x.flip(-1).cumsum(-1) * 0.2 + x.roll(1, -1),
    lambda x, w: x.var(-1, keepdim=True) * w + x.sum(0) * 0.1,
    lambda x, w: x.clone().add_(w).mul_(2).sigmoid_() - torch.rsub(x, w, alpha=2),
)


class Formula(nn.Module):
    def __init__(self, draw, width):
        super().__init__()
        self.weight, self.call = nn.Parameter(torch.randn(width)), draw.one(*FORMULAS)

    def forward(self, x):
        return self.call(x, self.weight)


class Products(nn.Module):
    """Two layers with something between them, and maybe around them."""

    def __init__(self, draw, width):
        super().__init__()
        inner = draw.one(1, 3, 8, 17)
        sizes = (width, inner), (width, inner), (inner, width)
        self.up, self.gate, self.down = (
            nn.Linear(*size, bias=draw.chance(0.5)) for size in sizes
        )
        self.activation, self.way = draw.one(*ACTIVATIONS), draw.count(0, 3)

    def forward(self, x):
        hidden = self.activation(self.up(x))
        if self.way == 1:
            hidden = self.gate(x) * hidden
        found = self.down(hidden)
        return found + x if self.way == 2 else found


class Added(nn.Module):
    """Products that are added to something, by factors; one weight, used twice."""

    def __init__(self, draw, width):
        super().__init__()
        shape = draw.one((width,), (1, width), (1,), ())
        self.bias = nn.Parameter(torch.randn(shape))
        self.weight = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.alpha, self.beta = draw.one(1, 2, -1), draw.one(1, 0, 0.5)

    def forward(self, x):
        rows, factors = x.flatten(0, -2), {"alpha": self.alpha, "beta": self.beta}
        first = torch.addmm(self.bias, rows, self.weight, **factors).tanh()
        both = first.expand(3, *first.shape)
        weights = self.weight.mT.expand(3, *self.weight.shape)
        second = torch.baddbmm(both, both, weights, **factors).mean(0)
        return torch.einsum("...i,ji->...j", second, self.weight).view(x.shape)


class Attention(nn.Module):
    def __init__(self, draw, width):
        super().__init__()
        self.heads = draw.one(*[n for n in (1, 2, 4) if width % n == 0])
        self.shared = draw.one(*[n for n in (1, 2) if self.heads % n == 0])
        inner = 2 * self.shared * width // self.heads
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.pairs, self.mask = nn.Linear(width, inner), draw.count(0, 3)

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-2], x.shape[-1])
        parts = self.query(rows), *self.pairs(rows).chunk(2, -1)
        counts = self.heads, self.shared, self.shared
        heads = [
            part.unflatten(-1, (count, -1)).transpose(1, 2)
            for part, count in zip(parts, counts, strict=True)
        ]
        seen = torch_functions.scaled_dot_product_attention(
            *heads,
            attn_mask=self.masked(rows),
            is_causal=self.mask == 1,
            enable_gqa=self.heads != self.shared,
        )
        return self.out(seen.transpose(1, 2).flatten(2)).view(x.shape)

    def masked(self, rows):
        place = torch.arange(rows.shape[1])
        near = (place[:, None] - place).abs() < 2
        floats = torch.where(near, 0.5, -1e4)
        return {2: near, 3: floats.to(rows.dtype)}.get(self.mask)


class Convolution(nn.Module):
    def __init__(self, draw, width):
        super().__init__()
        two = draw.chance(0.5)
        self.make = (lambda x: x.unsqueeze(2)) if two else (lambda x: x)
        groups = draw.one(*[n for n in (1, 2, width) if width % n == 0])
        kind = nn.Conv2d if two else nn.Conv1d
        size, bias = draw.one(1, 3, 5), draw.chance(0.5)
        self.move = kind(width, width, size, padding="same", groups=groups, bias=bias)
        norm = nn.BatchNorm2d if two else nn.BatchNorm1d
        self.norm = draw.one(nn.Identity(), norm(width), nn.GroupNorm(1, width))
        self.activation = draw.one(*ACTIVATIONS)

    def forward(self, x):
        line = self.make(x.flatten(0, -2).T.unsqueeze(0))
        found = self.activation(self.norm(self.move(line)))
        return found.flatten(2)[0].T.reshape(x.shape)


class Experts(nn.Module):
    def __init__(self, draw, width):
        super().__init__()
        experts = draw.one(2, 4)
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) / width**0.5)
        self.down = nn.Parameter(torch.randn(experts, width, width) / width**0.5)

    def forward(self, x):
        rows = x.flatten(0, -2)
        gate, up = torch.einsum("td,edf->tef", rows, self.up).chunk(2, -1)
        found = torch.einsum("tef,efd->ted", gate.sigmoid() * up, self.down)
        weights = self.router(rows).softmax(-1).unsqueeze(-1)
        return (found * weights).sum(1).view(x.shape)


class Counted(nn.Module):
    """Buffers that each call changes."""

    def __init__(self, _, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("rows", torch.zeros(3, width))

    def forward(self, x):
        with torch.no_grad():
            self.mean.lerp_(x.flatten(0, -2).mean(0), 0.25)
            self.rows[1:] = self.mean
            self.rows[0].add_(1)
        return x + self.rows.sum(0)


class Normed(nn.Module):
    def __init__(self, draw, width):
        super().__init__()
        affine = draw.chance(0.5)
        kinds = nn.LayerNorm, nn.RMSNorm
        self.norm = draw.one(*kinds)(width, 1e-3, elementwise_affine=affine)

    def forward(self, x):
        return self.norm(x)


LAYERS = (Formula, Products, Added, Attention, Convolution, Experts, Counted, Normed)


class Case:
    """What a seed gives."""

    def __init__(self, seed):
        draw = Draw(seed)
        width = draw.one(4, 7, 8, 12, 16)
        lead = draw.one((3,), (6,), (2, 5), (2, 3, 2))
        self.dtype = draw.one(*EPSILON)
        count = draw.count(1, 4)
        layers = [draw.one(*LAYERS)(draw, width) for _ in range(count)]
        self.model = nn.Sequential(*layers).to(self.dtype)
        self.model.train(draw.chance(0.7))
        self.x = torch.randn(*lead, width).to(self.dtype)
        self.trained = draw.chance(0.6)
        self.dynamic = draw.one(None, None, True)

    def outcome(self, dtype, run=lambda model: model):
        """The result, gradients and buffers, of a copy of the model in a type."""
        model = copy.deepcopy(self.model).to(dtype)
        x = self.x.to(dtype).requires_grad_(self.trained)
        with torch.set_grad_enabled(self.trained):
            result = run(model)(x)
        leaves = [x, *model.parameters()] if self.trained else []
        grads = []
        if leaves:
            weights = torch.linspace(-1, 1, result.numel()).view(result.shape)
            loss = (result * weights.to(dtype)).sum()
            grads = torch.autograd.grad(loss, leaves, allow_unused=True)
        floats = [each for each in model.buffers() if each.is_floating_point()]
        return [result, *grads, *floats]


def check(seed, rest="eager"):
    case = Case(seed)
    torch._dynamo.reset()

    def compiled(model):
        more = {"dynamic": case.dynamic, "options": {"rest": rest}}
        return torch.compile(model, backend=compile_graph, **more)

    every = (
        case.outcome(torch.float64),
        case.outcome(case.dtype),
        case.outcome(case.dtype, compiled),
    )
    assert every[1][0].stride() == every[2][0].stride()
    for exact, eager, found in zip(*every, strict=True):
        if eager is None:
            assert found is None
            continue
        assert (found.dtype, found.shape) == (eager.dtype, eager.shape)
        assert torch.equal(found.isfinite(), eager.isfinite())
        mine, theirs = (
            (each.double() - exact).nan_to_num().abs().max() for each in (found, eager)
        )
        large = max(float(exact.detach().nan_to_num().abs().max()), 0.05)
        assert mine <= 4 * theirs + EPSILON[case.dtype] * large


@pytest.mark.parametrize("seed", range(4))
def test_models(seed):
    check(seed)


@pytest.mark.fuzz
# Of others some train batch norms of three rows that are nearly the same, in which
# rounding decides: eager is as far from f64 for other seeds.
@pytest.mark.parametrize("seed", range(400, 600))
def test_more_models(seed):
    check(seed)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("default::DeprecationWarning")  # Inductor's own
@pytest.mark.parametrize("seed", range(20, 60))
def test_models_whose_rest_is_inductors(seed):
    check(seed, "inductor")
