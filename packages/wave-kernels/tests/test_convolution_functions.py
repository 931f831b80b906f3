"""The functions of convolutions against torch in f64, and what they refuse."""

from __future__ import annotations

import pytest
import torch
from torch.nn.grad import (
    conv2d_input as input_in_torch,
    conv2d_weight as weight_in_torch,
)

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import conv1d, conv2d, conv2d_input, conv2d_weight

ULP = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
FORMATS = {"nchw": torch.contiguous_format, "nhwc": torch.channels_last}
# Channels, filters, their extents, and how they move.
SIZES = {
    "one element": (1, 1, (1, 1), {}),
    "a number for both axes": (3, 5, (3, 3), {"padding": 1, "stride": 2}),
    "numbers for each axis": (
        *(4, 6, (2, 3)),
        {"padding": (2, 1), "stride": (1, 3), "dilation": (2, 1), "groups": 2},
    ),
    "a filter a channel": (3, 3, (2, 2), {"groups": 3, "padding": 1}),
    "around a tile": (17, 31, (1, 1), {}),
}


def random(shape, dtype=torch.float32, order="nchw"):
    return torch.randn(shape).to(dtype, memory_format=FORMATS[order])


def near(found, wanted, magnitude):
    assert found.shape == wanted.shape
    limit = (1e-3 + ULP[found.dtype]) * float(magnitude.max())
    assert float((found.double() - wanted).abs().max()) <= limit


@pytest.mark.covering(1)
@pytest.mark.parametrize("filters", FORMATS)
@pytest.mark.parametrize("images", FORMATS)
@pytest.mark.parametrize("dtype", ULP)
@pytest.mark.parametrize("title", SIZES)
def test_convolutions_and_their_gradients(title, dtype, images, filters):
    c, nf, extents, moves = SIZES[title]
    x = random((2, c, 5, 7), dtype, images)
    weight = random((nf, c // moves.get("groups", 1), *extents), dtype, filters)
    bias = random(nf, dtype)
    wide = (x.double(), weight.double())
    sizes = tuple(map(abs, wide))

    wanted = torch.nn.functional.conv2d(*wide, bias.double(), **moves)
    found = conv2d(x, weight, bias, **moves)
    near(
        found, wanted, torch.nn.functional.conv2d(*sizes, bias.abs().double(), **moves)
    )
    assert found.is_contiguous(memory_format=FORMATS[images])

    grad = random(wanted.shape, dtype, images)
    slope = grad.double()
    near(
        conv2d_input(grad, weight, x.shape[2:], **moves),
        input_in_torch(x.shape, wide[1], slope, **moves),
        input_in_torch(x.shape, sizes[1], slope.abs(), **moves),
    )
    near(
        conv2d_weight(x, grad, extents, **moves),
        weight_in_torch(wide[0], weight.shape, slope, **moves),
        weight_in_torch(sizes[0], weight.shape, slope.abs(), **moves),
    )


@pytest.mark.covering(1)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ULP)
@pytest.mark.parametrize(
    "moves", [{}, {"stride": 2, "padding": 3}, {"dilation": 2, "groups": 2}], ids=str
)
def test_lines(moves, dtype, last):
    weight, bias = torch.randn(6, 4 // moves.get("groups", 1), 3), torch.randn(6)
    x = torch.randn(2, 9, 4).mT if last else torch.randn(2, 4, 9)
    x, weight, bias = (each.to(dtype) for each in (x, weight, bias))
    wide = x.double(), weight.double(), bias.double()
    wanted = torch.nn.functional.conv1d(*wide, **moves)
    size = torch.nn.functional.conv1d(*(each.abs() for each in wide), **moves)
    found = conv1d(x, weight, bias, **moves)
    near(found, wanted, size)
    assert (found.mT if last else found).is_contiguous()
    out = torch.full(wanted.shape, torch.nan, dtype=dtype)
    assert conv1d(x, weight, bias, out=out, **moves) is out
    near(out, wanted, size)


def test_an_image_with_gaps_is_read():
    x, weight = random((2, 4, 6, 8))[:, ::2, ::2], random((3, 2, 2, 2))
    wanted = torch.nn.functional.conv2d(x.double(), weight.double())
    near(conv2d(x, weight), wanted, torch.tensor(16.0))


def test_nothing():
    weight, bias = random((2, 3, 1, 1)), random(2)
    assert conv2d(torch.zeros(0, 3, 2, 2), weight).shape == (0, 2, 2, 2)
    hollow = conv2d(torch.zeros(1, 0, 2, 2), torch.zeros(2, 0, 1, 1), bias)
    assert torch.equal(hollow, bias.view(1, 2, 1, 1).expand(1, 2, 2, 2))
    none = torch.zeros(0, 2, 2, 2)
    assert torch.equal(
        conv2d_weight(torch.zeros(0, 3, 2, 2), none, (1, 1)), torch.zeros(2, 3, 1, 1)
    )
    assert conv2d_input(none, weight, (2, 2)).shape == (0, 3, 2, 2)


@pytest.mark.parametrize("order", FORMATS)
def test_a_result_is_written_in_place(order):
    x, weight = random((1, 2, 3, 3)), random((4, 2, 2, 2))
    out = torch.full((1, 4, 2, 2), torch.nan).to(memory_format=FORMATS[order])
    assert conv2d(x, weight, out=out) is out
    near(
        out, torch.nn.functional.conv2d(x.double(), weight.double()), out.new_tensor(16)
    )


X, W, G = torch.zeros(1, 4, 5, 5), torch.zeros(6, 4, 3, 3), torch.zeros(1, 6, 3, 3)
LINE = X[:, :, 0]
REFUSED = [
    ("WV0704", lambda: conv2d(X, None)),
    ("WV0705", lambda: conv2d(X, W.half())),
    ("WV0705", lambda: conv2d(X.double(), W.double())),
    ("WV0706", lambda: conv2d(X[0], W)),
    ("WV0706", lambda: conv2d(X, W[0])),
    ("WV0707", lambda: conv2d(X, W[:, :3])),
    ("WV0707", lambda: conv2d(X, W, torch.zeros(5))),
    ("WV0707", lambda: conv2d(X, W, groups=4)),
    ("WV0707", lambda: conv2d(X, W, groups=0)),
    ("WV0707", lambda: conv2d(X, W, stride=0)),
    ("WV0707", lambda: conv2d(X, W, padding=(1, 1, 1))),
    ("WV0707", lambda: conv2d(X, W, dilation=3)),
    ("WV0707", lambda: conv2d_input(G, W, (5, 6))),
    ("WV0707", lambda: conv2d_weight(X, G, (3, 2))),
    ("WV0704", lambda: conv1d(LINE, None)),
    ("WV0704", lambda: conv1d(LINE, W[0], stride=(1, 1))),
    ("WV0706", lambda: conv1d(X, W[0])),
    ("WV0707", lambda: conv1d(LINE, W[0])),
    ("WV0707", lambda: conv1d(LINE, W[:, :, 0], dilation=3)),
    ("WV0707", lambda: conv1d(LINE, W[:, :, 0], out=LINE)),
    ("WV0708", lambda: conv2d(X, W.to("meta"))),
    ("WV0709", lambda: conv2d(X, W, out=G.mT)),
    ("WV0714", lambda: conv2d(X, W.clone().requires_grad_())),
]


@pytest.mark.parametrize(("code", "call"), REFUSED)
def test_what_does_not_fit_is_refused_at_the_call(code, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert "test_convolution_functions.py" in str(raised.value)
