"""What torch promised of a result before a kernel computes it: layout, type, sizes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as torch_functions

from wave_torch.backend import compile_graph


def compiled(function, **keywords):
    torch._dynamo.reset()
    return torch.compile(function, backend=compile_graph, fullgraph=True, **keywords)


def same(found, wanted):
    assert (found.dtype, found.stride()) == (wanted.dtype, wanted.stride())
    torch.testing.assert_close(found, wanted, atol=1e-2, rtol=1e-2)


ROWS = torch.randn(3, 4)
IMAGES = torch.randn(2, 4, 6)

LAID = {
    "a chain of what lies otherwise": lambda x: x.mT.exp() * x.mT.contiguous(),
    "a chain that nobody turns back": lambda x: (x.mT + 1).contiguous().sin().cos(),
    "values of rows": lambda x: (x.exp() * 2).mean(-1, keepdim=True).cos().mT,
    "a residual that lies otherwise": lambda x: x @ x.mT + (x @ x.mT).mT,
    "one number": lambda x: x.sum().sin().cos(),
    "rows along columns": lambda x: x.mT.softmax(0),
    "a copy of what is spread": lambda x: x.sin().sum(0).expand(5, 4).clone() @ x.mT,
}


@pytest.mark.parametrize("title", LAID)
def test_results_lie_as_torchs(title):
    same(compiled(LAID[title])(ROWS), LAID[title](ROWS))


def test_ops_get_what_they_were_chosen_for():
    # Torch's own norm of groups asks for rows behind each other.
    layer = torch.nn.Conv1d(4, 4, 3)

    def model(x):
        found = layer(x.reshape(-1, 4).T.unsqueeze(0))
        return torch_functions.group_norm(found.sin() * 2, 1)

    x = torch.randn(6, 4)
    same(compiled(model)(x), model(x))


def test_views_of_results_work_as_in_torch():
    layer = torch.nn.Conv1d(4, 4, 3, padding=1)

    def model(x):
        return layer(x.mT.contiguous().mT).relu()

    found = compiled(model)(IMAGES)
    assert found.view(2, -1).shape == model(IMAGES).view(2, -1).shape


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_of_open_sizes(transposed):
    layer = (torch.nn.ConvTranspose1d if transposed else torch.nn.Conv1d)(
        4, 4, 3, stride=2, padding=1, dilation=2
    )
    run = compiled(layer, dynamic=True)
    for size in (6, 9):
        found = [torch.randn(2, 4, size).requires_grad_() for _ in range(2)]
        with torch.no_grad():
            found[1].copy_(found[0])
        results = run(found[0]), layer(found[1])
        same(*results)
        slopes = [
            torch.autograd.grad(y.square().sum(), [x, layer.weight])
            for x, y in zip(found, results, strict=True)
        ]
        for each, wanted in zip(*slopes, strict=True):
            same(each, wanted)


def test_causal_attention_of_open_sizes():
    def model(q, k, v):
        call = torch_functions.scaled_dot_product_attention
        return call(q, k, v, is_causal=True)

    run = compiled(model, dynamic=True)
    for queries, keys in ((3, 5), (4, 7)):
        q, *kv = (torch.randn(1, 2, n, 8).half() for n in (queries, keys, keys))
        same(run(q, *kv).contiguous(), model(q, *kv).contiguous())


def test_norms_without_weights_of_open_sizes():
    run = compiled(lambda x: torch_functions.rms_norm(x, x.shape[-1:]), dynamic=True)
    for size in (4, 7):
        x = torch.randn(3, size)
        same(run(x), torch_functions.rms_norm(x, x.shape[-1:]))


@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # Torch's own
@pytest.mark.parametrize("norm", [torch.nn.LayerNorm, torch.nn.RMSNorm])
def test_norms_under_autocast_have_torchs_type(norm):
    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), norm(4))
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        found, wanted = compiled(layers)(ROWS), layers(ROWS)
    assert found.dtype == wanted.dtype
    torch.testing.assert_close(found, wanted, atol=3e-2, rtol=3e-2)
