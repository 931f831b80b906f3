"""The functions on tensors of the CPU, against torch in f64; what they refuse."""

from __future__ import annotations

import doctest
import inspect
from functools import partial

import pytest
import torch
import torch.nn.functional as torch_functions
from torch.utils._python_dispatch import TorchDispatchMode

from wave_core.compile import WaveKernel
from wave_core.diagnostics import LaunchError, UserError
from wave_kernels import functions
from wave_kernels.functions import (
    attention,
    column_sums,
    cumsum,
    gated_activation,
    group_tokens,
    layer_norm,
    matmul,
    quantize_rows,
    rms_norm,
    rotary_embedding,
    softmax,
    swiglu,
    topk,
)
from wave_kernels.functions.rows import LONGEST

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
ULP = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
ROWS = [
    *((1,), (0, 4), (4, 0), (3, 31), (2, 3, 64), (5, 65), (3, 1000)),
    *((1, LONGEST), (1, LONGEST + 1)),
]
SIZES = [
    *((1, 1, 1), (13, 17, 19), (64, 64, 64), (65, 63, 33), (0, 4, 5), (4, 0, 5)),
    (4, 5, 0),
]
ACTIVATIONS = {
    "": lambda x: x,
    "relu": torch_functions.relu,
    "gelu": torch_functions.gelu,
    "silu": torch_functions.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def random(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype)


def near(found, wanted, accuracy, scale=None):
    assert found.shape == wanted.shape
    if not wanted.numel():
        return
    size = wanted.abs().max() if scale is None else scale
    limit = (accuracy + ULP[found.dtype]) * size
    assert (found.double() - wanted).abs().max() <= limit


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("dtype", FLOATS)
class TestRows:
    def test_softmax(self, dtype, shape):
        x = random(*shape, dtype=dtype)
        near(softmax(x), x.double().softmax(-1), 1e-5)

    def test_rms_norm(self, dtype, shape):
        x, w = random(*shape, dtype=dtype), random(shape[-1], dtype=dtype)
        wide = x.double()
        root = (wide.square().mean(-1, keepdim=True) + 1e-3).sqrt()
        near(rms_norm(x, w, eps=1e-3), wide / root * w.double(), 1e-5)

    def test_layer_norm(self, dtype, shape):
        x = random(*shape, dtype=dtype) + 1
        w, b = (random(shape[-1], dtype=dtype) for _ in range(2))
        found = layer_norm(x, w, b)
        if not x.numel():
            assert found.shape == x.shape
            return
        wide = (x.double(), shape[-1:], w.double(), b.double())
        near(found, torch_functions.layer_norm(*wide), 1e-5)


@pytest.mark.parametrize(
    "shape", [(3,), (1, 1), (2, 3, 129), (31, 5), (64, 3), (97, 2)]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_column_sums(dtype, shape):
    x = random(*shape, dtype=dtype)
    wide = x.double().view(-1, shape[-1])
    most = wide.abs().sum(0).max()
    near(column_sums(x), wide.sum(0), 1e-5, most)
    near(column_sums(x, out_dtype=torch.float32), wide.sum(0), 1e-5, most)


def test_column_sums_of_nothing():
    out = torch.full((4,), torch.nan)
    assert column_sums(torch.zeros(0, 4), out=out) is out
    assert torch.equal(out, torch.zeros(4))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_products(dtype, sizes):
    m, n, k = sizes
    a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
    wanted, scale = a.double() @ b.double(), (a.abs() @ b.abs()).double()
    near(matmul(a, b), wanted, 1e-3, scale.max() if scale.numel() else None)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_finished_products(activation, bias, residual):
    a, b = random(2, 3, 5, 16), random(16, 12)
    more = {"bias": random(12)} if bias else {}
    sums = a.double() @ b.double() + (more["bias"].double() if bias else 0.0)
    wanted = ACTIVATIONS[activation](sums)
    if residual:
        more["residual"] = random(2, 3, 5, 12)
        wanted = wanted + more["residual"].double()
    found = matmul(a, b, activation=activation, **more)
    near(found, wanted, 1e-3, 16.0)


@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_transposed_views_and_leading_dimensions(lead, turned):
    a = random(*lead, 16, 20).mT if turned[0] else random(*lead, 20, 16)
    b = random(*lead, 12, 16).mT if turned[1] else random(*lead, 16, 12)
    near(matmul(a, b), a.double() @ b.double(), 1e-3, 16.0)


@pytest.mark.covering(1)
@pytest.mark.parametrize("activation", [name for name in ACTIVATIONS if name])
@pytest.mark.parametrize("turned", [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1)])
@pytest.mark.parametrize("lead", [(1,), (64,), (65,), (2, 31), (), (0,)])
@pytest.mark.parametrize(
    "sizes", [(1, 1), (63, 33), (64, 64), (65, 16), (0, 5), (5, 0)]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_gated_products(dtype, sizes, lead, turned, activation):
    k, n = sizes
    shapes = (*lead, k), (k, n), (k, n)
    x, *weights = (
        random(*shape[:-2], *shape[:-3:-1], dtype=dtype).mT
        if each and len(shape) > 1
        else random(*shape, dtype=dtype)
        for shape, each in zip(shapes, turned, strict=True)
    )
    gates, ups = (x.double() @ each.double() for each in weights)
    out = torch.full((*lead, n), torch.nan, dtype=dtype)
    assert swiglu(x, *weights, activation=activation, out=out) is out
    near(out, ACTIVATIONS[activation](gates) * ups, 1e-3)


class Calls(TorchDispatchMode):
    """The operators of torch that are called."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(operator.name())
        return operator(*args, **(kwargs or {}))


def test_weights_are_not_copied():
    a, b, many = random(3, 16), random(8, 16), random(2, 8, 16)
    starts = torch.tensor([0, 1, 3], dtype=torch.int32)
    layer = (random(2, 16), many, random(2, 16, 4))
    with Calls() as calls:
        matmul(a, b.mT)
        functions.grouped_matmul(a, many.mT, starts)
        functions.moe(a, *layer, 1)
    assert "aten::clone" not in calls.names


def test_tensors_with_gaps_are_read_as_they_are():
    a, x = random(20, 32)[::2, ::2], random(6, 40)[:, 3:30]
    near(softmax(x), x.double().softmax(-1), 1e-5)
    near(matmul(a, a.mT), a.double() @ a.double().mT, 1e-3, 64.0)


def test_tensors_that_start_anywhere_are_read(monkeypatch):
    starts = []
    call = WaveKernel.__call__

    def recorded(kernel, *arguments):
        starts.extend(each.data_ptr() % 16 for each in arguments)
        call(kernel, *arguments)

    monkeypatch.setattr(WaveKernel, "__call__", recorded)
    x = random(3, 5)
    near(softmax(x[1]), x[1].double().softmax(-1), 1e-5)
    assert starts == [0, 0]
    assert x[1].data_ptr() % 16


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_operands_of_one_byte_give_bfloat16(dtype):
    a, b = random(20, 32, dtype=dtype), random(8, 32, dtype=dtype).mT
    wanted = a.double() @ b.double()
    near(matmul(a, b), wanted, 1e-3, 128.0)
    assert matmul(a, b).dtype == torch.bfloat16
    near(matmul(a, b, out_dtype=torch.float32), wanted, 1e-3, 128.0)


def test_a_result_is_written_in_place():
    a, b, out = random(5, 7), random(7, 3), torch.full((5, 3), torch.nan)
    assert matmul(a, b, out=out) is out
    torch.testing.assert_close(out, a @ b, rtol=1e-4, atol=1e-4)
    x = random(4, 9)
    wanted = x.softmax(-1)
    assert softmax(x, out=torch.empty(4, 9)).allclose(wanted)


def test_rows_that_are_no_numbers():
    x = random(4, 10)
    x[0, 3], x[1, 4], x[2], x[3, :9] = torch.nan, torch.inf, -torch.inf, -torch.inf
    torch.testing.assert_close(softmax(x), x.softmax(-1), equal_nan=True)


SQUARE = torch.zeros(4, 4)
HEADS = [torch.zeros(1, 2, 4, 8, dtype=torch.float16)] * 3
ROTATED = torch.ones(1, 1, 4), torch.ones(1, 2), torch.ones(1, 2)
REFUSED = [
    ("WV0704", lambda: softmax([1.0])),
    ("WV0704", lambda: softmax(SQUARE.to_sparse())),
    ("WV0704", lambda: matmul(SQUARE, None)),
    ("WV0704", lambda: topk(SQUARE, 1.5)),
    ("WV0704", lambda: topk(SQUARE, torch.tensor([1, 2]))),
    ("WV0704", lambda: cumsum(SQUARE, reverse="no")),
    ("WV0704", lambda: rotary_embedding(*ROTATED, interleaved=[])),
    ("WV0704", lambda: attention(*HEADS, window="near")),
    ("WV0704", lambda: attention(*HEADS, scale=torch.zeros(2))),
    ("WV0704", lambda: attention(*HEADS, causal=[])),
    ("WV0704", lambda: rms_norm(SQUARE, SQUARE[0], eps="small")),
    ("WV0705", lambda: matmul(SQUARE, SQUARE, out_dtype=0)),
    ("WV0705", lambda: quantize_rows(SQUARE, "int8")),
    ("WV0707", lambda: topk(SQUARE, 5)),
    ("WV0707", lambda: attention(*HEADS, layout=["bhsd"])),
    ("WV0707", lambda: attention(*HEADS, softcap=float("nan"))),
    ("WV0705", lambda: softmax(SQUARE.double())),
    ("WV0708", lambda: group_tokens(torch.zeros(3, 2, device="meta").int(), 4)),
    ("WV0705", lambda: matmul(SQUARE, SQUARE.half())),
    ("WV0705", lambda: matmul(SQUARE, SQUARE, out_dtype=torch.int8)),
    ("WV0705", lambda: rms_norm(SQUARE, torch.zeros(4).half())),
    ("WV0705", lambda: softmax(SQUARE, out=SQUARE.half())),
    ("WV0705", lambda: column_sums(SQUARE, out_dtype=torch.int8)),
    ("WV0706", lambda: column_sums(torch.tensor(1.0))),
    ("WV0706", lambda: softmax(torch.tensor(1.0))),
    ("WV0706", lambda: matmul(torch.zeros(4), SQUARE)),
    ("WV0706", lambda: swiglu(torch.tensor(1.0), SQUARE, SQUARE)),
    ("WV0706", lambda: swiglu(SQUARE, torch.zeros(4), SQUARE)),
    ("WV0707", lambda: swiglu(SQUARE, torch.zeros(3, 4), torch.zeros(3, 4))),
    ("WV0707", lambda: swiglu(SQUARE, SQUARE, torch.zeros(4, 3))),
    ("WV0705", lambda: swiglu(SQUARE, SQUARE, SQUARE.half())),
    ("WV0712", lambda: swiglu(SQUARE, SQUARE, SQUARE, out=SQUARE)),
    ("WV0707", lambda: matmul(SQUARE, torch.zeros(3, 4))),
    ("WV0707", lambda: matmul(SQUARE, torch.zeros(4))),
    ("WV0707", lambda: matmul(torch.zeros(2, 4, 4), torch.zeros(3, 4, 4))),
    ("WV0707", lambda: matmul(SQUARE, SQUARE, bias=torch.zeros(3))),
    ("WV0707", lambda: matmul(SQUARE, SQUARE, residual=torch.zeros(4))),
    ("WV0707", lambda: softmax(SQUARE, out=torch.zeros(4, 5))),
    ("WV0708", lambda: matmul(SQUARE, SQUARE.to("meta"))),
    ("WV0709", lambda: softmax(SQUARE, out=torch.zeros(4, 4).mT)),
    ("WV0712", lambda: matmul(SQUARE, SQUARE, out=SQUARE)),
    ("WV0714", lambda: softmax(torch.zeros(4, requires_grad=True))),
]


@pytest.mark.parametrize(("code", "call"), REFUSED)
def test_what_does_not_fit_is_refused_at_the_call(code, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert "test_functions.py" in str(raised.value)


def test_an_unknown_activation_is_refused():
    with pytest.raises(UserError, match="it is one of relu, gelu"):
        matmul(SQUARE, SQUARE, activation="sine")
    with pytest.raises(UserError, match="it is one of relu, gelu"):
        matmul(SQUARE, SQUARE, activation=[])
    with pytest.raises(UserError, match="it is one of relu, gelu"):
        gated_activation(SQUARE, ["relu"])
    with pytest.raises(UserError, match="it is one of relu, gelu"):
        swiglu(SQUARE, SQUARE, SQUARE, activation="")


@pytest.mark.parametrize("name", functions.__all__)
def test_examples(name):
    function = getattr(functions, name)
    page = doctest.DocTestParser().get_doctest(
        inspect.getdoc(function), {}, name, None, 0
    )
    assert page.examples
    assert doctest.DocTestRunner().run(page).failed == 0


def crooked(rows, columns):
    """A matrix of numbers that begins between multiples of 16 bytes."""
    return random(rows * columns + 1, dtype=torch.float16)[1:].view(rows, columns)


def test_kernels_see_no_memory_that_a_gpu_cannot_address(monkeypatch):
    addresses = []

    def call(kernel, *arguments):
        addresses.extend(each.data_ptr() for each in arguments)
        return run(kernel, *arguments)

    run = WaveKernel.__call__
    monkeypatch.setattr(WaveKernel, "__call__", call)
    a, b, c = crooked(5, 6), crooked(6, 7), crooked(5, 7)
    assert matmul(a, b, out=c) is c
    near(c, a.double() @ b.double(), 1e-3, (a.double().abs() @ b.double().abs()).max())
    assert addresses
    assert not [each for each in addresses if each % 16]


def dual(function, x):
    with torch.autograd.forward_ad.dual_level():
        return function(torch.autograd.forward_ad.make_dual(x, x))


TRANSFORMS = {
    "vmap": ("WV0704", torch.vmap(softmax)),
    "grad": ("WV0704", torch.func.grad(lambda x: softmax(x).sum())),
    "jvp": ("WV0704", lambda x: torch.func.jvp(softmax, (x,), (x,))),
    "dual tensors": ("WV0714", lambda x: dual(softmax, x)),
    "dual tensors among others": ("WV0714", lambda x: dual(partial(matmul, x), x.mT)),
}


@pytest.mark.filterwarnings("ignore:.torch.jit.script.:DeprecationWarning")
@pytest.mark.parametrize("title", TRANSFORMS)
def test_transforms_of_torch_are_refused(title):
    code, function = TRANSFORMS[title]
    with pytest.raises(LaunchError) as caught:
        function(random(3, 4))
    assert caught.value.code == code
