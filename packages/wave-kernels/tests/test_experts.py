"""Mixtures of experts on tensors of the CPU, against f64; what is refused."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as torch_functions

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import (
    combine_tokens,
    group_tokens,
    grouped_swiglu,
    moe,
    route_tokens,
)
from wave_kernels.functions.experts import MOST_CHOICES, MOST_EXPERTS

ACCURACY = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def scores_of(logits, scores):
    wide = logits.double()
    return wide.softmax(-1) if scores == "softmax" else wide.sigmoid()


def routed(logits, top_k, scores, *, normalised):
    weights, experts = scores_of(logits, scores).topk(top_k)
    total = weights.sum(-1, keepdim=True) if normalised else 1.0
    return weights / total, experts


@pytest.mark.covering(1)
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("scores", ["softmax", "sigmoid"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 8, 8), (3, 70, 6), (0, 4, 2)])
def test_routes(shape, scores, normalised):
    tokens, experts, top_k = shape
    logits = 3 * torch.randn(tokens, experts)
    found = route_tokens(logits, top_k, scores=scores, normalised=normalised)
    weights, numbers = routed(logits, top_k, scores, normalised=normalised)
    assert torch.equal(found.experts.long(), numbers)
    torch.testing.assert_close(found.weights.double(), weights, rtol=1e-5, atol=0)


def test_routes_among_the_most_there_can_be():
    rows = [torch.randperm(MOST_EXPERTS) for _ in range(2)]
    logits = torch.stack(rows) / 100
    found = route_tokens(logits, MOST_CHOICES)
    weights, numbers = routed(logits, MOST_CHOICES, "softmax", normalised=True)
    assert torch.equal(found.experts.long(), numbers)
    torch.testing.assert_close(found.weights.double(), weights, rtol=1e-5, atol=0)


def test_logits_that_are_no_numbers_or_equal():
    logits = torch.zeros(3, 4)
    logits[1, 2], logits[2, 1] = torch.nan, -torch.inf
    weights, experts = route_tokens(logits, 2)
    assert experts.tolist() == [[0, 1], [2, 0], [0, 2]]
    assert weights[0].tolist() == weights[2].tolist() == [0.5, 0.5]
    assert weights[1].isnan().all()


def check_groups(experts, groups):
    tokens, places, starts = group_tokens(experts, groups)
    order = experts.flatten().sort(stable=True).indices
    assert torch.equal(tokens.long(), order // experts.shape[1])
    assert torch.equal(order[places.flatten().long()], torch.arange(experts.numel()))
    counts = torch.bincount(experts.flatten(), minlength=groups)
    assert starts[0] == 0
    assert torch.equal(starts[1:].long(), counts.cumsum(0))


@pytest.mark.parametrize("tokens", [0, 1, 341, 342, 1025])
def test_groups_of_tokens(tokens):
    """A wave looks at 1024 pairs at a time."""
    check_groups(torch.randint(9, (tokens, 3), dtype=torch.int32), 9)


def test_all_tokens_of_one_expert():
    for expert, groups in ((0, 1), (0, 5), (4, 5), (2, 5)):
        check_groups(torch.full((40, 2), expert, dtype=torch.int32), groups)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", ACCURACY)
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 1025), (0, 2, 8), (3, 2, 0)])
def test_weighted_sums(shape, dtype):
    tokens, choices, n = shape
    rows = torch.randn(tokens * choices, n).to(dtype)
    places = torch.randperm(tokens * choices).int().view(tokens, choices)
    weights = torch.rand(tokens, choices)
    out = torch.full((tokens, n), torch.nan, dtype=dtype)
    found = combine_tokens(rows, places, weights, out=out)
    wanted = (weights.double()[..., None] * rows.double()[places.long()]).sum(1)
    assert found is out
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=ACCURACY[dtype])


def test_no_choices_are_zero():
    none = torch.zeros(3, 0)
    assert (
        combine_tokens(torch.ones(2, 4), none.int(), none).tolist() == [[0.0] * 4] * 3
    )


def layer(experts, hidden, width, dtype=torch.float32):
    """Router, gate and up, down; of a size that keeps results near 1."""
    shapes = (experts, width), (experts, 2 * hidden, width), (experts, width, hidden)
    return [(torch.randn(s) / max(s[-1], 1) ** 0.5).to(dtype) for s in shapes]


def mixed(x, router, gate_up, down, top_k, scores="softmax", normalised=True):
    """Expert by expert, in f64."""
    x, gate_up, down = x.double(), gate_up.double(), down.double()
    logits = x @ router.double().T
    weights, experts = routed(logits, top_k, scores, normalised=normalised)
    total = torch.zeros_like(x)
    for number, (first, second) in enumerate(zip(gate_up, down, strict=True)):
        gate, up = (x @ first.T).chunk(2, -1)
        weight = (weights * (experts == number)).sum(-1, keepdim=True)
        total += weight * ((torch_functions.silu(gate) * up) @ second.T)
    return total


def check_layer(x, weights, top_k, **options):
    out = torch.full_like(x, torch.nan)
    found = moe(x, *weights, top_k, out=out, **options)
    wanted = mixed(x, *weights, top_k, **options)
    assert found is out
    limit = ACCURACY[x.dtype] * max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=limit)


@pytest.mark.parametrize("tokens", [1, 65])
def test_tokens_of_experts(tokens):
    check_layer(torch.randn(tokens, 24), layer(7, 20, 24), 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_types(dtype):
    """Logits far apart, so that rounding sends no token elsewhere."""
    weights = layer(4, 17, 16, dtype)
    weights[0] = 4 * torch.eye(4, 16, dtype=dtype)
    x = torch.randn(33, 16).to(dtype)
    x[:, :4] = torch.stack([torch.randperm(4) for _ in range(33)])
    check_layer(x, weights, 2)


def test_one_expert_and_every_expert():
    check_layer(torch.randn(5, 8), layer(1, 3, 8), 1)
    check_layer(torch.randn(2, 3, 8), layer(4, 3, 8), 4, scores="sigmoid")
    check_layer(torch.randn(8), layer(4, 1, 8), 2, normalised=False)


def test_all_tokens_go_to_one_expert():
    weights = layer(5, 9, 8)
    weights[0] = torch.zeros(5, 8)
    weights[0][3] = 1.0
    check_layer(torch.rand(40, 8), weights, 1)


def test_no_tokens():
    assert moe(torch.randn(2, 0, 8), *layer(2, 3, 8), 1).shape == (2, 0, 8)
    assert moe(torch.randn(2, 0), *layer(2, 3, 0), 1).shape == (2, 0)


def test_a_layer_without_hidden_channels():
    assert not moe(torch.randn(3, 8), *layer(2, 0, 8), 1).any()


LOGITS = torch.zeros(3, 4)
EXPERTS = torch.zeros(3, 2, dtype=torch.int32)
WEIGHTS = torch.zeros(3, 2)
STARTS = torch.tensor([0, 3], dtype=torch.int32)
X, ROUTER, GATE_UP, DOWN = (
    LOGITS,
    torch.zeros(2, 4),
    torch.zeros(2, 6, 4),
    torch.zeros(2, 4, 3),
)
REFUSED = [
    ("WV0705", "logits", lambda: route_tokens(LOGITS.double(), 2)),
    ("WV0706", "logits", lambda: route_tokens(LOGITS[0], 2)),
    ("WV0707", "top_k", lambda: route_tokens(LOGITS, 5)),
    ("WV0707", "top_k", lambda: route_tokens(LOGITS, 0)),
    ("WV0707", "top_k", lambda: route_tokens(torch.zeros(3, 99), 33)),
    ("WV0707", "route_tokens", lambda: route_tokens(torch.zeros(3, 1025), 2)),
    ("WV0707", "scores", lambda: route_tokens(LOGITS, 2, scores="relu")),
    ("WV0714", "logits", lambda: route_tokens(LOGITS.clone().requires_grad_(), 2)),
    ("WV0705", "experts", lambda: group_tokens(EXPERTS.long(), 2)),
    ("WV0706", "experts", lambda: group_tokens(EXPERTS[0], 2)),
    ("WV0707", "groups", lambda: group_tokens(EXPERTS, 0)),
    ("WV0707", "experts", lambda: group_tokens(EXPERTS + 2, 2)),
    ("WV0707", "experts", lambda: group_tokens(EXPERTS - 1, 2)),
    ("WV0706", "rows", lambda: combine_tokens(LOGITS[0], EXPERTS, WEIGHTS)),
    ("WV0705", "places", lambda: combine_tokens(LOGITS, EXPERTS.long(), WEIGHTS)),
    ("WV0707", "places", lambda: combine_tokens(LOGITS, EXPERTS + 3, WEIGHTS)),
    ("WV0707", "weights", lambda: combine_tokens(LOGITS, EXPERTS, WEIGHTS[:1])),
    ("WV0705", "weights", lambda: combine_tokens(LOGITS, EXPERTS, WEIGHTS.half())),
    ("WV0707", "b", lambda: grouped_swiglu(LOGITS, torch.zeros(1, 4, 3), STARTS)),
    (
        "WV0707",
        "starts",
        lambda: grouped_swiglu(LOGITS, torch.zeros(1, 4, 2), STARTS - 1),
    ),
    ("WV0707", "router", lambda: moe(X, ROUTER[:, 1:], GATE_UP, DOWN, 1)),
    ("WV0707", "gate_up", lambda: moe(X, ROUTER, GATE_UP[:, 1:], DOWN, 1)),
    ("WV0707", "down", lambda: moe(X, ROUTER, GATE_UP, DOWN[:1], 1)),
    ("WV0705", "down", lambda: moe(X, ROUTER, GATE_UP, DOWN.half(), 1)),
    ("WV0706", "down", lambda: moe(X, ROUTER, GATE_UP, DOWN[0], 1)),
    ("WV0707", "top_k", lambda: moe(X, ROUTER, GATE_UP, DOWN, 3)),
    ("WV0707", "scores", lambda: moe(X, ROUTER, GATE_UP, DOWN, 1, scores="tanh")),
    ("WV0707", "out", lambda: moe(X, ROUTER, GATE_UP, DOWN, 1, out=X[:1])),
]


@pytest.mark.parametrize(("code", "name", "call"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(code, name, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
    assert "test_experts.py" in str(raised.value)
