"""Functions that go from row to row, against torch in f64; what they refuse."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as torch_functions

from wave_core.diagnostics import LaunchError, UserError
from wave_kernels.functions import (
    cross_entropy,
    cumsum,
    gated_activation,
    gather_rows,
    quantize_rows,
    rotary_embedding,
    topk,
    transpose,
)
from wave_kernels.functions.rows import LONGEST

ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": torch_functions.gelu,
    "silu": torch_functions.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}
GREATEST = {
    torch.int8: 127.0,
    torch.float8_e4m3fn: 448.0,
    torch.float8_e5m2: 57344.0,
}
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
LONG = LONGEST + 7
ROUNDED = {
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
    torch.float16: {"rtol": 2.0**-11, "atol": 1e-5},
    torch.bfloat16: {"rtol": 2.0**-8, "atol": 1e-5},
}
"""Half a unit in the last place, and what f32 rounds on the way."""


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(1,), (0, 4), (3, 31), (2, 3, 64), (2, 1025)])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.covering(1)
def test_cross_entropy(dtype, shape, smoothing, kind):
    logits = (torch.randn(shape) * 5).to(dtype)
    targets = torch.randint(shape[-1], shape[:-1], dtype=kind)
    loss, lse = cross_entropy(logits, targets, label_smoothing=smoothing)
    wide = logits.double()
    wanted = torch_functions.cross_entropy(
        wide.view(-1, shape[-1]),
        targets.view(-1).long(),
        label_smoothing=smoothing,
        reduction="none",
    )
    torch.testing.assert_close(
        loss.double(), wanted.view(shape[:-1]), rtol=1e-5, atol=2e-4
    )
    torch.testing.assert_close(lse.double(), wide.logsumexp(-1), rtol=1e-5, atol=2e-4)


def test_cross_entropy_of_what_is_no_number():
    logits, targets = torch.randn(5, 2000), torch.tensor([0, 0, 1999, 0, 3])
    logits[0, 3], logits[1, 4], logits[3] = torch.nan, torch.inf, -torch.inf
    logits[2, :1500], logits[4, 3] = -torch.inf, -torch.inf
    wanted = torch_functions.cross_entropy(logits, targets, reduction="none")
    found, _ = cross_entropy(logits, targets)
    torch.testing.assert_close(found, wanted, equal_nan=True)


def test_targets_that_are_no_columns():
    logits, targets = torch.zeros(4, 3), torch.tensor([3, -1, 2**40, -100])
    with pytest.raises(LaunchError, match="columns 0 to 2"):
        cross_entropy(logits, targets)
    loss, _ = cross_entropy(logits, targets, checked=False)
    assert loss.isnan().tolist() == [True, True, True, False]
    assert float(loss[3]) == 0.0


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rest", [0, 1, 32])
@pytest.mark.parametrize("shape", [(1, 1, 2), (0, 2, 4), (2, 3, 5, 64), (7, 1, 130)])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.covering(1)
def test_rotary_embedding(dtype, shape, interleaved, rest):
    half = shape[-1] // 2
    x = torch.randn(*shape[:-1], shape[-1] + rest).to(dtype)
    angles = torch.rand(11, half) * 7
    positions = torch.randint(11, shape[:-2])
    cos, sin = angles.cos(), angles.sin()
    found = rotary_embedding(x, cos, sin, positions, interleaved=interleaved)
    wide = x.double()[..., : 2 * half]
    order = (half, 2) if interleaved else (2, half)
    pairs = wide.unflatten(-1, order).movedim(-1 if interleaved else -2, 0)
    a, b = pairs
    turn, rise = (t.double()[positions][..., None, :] for t in (cos, sin))
    turned = torch.stack([a * turn - b * rise, b * turn + a * rise])
    wanted = turned.movedim(0, -1 if interleaved else -2).flatten(-2)
    turned = found[..., : 2 * half].double()
    torch.testing.assert_close(turned, wanted, **ROUNDED[dtype])
    assert torch.equal(found[..., 2 * half :], x[..., 2 * half :])


def test_positions_that_are_no_rows():
    x, table = torch.ones(3, 1, 4), torch.ones(2, 2)
    places = torch.tensor([1, 2, -1])
    with pytest.raises(LaunchError, match="rows 0 to 1"):
        rotary_embedding(x, table, table, places)
    with pytest.raises(LaunchError, match="there are 3 tokens"):
        rotary_embedding(x, table, table)
    found = rotary_embedding(x, table, table, places, checked=False)
    assert found.flatten(1).tolist() == [[0.0, 0.0, 2.0, 2.0], [0.0] * 4, [0.0] * 4]


@pytest.mark.parametrize(
    "shape", [(1,), (3, 31), (2, 2, 256), (2, 1025), (0, 4), (2, LONG)]
)
@pytest.mark.parametrize("stored", GREATEST)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.covering(1)
def test_quantize_rows(dtype, stored, shape):
    x = (torch.randn(shape) * 10).to(dtype)
    values, scales = quantize_rows(x, stored)
    assert values.dtype == stored
    assert values.shape == x.shape
    if not x.numel():
        return
    wide = x.double()
    wanted = wide.abs().amax(-1) / GREATEST[stored]
    torch.testing.assert_close(scales.double(), wanted, rtol=1e-6, atol=0.0)
    quotients = wide / scales.double()[..., None]
    # Half a step: 0.5 of integers; of floats half a unit, or half the least of all.
    steps = {
        torch.int8: torch.full_like(quotients, 0.5),
        torch.float8_e4m3fn: (quotients.abs() * 2.0**-4).clamp(min=2.0**-10),
        torch.float8_e5m2: (quotients.abs() * 2.0**-3).clamp(min=2.0**-17),
    }
    assert ((values.double() - quotients).abs() <= steps[stored] * 1.0001).all()
    assert (values.double().abs().amax(-1) == GREATEST[stored]).all()


@pytest.mark.parametrize("stored", GREATEST)
def test_quantised_rows_without_a_scale(stored):
    x = torch.zeros(4, 9)
    x[1, 2], x[2, 3], x[3, 4] = torch.nan, -torch.inf, 2.0**-140
    values, scales = quantize_rows(x, stored)
    assert (values[0].double() == 0).all()
    assert scales[0] == scales[3] == 2.0**-126
    assert scales[1].isnan()
    assert scales[2].isinf()
    rest = values[2].double()
    assert (rest[torch.arange(9) != 3] == 0).all()
    assert rest[3] == 0 if stored == torch.int8 else rest[3].isnan()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(2,), (0, 4), (3, 0), (3, 62), (2, 2, 2050)])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.covering(1)
def test_gated_activation(dtype, shape, activation):
    x = torch.randn(shape).to(dtype)
    gate, factor = x.double().chunk(2, -1)
    wanted = ACTIVATIONS[activation](gate) * factor
    found = gated_activation(x, activation).double()
    torch.testing.assert_close(found, wanted, **ROUNDED[dtype])


def test_an_unknown_activation_is_refused():
    with pytest.raises(UserError, match="it is one of relu, gelu"):
        gated_activation(torch.zeros(2, 4), "sine")


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "shape", [(1,), (0, 4), (3, 0), (3, 31), (2, 2, 256), (1, 1025), (2, LONG)]
)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.covering(1)
def test_cumsum(dtype, shape, reverse, exclusive):
    x = torch.randn(shape).to(dtype)
    wide = x.double().flip(-1) if reverse else x.double()
    sums = wide.cumsum(-1) - wide if exclusive else wide.cumsum(-1)
    wanted = sums.flip(-1) if reverse else sums
    found = cumsum(x, exclusive=exclusive, reverse=reverse).double()
    limits = ROUNDED[dtype] | {"atol": 1e-6 * max(1, shape[-1])}
    torch.testing.assert_close(found, wanted, **limits)


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (31, 31), (257, 5), (1025, 32), (LONG, 9)]
)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.covering(1)
def test_topk(dtype, n, k):
    x = torch.randn(2, 2, n).round(decimals=1).to(dtype)
    if n > k:
        x[0, 0, 7], x[0, 1, 3], x[1, 0] = torch.nan, torch.inf, -torch.inf
    values, indices = topk(x, k)
    wanted = x.sort(dim=-1, descending=True, stable=True)
    torch.testing.assert_close(values, wanted.values[..., :k], equal_nan=True)
    assert torch.equal(indices, wanted.indices[..., :k].int())


@pytest.mark.parametrize("lead", [(), (0,), (3,), (2, 3)])
@pytest.mark.parametrize("n", [0, 1, 31, 1025])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.covering(1)
def test_gather_rows(dtype, n, lead):
    table, indices = torch.randn(7, n).to(dtype), torch.randint(7, lead)
    assert torch.equal(gather_rows(table, indices), table[indices])


def test_indices_that_are_no_rows():
    table, indices = torch.ones(2, 3), torch.tensor([1, 2, -1, 2**40])
    with pytest.raises(LaunchError, match="rows 0 to 1"):
        gather_rows(table, indices)
    found = gather_rows(table, indices, checked=False)
    assert found[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "shape", [(1, 1), (0, 4), (3, 0, 2), (2, 63, 64), (65, 7), (2, 3, 1, 129)]
)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.covering(1)
def test_transpose(dtype, shape):
    x = torch.randn(shape).to(dtype)
    found = transpose(x)
    assert found.is_contiguous()
    assert torch.equal(found, x.mT)


ROWS, TARGETS = torch.zeros(4, 3), torch.zeros(4).int()
REFUSED = [
    ("WV0705", lambda: cross_entropy(ROWS.double(), TARGETS)),
    ("WV0705", lambda: cross_entropy(ROWS, TARGETS.float())),
    ("WV0706", lambda: cross_entropy(torch.tensor(1.0), TARGETS)),
    ("WV0707", lambda: cross_entropy(ROWS, TARGETS[:2])),
    ("WV0707", lambda: cross_entropy(ROWS[:, :0], TARGETS)),
    ("WV0707", lambda: cross_entropy(ROWS, TARGETS, label_smoothing=1.5)),
    ("WV0707", lambda: cross_entropy(ROWS, TARGETS, ignore_index=2**40)),
    ("WV0706", lambda: rotary_embedding(ROWS, ROWS, ROWS)),
    ("WV0707", lambda: rotary_embedding(torch.zeros(2, 1, 3), ROWS, ROWS)),
    ("WV0707", lambda: rotary_embedding(torch.zeros(2, 1, 4), ROWS, ROWS)),
    ("WV0705", lambda: rotary_embedding(torch.zeros(2, 1, 6), ROWS.half(), ROWS)),
    ("WV0705", lambda: quantize_rows(ROWS, torch.float16)),
    ("WV0706", lambda: quantize_rows(torch.tensor(1.0), torch.int8)),
    ("WV0706", lambda: gated_activation(torch.tensor(1.0))),
    ("WV0707", lambda: gated_activation(ROWS)),
    ("WV0706", lambda: cumsum(torch.tensor(1.0))),
    ("WV0707", lambda: topk(ROWS, 4)),
    ("WV0707", lambda: topk(torch.zeros(1, 99), 33)),
    ("WV0705", lambda: gather_rows(ROWS, TARGETS.float())),
    ("WV0706", lambda: gather_rows(ROWS[0], TARGETS)),
    ("WV0707", lambda: gather_rows(ROWS[:0], TARGETS)),
    ("WV0706", lambda: transpose(ROWS[0])),
    ("WV0707", lambda: transpose(ROWS[0, 0].expand(65_536, 1, 1))),
]


@pytest.mark.parametrize(("code", "call"), REFUSED)
def test_what_does_not_fit_is_refused_at_the_call(code, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert "test_row_functions.py" in str(raised.value)


def strided(*shape):
    """The same numbers with gaps, and with the last two dimensions turned."""
    x = torch.randn(shape)
    wide = torch.full((*shape[:-1], shape[-1] + 5), torch.nan)
    wide[..., 2:-3] = x
    return x, wide[..., 2:-3], x.mT.contiguous().mT


CALLS = {
    "cross_entropy": lambda x: cross_entropy(x, torch.arange(6))[0],
    "cumsum": cumsum,
    "gated_activation": gated_activation,
    "gather_rows": lambda x: gather_rows(x, torch.tensor([5, 0, 3])[::2]),
    "quantize_rows": lambda x: quantize_rows(x, torch.int8)[0],
    "rotary_embedding": lambda x: rotary_embedding(
        x.unflatten(0, (2, 3)), torch.ones(4, 2).mT, torch.ones(4, 2).mT
    ),
    "topk": lambda x: topk(x, 3)[1],
    "transpose": transpose,
}


@pytest.mark.parametrize("name", CALLS)
def test_tensors_with_gaps_are_read_as_they_are(name):
    plain, *others = strided(6, 8)
    wanted = CALLS[name](plain)
    for each in others:
        assert torch.equal(CALLS[name](each), wanted)
