"""`torch.compile(model, backend="wave")` against the model as it is."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as torch_functions
from torch._dynamo.backends import registry
from torch._dynamo.exc import BackendCompilerFailed
from torch._inductor import config
from torch._inductor.utils import run_and_get_code
from torch._subclasses import FakeTensorMode

import wave_torch
from wave_torch import backend
from wave_torch.backend import Options, compile_graph

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
HALF = torch.float16


def rand(*shape, dtype=HALF):
    return torch.randn(shape).to(dtype)


def compiled(function, **keywords):
    torch._dynamo.reset()
    return torch.compile(function, backend=compile_graph, fullgraph=True, **keywords)


def near(found, wanted, accuracy=1e-2):
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    limit = accuracy * max(1.0, float(wanted.detach().abs().max()))
    assert float((found.double() - wanted.double()).detach().abs().max()) <= limit


def kernels(function, *inputs):
    """What computes the model, once its results are seen to be right."""
    reports = []
    run = compiled(function, options={"report": reports.append})
    near(run(*inputs), function(*inputs))
    last = reports[-1].placements
    return [each.detail if each.place == "wave" else each.op for each in last]


COPIED = ("aten.clone",)
"""What a part of a bigger tensor is, before a kernel reads its rows."""


class Block(torch.nn.Module):
    """A transformer block, as one would write it."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.before = torch.nn.RMSNorm(width)
        self.middle = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        parts = self.qkv(self.before(x)).chunk(3, -1)
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in parts)
        seen = torch_functions.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.down(torch_functions.gelu(self.up(self.middle(x))))


@torch.no_grad()
def test_a_transformer_block():
    assert kernels(Block().half(), rand(2, 5, 16)) == [
        "rms_norm",
        "matmul with bias",
        *3 * COPIED,
        "attention",
        "matmul with bias, residual",
        "layer_norm",
        "matmul with bias, gelu",
        "matmul with bias, residual",
    ]


def gradients(function, *inputs):
    result = function(*inputs)
    leaves = [*function.parameters(), *(x for x in inputs if x.requires_grad)]
    weights = torch.linspace(-1, 1, result.numel()).view(result.shape)
    return torch.autograd.grad((result * weights.to(result.dtype)).sum(), leaves)


def trained(model, *inputs):
    """What the model and its gradients leave to torch, once both are seen right."""
    wanted = gradients(model, *inputs)
    torch._dynamo.reset()
    reports = []
    options = {"report": reports.append}
    run = torch.compile(model, backend=compile_graph, fullgraph=True, options=options)
    for found, target in zip(gradients(run, *inputs), wanted, strict=True):
        near(found, target)
    return {p.op for p in wave_torch.Report(tuple(reports)).placed("eager")}


HEAVY = {"aten.mm", "aten._grouped_mm", "aten.addmm", "aten.bmm", "aten.baddbmm"} | {
    f"aten.{name}" for name in ("convolution", "convolution_backward", "_softmax")
}


def test_gradients_of_a_transformer_block():
    left = trained(Block().half(), rand(2, 5, 16).requires_grad_())
    assert not left & HEAVY
    assert not [name for name in left if "attention" in name]


class Residual(torch.nn.Module):
    """A convolution block: usual, a channel at a time, and back to the old size."""

    def __init__(self, channels=8):
        super().__init__()
        self.wide = torch.nn.Conv2d(channels, 2 * channels, 3, padding=1, stride=2)
        self.norm = torch.nn.BatchNorm2d(2 * channels)
        own = {"groups": 2 * channels, "bias": False}
        self.each = torch.nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, **own)
        self.back = torch.nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)

    def forward(self, x):
        return x + self.back(self.each(torch.relu(self.norm(self.wide(x)))))


def test_gradients_of_a_convolution_block():
    assert not trained(Residual().half(), rand(2, 8, 6, 4).requires_grad_()) & HEAVY


def test_gradients_of_a_block_that_is_not_trained():
    # Batch norm of kept numbers, and images with channels last.
    images = rand(2, 8, 6, 4).to(memory_format=torch.channels_last).requires_grad_()
    assert not trained(Residual().half().eval(), images) & HEAVY


class Experts(torch.nn.Module):
    """A mixture of experts: each token goes to two, by weight."""

    def __init__(self, width=8, experts=4):
        super().__init__()
        self.router = torch.nn.Linear(width, experts)
        self.up = torch.nn.Parameter(torch.randn(experts, width, 2 * width) / 3)
        self.down = torch.nn.Parameter(torch.randn(experts, width, width) / 3)

    def forward(self, x):
        chosen, expert = self.router(x).softmax(-1).topk(2)
        gate, hidden = torch.einsum("td,edh->eth", x, self.up).chunk(2, -1)
        every = (torch_functions.silu(gate) * hidden) @ self.down
        weights = torch.zeros(len(x), len(every), dtype=x.dtype)
        weights = weights.scatter(1, expert, chosen)
        return torch.einsum("te,etd->td", weights, every)


def test_gradients_of_a_block_of_experts():
    assert not trained(Experts().half(), rand(6, 8).requires_grad_()) & HEAVY


class SparseExperts(torch.nn.Module):
    """A transformer block whose tokens go to two experts each."""

    def __init__(self, width=16, experts=4):
        super().__init__()
        self.block = Block(width)
        self.norm = torch.nn.RMSNorm(width)
        # Far enough apart that rounding sends no token elsewhere.
        self.router = torch.nn.Parameter(8 * torch.eye(experts, width))
        self.gate_up = torch.nn.Parameter(torch.randn(experts, 6, width) / 4)
        self.down = torch.nn.Parameter(torch.randn(experts, width, 3) / 2)

    def forward(self, x):
        x = self.block(x)
        weights = self.router, self.gate_up, self.down
        return x + self.mixed(self.norm(x), *weights, 2)

    mixed = staticmethod(torch.ops.wave.moe)


def eager_moe(x, router, gate_up, down, top_k):
    """All experts of all tokens, and the weights of those that are not chosen 0."""
    logits = (x @ router.mT).float()
    chosen = logits.topk(top_k)
    weights = torch.zeros_like(logits)
    weights = weights.scatter(-1, chosen.indices, chosen.values.softmax(-1))
    gate, up = torch.einsum("btd,ehd->beth", x, gate_up).chunk(2, -1)
    every = (torch_functions.silu(gate) * up) @ down.mT
    return torch.einsum("bte,betd->btd", weights.to(x.dtype), every)


def test_gradients_of_a_block_of_sparse_experts(monkeypatch):
    model = SparseExperts().half()
    x = rand(2, 5, 16).requires_grad_()
    with monkeypatch.context() as patched:
        patched.setattr(SparseExperts, "mixed", staticmethod(eager_moe))
        wanted = model(x), *gradients(model, x)
    assert not trained(model, x) & HEAVY
    found = model(x), *gradients(model, x)
    for each, target in zip(found, wanted, strict=True):
        near(each, target)


class Grouped(torch.nn.Module):
    """Rows of three groups, of which one is empty, each with weights of its own."""

    def __init__(self, width=16):
        super().__init__()
        # Alignment is what torch's own op asks for.
        weights = torch.randn(3, width, 2 * width, dtype=torch.bfloat16) / 4
        self.weights = torch.nn.Parameter(weights)
        self.register_buffer("ends", torch.tensor([3, 3, 8], dtype=torch.int32))

    def forward(self, x):
        return torch_functions.grouped_mm(x, self.weights, offs=self.ends)


def test_products_of_groups():
    x = rand(8, 16, dtype=torch.bfloat16).requires_grad_()
    assert "aten._grouped_mm" not in trained(Grouped(), x)
    with torch.no_grad():
        assert kernels(Grouped(), x)[-1] == "grouped_matmul"


CONVOLUTIONS = {
    "a line": lambda: torch.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
    "a line, back": lambda: torch.nn.ConvTranspose1d(4, 3, 3, stride=2),
    "back, with more behind": lambda: torch.nn.ConvTranspose2d(
        4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2
    ),
    "one image": lambda: torch.nn.Conv2d(4, 2, 3, padding="same"),
}


@pytest.mark.parametrize("title", CONVOLUTIONS)
def test_convolutions(title):
    dims = 1 if "line" in title else 2
    shape = (4, 5, 5) if title == "one image" else (2, 4, *[5] * dims)
    model = CONVOLUTIONS[title]().half()
    assert not trained(model, rand(*shape).requires_grad_()) & HEAVY


def test_both_products_of_a_gradient_are_kernels():
    torch._dynamo.reset()
    linear, x = torch.nn.Linear(4, 3).half(), rand(2, 4).requires_grad_()
    report = wave_torch.explain(linear, x)
    phases = {graph.phase: graph for graph in report.graphs}
    assert phases["forward"].count("wave") == 1
    done = [p.op for p in phases["backward"].placements if p.place == "wave"]
    assert sorted(done) == ["aten.mm", "aten.mm", "aten.sum"]
    assert linear.weight.grad is None


@pytest.mark.parametrize("name", ["gelu", "relu", "sigmoid", "silu", "tanh"])
def test_activations_are_part_of_products(name):
    activation = getattr(torch_functions, name)

    def model(a, b):
        return activation(a @ b)

    assert kernels(model, rand(3, 4), rand(4, 5)) == [f"matmul with {name}"]


def twice(x):
    return x + x


A, B = rand(3, 4), rand(4, 5)
PRODUCTS = {
    "a bias by hand": (lambda c: A @ B + c, rand(5), ["matmul with bias"]),
    "a residual in front": (lambda c: c + A @ B, rand(3, 5), ["matmul with residual"]),
    "a residual made later": (
        lambda c: (A @ B).relu() + c.neg(),
        rand(3, 5),
        ["aten.neg", "matmul with relu, residual"],
    ),
    "all": (
        lambda c: torch.addmm(c[0], A, B).tanh() + c,
        rand(3, 5),
        ["matmul with bias, tanh, residual"],
    ),
    "a matrix that is added": (
        lambda c: torch.addmm(c, A, B),
        rand(3, 5),
        ["matmul with residual"],
    ),
    "batches": (
        lambda c: torch.baddbmm(c, A.expand(2, 3, 4), B.expand(2, 4, 5)).relu(),
        rand(2, 3, 5),
        ["matmul with residual", "aten.relu"],
    ),
    "factors": (lambda c: torch.addmm(c, A, B, beta=2), rand(3, 5), ["aten.addmm"]),
    "a column": (
        lambda c: A @ B + c,
        rand(3, 1),
        ["matmul", "aten.add"],
    ),
    "more rows than the product": (
        lambda c: A @ B + c,
        rand(2, 3, 5),
        ["matmul", "aten.add"],
    ),
    "twice the product": (
        lambda c: twice(A @ c),
        rand(4, 5),
        ["matmul", "aten.add"],
    ),
    "a factor of what is added": (
        lambda c: torch.add(A @ B, c, alpha=2),
        rand(3, 5),
        ["matmul", "aten.add"],
    ),
    "a bias behind the activation": (
        lambda c: (A @ B).relu() + c,
        rand(5),
        ["matmul with relu", "aten.add"],
    ),
    "another gelu": (
        lambda c: torch_functions.gelu(A @ c, approximate="tanh"),
        rand(4, 5),
        ["matmul", "aten.gelu"],
    ),
    "other columns": (
        lambda c: (A @ c).view(2, 3, 3) + torch.ones(3, dtype=HALF),
        rand(4, 6),
        ["matmul", "aten.ones", "aten.add"],
    ),
    "dropout that does nothing": (
        lambda c: c + torch_functions.dropout(A @ B, training=False),
        rand(3, 5),
        ["matmul with residual"],
    ),
    "a copy that is returned": (
        lambda c: (A @ c).clone().view(-1),
        rand(4, 5),
        ["matmul", "aten.clone"],
    ),
    "integers": (lambda c: c @ c, torch.ones(3, 3, dtype=torch.int32), ["aten.mm"]),
}


@pytest.mark.parametrize("title", PRODUCTS)
def test_products(title):
    model, argument, wanted = PRODUCTS[title]
    assert kernels(model, argument) == wanted


def gates(x, gate, up, activation=torch_functions.silu):
    return activation(x @ gate) * (x @ up)


def gated_and_sum(gate, up):
    return torch_functions.silu(gate) * up + up


GATED = {
    "a gate in front": (gates, ["swiglu with silu"]),
    "a gate behind": (lambda x, a, b: (x @ b) * (x @ a).relu(), ["swiglu with relu"]),
    "gelu": (lambda *given: gates(*given, torch_functions.gelu), ["swiglu with gelu"]),
    "weights as layers have them": (
        lambda x, a, b: gates(x, a.mT.contiguous().mT, b),
        ["aten.clone", "swiglu with silu"],
    ),
    "what follows": (
        lambda x, a, b: gates(x, a, b) @ a.mT,
        ["swiglu with silu", "matmul"],
    ),
    "both with an activation": (
        lambda x, a, b: torch_functions.silu(x @ a) * (x @ b).tanh(),
        ["matmul with silu", "matmul with tanh", "aten.mul"],
    ),
    "no activation": (
        lambda x, a, b: (x @ a) * (x @ b),
        ["matmul", "matmul", "aten.mul"],
    ),
    "other rows": (
        lambda x, a, b: torch_functions.silu(x @ a) * (x.flip(0) @ b),
        ["matmul with silu", "aten.flip", "matmul", "aten.mul"],
    ),
    "a product that others read": (
        lambda x, a, b: gated_and_sum(x @ a, x @ b),
        ["matmul", "matmul with silu", "chain of 2 ops"],
    ),
    "a bias": (
        lambda x, a, b: (x @ a + a[0]).relu() * (x @ b),
        ["matmul with bias, relu", "matmul", "aten.mul"],
    ),
    "a column": (
        lambda x, a, b: (x @ a).relu() * (x @ b[:, :1]),
        ["matmul with relu", "matmul", "aten.mul"],
    ),
}


@pytest.mark.parametrize("title", GATED)
def test_gated_products(title):
    model, wanted = GATED[title]
    lead = (2, 3) if title in ("a gate in front", "gelu") else (3,)
    assert kernels(model, rand(*lead, 4), rand(4, 5), rand(4, 5)) == wanted


def next_row(cache, x):
    cache[:, -1:] = x
    return cache.softmax(-1)


def one_of_a_row(cache, x):
    cache[1, 2] = x[0, 0]
    return cache @ x[0].mT


def rows_by_number(cache, x):
    cache[:, torch.tensor([3, 1])] = x
    cache.index_copy_(1, torch.tensor([0]), x)
    return cache.sum()


def two_rows(cache, x):
    cache[:, :1] = x
    seen = cache.amax()
    cache[:, 2:3] = x + seen
    return seen


def added(cache, x):
    return cache.add_(x).softmax(-1)


def moved_up(cache, x):
    cache[:, 1:] = cache[:, :-1].clone()
    cache[:, :1] = x
    return x


def given_as_it_is(cache, x):
    cache[:, 3:] = x
    cache[:, 0] = cache[:, 3]
    return x.exp()


def old_values(cache, x):
    before = cache[:, 1:].clone()
    cache[:, 1:2] = x
    return before.softmax(-1)


def replaced(cache, x):
    cache.copy_(x.expand(2, 4, 8))
    return x.neg()


CHANGES = {
    next_row: ["aten.copy_", "softmax"],
    one_of_a_row: ["aten.copy_", "matmul"],
    rows_by_number: [
        *("aten.lift_fresh_copy", "aten.index_put_"),
        *("aten.lift_fresh_copy", "aten.index_copy_", "aten.sum"),
    ],
    two_rows: ["aten.copy_", "aten.amax", "aten.add", "aten.copy_"],
    added: None,
    moved_up: None,
    given_as_it_is: None,
    old_values: None,
    replaced: None,
}


@pytest.mark.parametrize("model", CHANGES, ids=lambda model: model.__name__)
@torch.no_grad()
def test_arguments_are_changed(model):
    cache, x = rand(2, 4, 8), rand(2, 1, 8)
    expected, reports = cache.clone(), []
    wanted = model(expected, x)
    near(compiled(model, options={"report": reports.append})(cache, x), wanted)
    near(cache, expected, accuracy=1e-3)
    if CHANGES[model] is not None:
        found = [
            each.detail if each.place == "wave" else each.op
            for each in reports[-1].placements
        ]
        assert found == CHANGES[model]


class Gated(torch.nn.Module):
    """The second half of a block of Llama."""

    def __init__(self, width=8, hidden=12):
        super().__init__()
        self.gate, self.up = (
            torch.nn.Linear(width, hidden, bias=False) for _ in range(2)
        )
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(torch_functions.silu(self.gate(x)) * self.up(x))


@torch.no_grad()
def test_layers_of_gated_products():
    wanted = ["swiglu with silu", "matmul"]
    assert kernels(Gated().half(), rand(2, 3, 8)) == wanted


def test_sums_that_gradients_need_are_stored():
    model = Gated().half()
    assert not trained(model, rand(2, 3, 8).requires_grad_()) & HEAVY
    torch._dynamo.reset()
    report = wave_torch.explain(model, rand(2, 3, 8).requires_grad_())
    assert not [each for each in report.placed("wave") if "swiglu" in each.detail]


def test_a_product_that_others_read_keeps_its_sums():
    def model(a, b):
        sums = a @ b
        return sums.relu() + sums.sum()

    names = kernels(model, rand(3, 4), rand(4, 5))
    assert sorted(names) == ["aten.sum", "chain of 2 ops", "matmul"]


def chunked(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def sliced(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


@pytest.mark.parametrize("turned", [chunked, sliced])
def test_rotary_embedding_as_models_write_it_is_one_kernel(turned):
    def model(x, cosines, sines):
        return x * cosines + turned(x) * sines

    x = rand(2, 5, 3, 3, 8)[:, :, 1].transpose(1, 2)
    assert kernels(model, x, rand(5, 8), rand(5, 8)) == ["chain of 4 ops"]


def test_halves_that_are_not_turned_so_stay_as_they_are():
    def model(x, y):
        first, second = x.chunk(2, -1)
        return torch.cat((-first, second), -1) * y, chunked(x * y).contiguous()

    reports = []
    run = compiled(model, options={"report": reports.append})
    x, y = rand(3, 8), rand(8)
    for found, wanted in zip(run(x, y), model(x, y), strict=True):
        near(found, wanted)
    eager = [each.op for each in reports[-1].placements if each.place == "eager"]
    assert eager.count("aten.cat") == 2


def heads(m=3, s=5, kvh=2, d=8):
    return rand(1, 2, m, d), rand(1, kvh, s, d), rand(1, kvh, s, d)


HIDDEN = torch.tensor([[True, False, True, True, False]] * 3)
HIDDEN[1] = False
FAR = (torch.arange(300) % 7 > 2)[None]
CALLS = {
    "plain": (heads(), {}),
    "scaled": (heads(), {"scale": 0.3}),
    "causal": (heads(5), {"is_causal": True}),
    "causal, with keys that nobody sees": (heads(3), {"is_causal": True}),
    "causal, with keys that all see": (heads(7), {"is_causal": True}),
    "truth values": (heads(), {"attn_mask": HIDDEN}),
    "numbers": (heads(), {"attn_mask": rand(2, 1, 5)}),
    "groups": (heads(kvh=1), {"enable_gqa": True}),
    "one query": (heads(1, 300), {}),
    "one query, keys hidden": (heads(1, 300), {"attn_mask": FAR}),
    "no batch": (tuple(each[0] for each in heads()), {}),
    "bytes apart": (tuple(rand(1, 5, 2, 8).transpose(1, 2) for _ in range(3)), {}),
    "f32": (tuple(each.float() for each in heads()), {}),
    "wide": (heads(d=257), {}),
}
LEFT = ("causal, with keys that all see", "f32", "wide")


@pytest.mark.parametrize("title", CALLS)
def test_attention(title):
    operands, keywords = CALLS[title]

    def model(*operands):
        return torch_functions.scaled_dot_product_attention(*operands, **keywords)

    assert ("attention" in kernels(model, *operands)) == (title not in LEFT)


TRAINED = ("causal, with keys that nobody sees", "groups", "truth values")


@pytest.mark.parametrize("title", TRAINED)
def test_gradients_of_attention(title):
    operands, keywords = CALLS[title]
    operands = tuple(each.detach().clone().requires_grad_() for each in operands)

    class Model(torch.nn.Module):
        def forward(self, *operands):
            call = torch_functions.scaled_dot_product_attention
            return call(*operands, **keywords)

    left = trained(Model(), *operands)
    assert not [name for name in left if "attention" in name]


def test_what_has_no_kernel_says_why():
    def model(q, k, v):
        return torch_functions.scaled_dot_product_attention(q, k, v, dropout_p=0.5)

    torch._dynamo.reset()
    report = wave_torch.explain(model, *heads())
    (found,) = report.placed("graph")
    assert (found.op, found.detail) == ("scaled_dot_product_attention", "dropout")
    assert "f16[1, 2, 3, 8]  graph  dropout" in str(report)


NORMS = {
    "no weight": lambda x: torch_functions.layer_norm(x, (6,)),
    "no bias": lambda x: torch_functions.layer_norm(x, (6,), x[0, 0], eps=0.1),
    "root mean square": lambda x: torch_functions.rms_norm(x, (6,)),
    "with its own eps": lambda x: torch_functions.rms_norm(x, (6,), x[0, 1], 0.1),
    "along columns": lambda x: x.softmax(0),
    "in f32": lambda x: x.softmax(-1, dtype=torch.float32),
}


@pytest.mark.parametrize("title", NORMS)
def test_rows(title):
    names = kernels(NORMS[title], rand(2, 3, 6))
    assert len({"layer_norm", "rms_norm", "softmax"} & set(names)) == 1


def test_a_norm_of_several_dimensions_is_torchs():
    def model(x):
        return torch_functions.layer_norm(x, (3, 6))

    assert kernels(model, rand(2, 3, 6)) == ["aten.native_layer_norm"]


def test_under_autocast():
    block, x = Block(), rand(2, 3, 16, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        near(compiled(block)(x), block(x), 2e-2)


def test_other_sizes():
    reports = []

    def model(x, w):
        return (x @ w).relu().softmax(-1)

    run = compiled(model, options={"report": reports.append}, dynamic=True)
    w = rand(4, 5)
    for rows in (2, 3, 7):
        x = rand(rows, 4)
        near(run(x, w), model(x, w))
    assert [each.phase for each in reports] == ["functions", "inference"]


@pytest.mark.fuzz
@pytest.mark.filterwarnings("default::DeprecationWarning")  # Inductor's own
def test_inductor_takes_the_rest():
    linear, x = torch.nn.Linear(4, 3).half(), rand(2, 4).requires_grad_()
    reports = []
    options = {"rest": "inductor", "report": reports.append}

    def model(x):
        return torch_functions.silu(linear(x).sin()).cos() * 2

    run = compiled(model, options=options)
    found, wanted = run(x), model(x)
    near(found, wanted)
    slopes = [torch.autograd.grad(y.sum(), [x])[0] for y in (found, wanted)]
    near(*slopes)
    gated, x = Gated().half(), rand(5, 8)
    with torch.no_grad():
        columns = compiled(lambda x: x.softmax(0).sin() * 2, options=options)
        near(columns(x), x.softmax(0).sin() * 2)
        near(compiled(gated, options=options)(x), gated(x))
    details = [each.detail for each in reports[-1].placements]
    assert details == ["swiglu with silu", "matmul"]


@pytest.mark.filterwarnings("default::DeprecationWarning")  # Inductor's own
@torch.no_grad()
def test_generated_code_calls_functions_and_not_operators():
    # Torch's dispatcher takes longer than a launch.
    model, x = (
        torch.nn.Sequential(Gated().half(), torch.nn.RMSNorm(8).half()),
        rand(5, 8),
    )
    found, code = run_and_get_code(compiled(model, options={"rest": "inductor"}), x)
    near(found, model(x))
    for name in ("swiglu", "matmul", "rms_norm"):
        assert f"extern_kernels.wave_{name}(" in code[0]
    assert "default(" not in code[0]


@pytest.mark.filterwarnings("default::DeprecationWarning")  # Inductor's own
def test_calls_are_asked_to_be_captured(monkeypatch):
    # Only a GPU captures; what Inductor is told is the same everywhere.
    from wave_torch import inductor  # It warns when it is imported.

    told, real = [], inductor.compile_fx_inner

    def listening(module, inputs, **said):
        asked = bool(said["cudagraphs"])  # It is set to false where nothing captures.
        assert config.triton.cudagraphs == asked
        told.append((asked, said))
        return real(module, inputs, **said)

    monkeypatch.setattr(inductor, "compile_fx_inner", listening)
    model, x = torch.nn.Linear(8, 3).half(), rand(5, 8).requires_grad_()
    options = {"rest": "inductor"}
    for mode in (None, "reduce-overhead"):
        made = partial(compile_graph, mode=mode)
        run = torch.compile(model, backend=made, options=options)
        near(run(x), model(x))
        slopes = [torch.autograd.grad(f(x).sum(), [x])[0] for f in (run, model)]
        near(*slopes)
    assert [asked for asked, _ in told] == [False, False, True, True]
    (forward, backward), (again, _) = (
        [said for _, said in told[at : at + 2]] for at in (0, 2)
    )
    assert forward["graph_id"] == backward["graph_id"] != again["graph_id"]
    # The parameters are never copied, nor what the forward graph saved.
    assert forward["static_input_idxs"] == [0, 1]
    assert backward["is_backward"]
    assert backward["static_input_idxs"] == [0, 1]

    with config.patch({"triton.cudagraphs": True}):
        run = torch.compile(model, backend=compile_graph, options=options)
        near(run(x), model(x))
    assert told[-1][0]


def test_what_runs_as_it_is_has_nothing_to_capture():
    x, w = rand(5, 8), rand(8, 3)
    near(torch.compile(torch.mm, backend="wave", mode="reduce-overhead")(x, w), x @ w)


@torch.no_grad()
def test_generated_code_has_tensors_as_operators_have_them():
    # Several results, types, and an operand that lies in another order.
    def model(x, w):
        x = torch.ops.wave.matmul(x, w, out_dtype=torch.float32)
        return torch.ops.wave.topk(x.mT, 2)

    given = (rand(5, 8), rand(6, 8).mT)
    found = compiled(model, options={"rest": "inductor"})(*given)
    for mine, wanted in zip(found, model(*given), strict=True):
        assert torch.equal(mine, wanted)
        assert mine.dtype == wanted.dtype


@pytest.mark.parametrize(
    ("device", "generates", "rest"),
    [("cuda", True, "inductor"), ("cuda", False, "eager"), ("cpu", True, "eager")],
)
def test_who_takes_the_rest(device, generates, rest, monkeypatch):
    monkeypatch.setattr(backend, "has_triton", lambda: generates)
    with FakeTensorMode():
        inputs = [torch.empty(2, device=device), 3]
    assert Options().on(inputs).rest == rest
    assert Options(rest="eager").on(inputs).rest == "eager"


@torch.no_grad()
def test_heads_of_one_product_are_read_as_they_lie():
    # Rotated queries and keys lie as the product does, and so does the result. Values
    # are a part of the product, whose copy the graph shows to Inductor.
    def model(x, turns):
        parts = x.unflatten(-1, (3, 2, -1)).unbind(2)
        q, k, v = (part.transpose(1, 2) for part in parts)
        q, k = q * turns + q, k * turns + k
        seen = torch_functions.scaled_dot_product_attention(q, k, v)
        return seen.transpose(1, 2).flatten(2)

    names = kernels(model, rand(2, 5, 3 * 2 * 16), rand(5, 16))
    assert names == ["chain of 2 ops", "chain of 2 ops", *COPIED, "attention"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"options": {"speed": 1}}, "WV0821"),
        ({"options": {"rest": "triton"}}, "WV0823"),
        ({"mode": "max-autotune"}, "WV0821"),
    ],
)
def test_options_that_do_not_exist(asked, code):
    with pytest.raises(BackendCompilerFailed, match=code):
        compiled(lambda x: x @ x, **asked)(rand(2, 2))


def test_the_name_comes_with_the_package(tmp_path, monkeypatch):
    points = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]
    (target,) = points["torch_dynamo_backends"].values()
    info = tmp_path / "installed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: installed\nVersion: 1\n")
    lines = f"[torch_dynamo_backends]\nwave = {target}\n"
    (info / "entry_points.txt").write_text(lines)
    monkeypatch.syspath_prepend(tmp_path)
    registry._discover_entrypoint_backends.cache_clear()
    registry._discover_entrypoint_backends()
    assert registry.lookup_backend("wave") is compile_graph


def forked(x):
    return x + 1, (x * 3).mT


def spread(x):
    """A norm by hand, with a value of rows that others read."""
    mean = x.mean(-1, keepdim=True)
    scale = ((x - mean).square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    return (x - mean) * scale + scale.sigmoid()


CHAINS = {
    "one kernel": (lambda x: x.sin() * 2 + x.neg(), ["chain of 4 ops"]),
    "a norm by hand": (spread, ["chain of 10 ops"]),
    "rows without their dimension": (
        lambda x: x.exp().sum(-1),
        ["chain of 2 ops"],
    ),
    "a row's value that is stored": (
        lambda x: (x + 1).amax(-1, keepdim=True) * x[..., :1],
        ["chain of 3 ops"],
    ),
    "truths": (
        lambda x: torch.where((x > 0) & (x < 1), x, x.abs() + 1),
        ["chain of 6 ops"],
    ),
    "several results": (
        lambda x: torch.matmul(*forked(x.cos())),
        ["chain of 3 ops", "matmul"],
    ),
    "types": (
        lambda x: (x.float() * 3).bfloat16().float().half() - 1,
        ["chain of 6 ops"],
    ),
    "arguments": (
        lambda x: torch_functions.hardtanh(x.clamp(max=2) * 4) ** 3 - x**-1,
        ["chain of 6 ops"],
    ),
    "a product between": (
        lambda x: (x.sin().cos() @ x.mT.contiguous()).sin().cos(),
        ["chain of 2 ops", "aten.clone", "matmul", "chain of 2 ops"],
    ),
    "around a product": (
        lambda x: x.sin().cos() + (x.sin().cos()[0] @ x[0].mT).sum(),
        ["chain of 2 ops", "matmul", "aten.sum", "chain of 3 ops"],
    ),
    "transposed": (lambda x: (x.mT + 1) * x.mT, ["chain of 2 ops"]),
    "rows alone": (lambda x: x.mean(-1), ["fold of rows"]),
    "columns": (lambda x: x.sum(0), ["column_sums"]),
    "columns of all rows": (lambda x: x.sum((0, 1), keepdim=True), ["column_sums"]),
    "all but channels": (lambda x: x.sum((0, 2)), ["fold of rows", "column_sums"]),
    "the middle": (lambda x: x.sum(1), ["aten.sum"]),
    "everything": (lambda x: x.sum(), ["aten.sum"]),
    "whole numbers": (
        lambda x: (torch.arange(4) + 1) * 2 + x,
        ["aten.arange", "aten.add", "aten.mul", "aten.add"],
    ),
}


@pytest.mark.parametrize("title", CHAINS)
def test_chains(title):
    model, wanted = CHAINS[title]
    assert kernels(model, rand(2, 3, 4)) == wanted


def test_arguments_that_are_changed():
    def model(x, y):
        x.mul_(2)
        y[0] = x[0].sin() + 1
        x.add_(y)
        return (x + y).cos() * 2

    given = [rand(3, 4, dtype=torch.float32) for _ in range(2)]
    copies = [each.clone() for each in given]
    near(compiled(model)(*given), model(*copies), 1e-5)
    for found, wanted in zip(given, copies, strict=True):
        near(found, wanted, 1e-5)


def test_what_is_in_no_chain_says_why():
    def model(x):
        return x.sin() @ x, x.amax(0), x.double().sin(), x**2.5

    torch._dynamo.reset()
    report = wave_torch.explain(model, rand(4, 4))
    assert {(p.op, p.detail) for p in report.placed("eager")} == {
        ("aten.sin", "one op alone"),
        ("aten.amax", "not the last dimension is folded"),
        ("aten._to_copy", "no kernel is of f64"),
        ("aten.sin", "no kernel is of f64"),
        ("aten.pow", "the power 2.5"),
    }


STEPS = (
    lambda a, b: a + b,
    lambda a, _: a.tanh(),
    lambda a, b: a * b.sigmoid(),
    lambda a, b: a - b.mean(-1, keepdim=True),
    lambda a, b: torch.where(a > b, a, b),
    lambda a, b: (a @ b).tanh(),
    lambda a, _: (a.mT + 1).tanh(),
    lambda a, b: a.amax(-1, keepdim=True) * b.reshape(-1, 4).sum(-1)[:1],
)


def grown(generator, steps):
    """A random program of elements, rows and products."""
    plan = torch.randint(len(STEPS), (steps, 3), generator=generator).tolist()

    def model(x):
        values = [x, x.mT.contiguous()]
        for step, first, second in plan:
            a, b = (values[-1 - at % len(values)] for at in (first, second))
            values.append(STEPS[step](a, b).expand(4, 4))
        return values[-1], values[-2] + values[-3]

    return model


def check_grown(seed):
    model = grown(torch.Generator().manual_seed(seed), 12)
    x = rand(4, 4, dtype=torch.float32)
    for found, wanted in zip(compiled(model)(x), model(x), strict=True):
        near(found, wanted, 1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_random_programs(seed):
    check_grown(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(2, 200))
def test_more_random_programs(seed):
    check_grown(seed)
