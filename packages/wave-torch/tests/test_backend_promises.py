"""What torch promised of a result before a kernel computes it: layout, type, sizes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as torch_functions
from torch.utils.checkpoint import checkpoint

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


WORDS = {
    "truths added": lambda x: ((x > 0) + (x < 1)).logical_not(),
    "truths multiplied": lambda x: ((x > 0) * (x < 1)) | (x > 2),
    "truths chosen": lambda x: torch.where(x > 0, x < 1, x > -1),
    "truths filled": lambda x: (x > 0).masked_fill(x < 1, True),
    "the greater truth": lambda x: torch.maximum(x > 0, x < 1) & (x < 2),
    "a factor of what is subtracted": lambda x: torch.rsub(x, x * 2, alpha=3) * 2,
    "a factor of what is added": lambda x: torch.add(x, x > 0, alpha=2).neg(),
    "a rounded number": lambda x: (x * torch.full((), 0.1).bfloat16()).neg(),
    "a number that is cut off": lambda x: (x + torch.full((), 2.7, dtype=int)) * 2,
}


@pytest.mark.parametrize("title", WORDS)
def test_arguments_of_elements_mean_what_torch_means(title):
    found, wanted = compiled(WORDS[title])(ROWS), WORDS[title](ROWS)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dynamic", [None, True])
def test_halves_of_open_rows(dynamic):
    def model(x):
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1) * x + 1

    same(compiled(model, dynamic=dynamic)(ROWS), model(ROWS))


def test_the_gradient_of_one_number():
    x = torch.tensor(2.0, requires_grad=True)
    (slope,) = torch.autograd.grad(compiled(lambda x: x.softmax(0) * x)(x), x)
    same(slope, torch.tensor(1.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_least_number_of_a_wider_mask_hides_no_row(dtype):
    # A row of padding, as models write it under autocast.
    mask = torch.zeros(3, 3)
    mask[0, 1:], mask[2] = torch.finfo(torch.float32).min, -torch.inf
    mask[1] = torch.finfo(torch.float32).min
    # Equal scores, which f16 would keep apart where f32 does not.
    q, v = torch.zeros(1, 2, 3, 8, dtype=dtype), torch.randn(1, 2, 3, 8).to(dtype)

    def model(q, v):
        call = torch_functions.scaled_dot_product_attention
        return call(q, q, v, attn_mask=mask)

    same(compiled(model)(q, v).contiguous(), model(q, v).contiguous())


def layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8))


def test_a_checkpoint_around_a_compiled_model():
    model = layers()
    run = compiled(model)
    x, y = (ROWS.clone().requires_grad_() for _ in range(2))
    checkpoint(run, x, use_reentrant=False).square().sum().backward()
    model(y).square().sum().backward()
    same(x.grad, y.grad)


def test_gradients_of_each_sample():
    model = layers()
    parameters = dict(model.named_parameters())

    def loss(parameters, x):
        return torch.func.functional_call(model, parameters, (x,)).square().sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))
    found, wanted = compiled(each)(parameters, ROWS), each(parameters, ROWS)
    for name, slope in wanted.items():
        same(found[name], slope)


def test_threads_that_run_while_one_compiles():
    model = layers()
    run = compiled(model)

    def call(first):
        for size in range(first, first + 4):
            x = torch.randn(1 + size % 4, 4)
            same(run(x), model(x))

    with ThreadPoolExecutor(4) as threads:
        assert len(list(threads.map(call, range(4)))) == 4
