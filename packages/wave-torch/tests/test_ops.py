"""Operators of torch: one for each function, checked by torch's own `opcheck`."""

from __future__ import annotations

import inspect
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as torch_functions

import wave_torch
from wave_core.diagnostics import LaunchError
from wave_kernels import functions

WAVE = torch.ops.wave
ROWS = {row.name: row for row in wave_torch.ops.TABLE}
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
EPSILON = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
MISSING = """
`wave_kernels.functions.{name}` has no row, so torch does not know it. Add to
packages/wave-torch:
* in a module of src/wave_torch/ops, WaveOp("{name}", "{schema}", result=..., ...):
  the fake function, and gradient= and saved= where it has a gradient;
* its name to TABLE in src/wave_torch/ops/table.py;
* in tests/test_ops.py, arguments of small calls to CALLS, and where it has a gradient
  the same in torch to REFERENCES.
"""


def leaf(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype).requires_grad_()


def product(m, n, k, *, lead=(), batched=False, dtype=torch.float32):
    b = leaf(*(lead if batched else ()), k, n, dtype=dtype)
    return leaf(*lead, m, k, dtype=dtype), b


def finished(activation, dtype=torch.float32):
    """A product with everything that may follow its sums."""
    return (*product(3, 5, 7, dtype=dtype), leaf(5, dtype=dtype), activation)


def attended(dtype, *, kvh=2, m=3, s=5):
    """Queries, keys and values: two heads of four channels, of 16 bits."""
    narrow = torch.bfloat16 if dtype == torch.bfloat16 else torch.float16
    shapes = (1, 2, m, 4), (1, kvh, s, 4), (1, kvh, s, 3)
    return tuple(leaf(*shape, dtype=narrow) for shape in shapes)


def ragged(dtype, kvh=2):
    """Two sequences, one behind the other, and where they start."""
    made = attended(dtype, kvh=kvh)
    rows = (e.detach()[0].transpose(0, 1).contiguous() for e in made)
    starts = ([0, 2, 3], [0, 1, 5])
    return (
        *(each.requires_grad_() for each in rows),
        *(torch.tensor(each, dtype=torch.int32) for each in starts),
    )


def served(dtype):
    """The same of a cache, which nobody trains."""
    return tuple(each.detach() for each in ragged(dtype))


PRODUCT = "x, w -> silu(x * w) + x ** 2"
CHOSEN = "x, c -> where(c, maximum(x, 0.5), -x) - mean(x)"
FORMULAS = {
    PRODUCT: lambda x, w: torch_functions.silu(x * w) + x**2,
    CHOSEN: lambda x, c: (
        torch.where(c, x.clamp(min=0.5), -x) - x.mean(-1, keepdim=True)
    ),
    "x -> exp(x)": torch.exp,
}


def scattered(dtype):
    """Tables, places of which some come twice, and rows for these."""
    places = torch.tensor([[4, 0], [0, 1]])
    return [
        (leaf(5, 3, dtype=dtype), places, leaf(2, 2, 3, dtype=dtype)),
        (leaf(2, 4, dtype=dtype), places[1].int(), leaf(2, 4, dtype=dtype), False),
    ]


DEFAULTS = (False, None, None, None, None)
"""Of `attention_varlen`: causal, window, slopes, cap and scale."""

STARTS = torch.tensor([0, 1, 3], dtype=torch.int32)
PICKED = torch.tensor([2, 0, 2], dtype=torch.int32)


def grouped(dtype, columns=5):
    """Three rows of two groups."""
    return leaf(3, 4, dtype=dtype), leaf(2, 4, columns, dtype=dtype), STARTS


def bits(rows, columns, kind):
    """Any bytes."""
    return torch.randint(0, 256, (rows, columns), dtype=torch.uint8).view(kind)


def experts(dtype):
    """Tokens, router, gate and up, down: three experts of two hidden channels.

    Every number is small, but for the logits: nothing that rounds changes their order.
    """
    x = torch.stack([torch.randperm(4) for _ in range(10)]).view(2, 5, 4) / 2
    shapes = (3, 4, 4), (3, 4, 2)
    weights = [torch.randn(shape).to(dtype) / 2 for shape in shapes]
    return [e.to(dtype).requires_grad_() for e in (x, torch.eye(3, 4) * 2, *weights)]


def decoded(dtype):
    """A query of each of two sequences, their keys, and where these start."""
    query, key, value, _, starts = served(dtype)
    return query[:2], key, value, starts, 4


def attentions(dtype):
    """Two calls of attention."""
    return [
        attended(dtype),
        (*attended(dtype, kvh=1), True, 2, None, torch.rand(2), None, 0.5),
    ]


def backwards(dtype):
    """The gradients of a call of attention."""
    rows = tuple(each.detach() for each in attended(dtype))
    result, lse = WAVE.attention_with_lse(*rows)
    return [(*rows, result, lse, torch.randn_like(result))]


def ragged_backwards(dtype):
    """The gradients of a call of attention of sequences."""
    *rows, query_starts, key_starts = served(dtype)
    more = query_starts, key_starts, 2, 4
    result, lse = WAVE.attention_varlen_with_lse(*rows, *more)
    return [(*rows, result, lse, torch.randn_like(result), *more)]


def images(dtype, channels=4, filters=6, within=2, last=False):
    """Two images, filters, and a gradient of what they give with MOVES."""
    order = torch.channels_last if last else torch.contiguous_format
    shapes = (2, channels, 4, 5), (filters, within, 2, 3), (2, filters, 4, 2)
    return tuple(
        torch.randn(s).to(dtype, memory_format=order).requires_grad_() for s in shapes
    )


MOVES = ([1, 2], [1, 0], [2, 1], 2)


# Function -> arguments of small calls, in order.
CALLS = {
    "attention": attentions,
    "attention_backward": backwards,
    "attention_decode": lambda dtype: [
        decoded(dtype),
        (*decoded(dtype), torch.arange(5, dtype=torch.int32), 2, None, 1.5, 0.5, 2),
    ],
    "attention_varlen": lambda dtype: [
        (*ragged(dtype), 2, 4),
        (
            *served(dtype),
            2,
            4,
            torch.tensor([3, 0, 4, 1, 2], dtype=torch.int32),
            torch.ones(3, 2) > 0,
            True,
        ),
    ],
    "attention_varlen_backward": ragged_backwards,
    "attention_varlen_with_lse": lambda dtype: [
        (*ragged(dtype, kvh=1), 2, 4, True, 2, torch.rand(2), None, 0.5),
    ],
    "attention_with_lse": lambda dtype: attentions(dtype)[1:],
    "combine_tokens": lambda dtype: [
        (leaf(6, 5, dtype=dtype), torch.randperm(6).int().view(3, 2), leaf(3, 2)),
    ],
    "cross_entropy": lambda dtype: [
        (leaf(3, 7, dtype=dtype), torch.tensor([6, 0, 3])),
        (leaf(2, 2, 5, dtype=dtype), torch.tensor([[1, 4], [4, 2]]).int(), 4, 0.1),
    ],
    "group_tokens": lambda _: [(torch.randint(4, (3, 2), dtype=torch.int32), 4)],
    "grouped_matmul": lambda dtype: [
        grouped(dtype),
        (*grouped(dtype), PICKED),
    ],
    "grouped_matmul_weight": lambda dtype: [
        (leaf(3, 4, dtype=dtype), leaf(3, 5, dtype=dtype), STARTS),
        (leaf(3, 4, dtype=dtype), leaf(3, 2, dtype=dtype), STARTS, PICKED),
    ],
    "column_sums": lambda dtype: [
        (leaf(3, 7, dtype=dtype),),
        (leaf(2, 32, 5, dtype=dtype),),
    ],
    "conv1d": lambda dtype: [
        (
            *(leaf(2, 4, 7, dtype=dtype), leaf(6, 2, 3, dtype=dtype)),
            *(leaf(6, dtype=dtype), 2, 1, 2, 2),
        ),
        (leaf(1, 3, 5, dtype=dtype), leaf(2, 3, 1, dtype=dtype)),
    ],
    "conv2d": lambda dtype: [
        (*images(dtype)[:2], leaf(6, dtype=dtype), [1, 2], [1, 0], [2, 1], 2),
        (*images(dtype, 3, 3, 1, last=True)[:2], None, [1, 1], [0, 0], [1, 1], 3),
    ],
    "conv2d_input": lambda dtype: [(*images(dtype)[:0:-1], [4, 5], *MOVES)],
    "conv2d_weight": lambda dtype: [(*images(dtype, last=True)[::2], [2, 3], *MOVES)],
    "grouped_swiglu": lambda dtype: [
        grouped(dtype, columns=6),
        (*grouped(dtype, columns=2), PICKED),
    ],
    "layer_norm": lambda dtype: [
        (leaf(3, 7, dtype=dtype), leaf(7, dtype=dtype), leaf(7, dtype=dtype)),
        (leaf(9, dtype=dtype), leaf(9, dtype=dtype), leaf(9, dtype=dtype), 0.1),
    ],
    "matmul": lambda dtype: [
        product(3, 5, 7, dtype=dtype),
        product(2, 3, 4, lead=(2, 2), dtype=dtype),
        product(2, 3, 4, lead=(3,), batched=True, dtype=dtype),
        (*finished("silu", dtype), leaf(3, 5, dtype=dtype)),
    ],
    "matmul_nbits": lambda dtype: [
        (leaf(3, 70, dtype=dtype), bits(5, 70, torch.int8), leaf(5, 1)),
        (
            leaf(2, 2, 70, dtype=dtype),
            bits(5, 35, torch.uint8),
            leaf(5, 3),
            bits(5, 3, torch.uint8) & 15,
            32,
        ),
    ],
    "moe": lambda dtype: [(*experts(dtype), 2), (*experts(dtype), 1, "sigmoid", False)],
    "rms_norm": lambda dtype: [
        (leaf(3, 7, dtype=dtype), leaf(7, dtype=dtype)),
        (leaf(2, 2, 5, dtype=dtype), leaf(5, dtype=dtype), 0.1),
    ],
    "route_tokens": lambda dtype: [
        (leaf(3, 7, dtype=dtype), 2, scores, normalised)
        for scores in ("softmax", "sigmoid")
        for normalised in (True, False)
    ],
    "rotary_embedding": lambda dtype: [
        (leaf(3, 2, 6, dtype=dtype), torch.rand(3, 3), torch.rand(3, 3)),
        (
            *(leaf(2, 3, 1, 4, dtype=dtype), torch.rand(9, 2), torch.rand(9, 2)),
            *(torch.tensor([[8, 0, 1], [3, 3, 2]]), True),
        ),
        (leaf(3, 2, 7, dtype=dtype), torch.rand(4, 2), torch.rand(4, 2)),
    ],
    "quantize_rows": lambda dtype: [
        (torch.randn(2, 3, 5).to(dtype), torch.int8),
        (torch.randn(7).to(dtype), torch.int8),
    ],
    "gated_activation": lambda dtype: [
        (leaf(2, 3, 10, dtype=dtype), name) for name in ("silu", "gelu", "relu")
    ],
    "cumsum": lambda dtype: [
        (leaf(3, 7, dtype=dtype),),
        (leaf(2, 2, 5, dtype=dtype), True, True),
    ],
    "swiglu": lambda dtype: [
        (leaf(3, 5, dtype=dtype), leaf(5, 7, dtype=dtype), leaf(5, 7, dtype=dtype)),
        (
            *(leaf(2, 3, 4, dtype=dtype), leaf(4, 5, dtype=dtype)),
            *(leaf(4, 5, dtype=dtype), "gelu"),
        ),
    ],
    "topk": lambda dtype: [(leaf(2, 2, 7, dtype=dtype), 3), (leaf(4, dtype=dtype), 4)],
    "elementwise": lambda dtype: [
        (PRODUCT, [leaf(3, 5, dtype=dtype), leaf(5, dtype=dtype)]),
        (
            *(CHOSEN, [leaf(2, 1, 5, dtype=dtype), torch.rand(4, 1) > 0.5]),
            torch.float32,
        ),
        ("x -> exp(x)", [leaf(3, 7, dtype=dtype)]),
        ("x -> x > 0", [torch.randn(7, 4).to(dtype).mT]),
    ],
    "gather_rows": lambda dtype: [
        (leaf(5, 3, dtype=dtype), torch.tensor([[4, 0], [0, 1]])),
        (leaf(2, 4, dtype=dtype), torch.tensor([1, 1, 0]).int(), False),
    ],
    "scatter_add_rows": scattered,
    "scatter_rows": scattered,
    "transpose": lambda dtype: [
        (leaf(3, 7, dtype=dtype),),
        (leaf(2, 2, 1, 5, dtype=dtype),),
    ],
    "softmax": lambda dtype: [(leaf(3, 7, dtype=dtype),), (leaf(5, dtype=dtype),)],
}


def attention(query, key, value, causal=False, window=None, bias=None, slopes=None,
              softcap=None, scale=None):  # fmt: skip
    """By torch's own, the last query at the last key."""
    m, s = query.shape[2], key.shape[2]
    behind = (torch.arange(m)[:, None] + s - m - torch.arange(s)).double()
    mask = torch.zeros(1, 1, m, s, dtype=torch.float64)
    if causal:
        mask = mask.masked_fill(behind < 0, -torch.inf)
    if window:
        mask = mask.masked_fill(behind.abs() >= window, -torch.inf)
    if slopes is not None:
        mask = mask - slopes[:, None, None] * behind.abs()
    return torch_functions.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=scale, enable_gqa=True
    )


def attention_varlen(query, key, value, query_starts, key_starts, *variant):
    """One sequence after the other."""
    words = (*variant[2:], *DEFAULTS[len(variant) - 2 :])
    causal, window, slopes, softcap, scale = words
    spans = [pairwise(each) for each in (query_starts, key_starts)]
    found = []
    for q, k in zip(*spans, strict=True):
        rows = query[slice(*q)], key[slice(*k)], value[slice(*k)]
        heads = (each.transpose(0, 1)[None] for each in rows)
        one = attention(*heads, causal, window, None, slopes, softcap, scale)
        found.append(one[0].transpose(0, 1))
    return torch.cat(found)


def layer_norm(x, weight, bias, eps=1e-5):
    return torch_functions.layer_norm(x, x.shape[-1:], weight, bias, eps)


ACTIVATIONS = {
    "": lambda x: x,
    "gelu": torch_functions.gelu,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "silu": torch_functions.silu,
    "tanh": torch.tanh,
}


def matmul(a, b, bias=None, activation="", residual=None):
    total = a @ b if bias is None else a @ b + bias
    found = ACTIVATIONS[activation](total)
    return found if residual is None else found + residual


def conv2d_input(grad, weight, size, *moves):
    shape = grad.shape[0], weight.shape[1] * moves[3], *size
    return torch.nn.grad.conv2d_input(shape, weight, grad, *moves)


def conv2d_weight(x, grad, size, *moves):
    shape = grad.shape[1], x.shape[1] // moves[3], *size
    return torch.nn.grad.conv2d_weight(x, shape, grad, *moves)


def route_tokens(logits, top_k, scores, normalised):
    found = logits.softmax(-1) if scores == "softmax" else logits.sigmoid()
    weights = found.topk(top_k).values
    return weights / weights.sum(-1, keepdim=True) if normalised else weights


def matmul_nbits(a, b, scales, zeros=None, group_size=None):
    depth = a.shape[-1]
    numbers = b.long()
    if b.shape[1] != depth:
        numbers = torch.stack([b & 15, b >> 4], -1).flatten(1).long()
    per_row = [
        each.repeat_interleave(group_size or depth, 1)[:, :depth]
        for each in (scales, scales * 0 if zeros is None else zeros.long())
    ]
    return a @ ((numbers - per_row[1]) * per_row[0]).mT


def grouped_matmul(a, b, starts, rows=None):
    taken = a if rows is None else a[rows.long()]
    group = torch.arange(len(b)).repeat_interleave(starts.diff().long())
    return (taken[:, None] @ b[group])[:, 0]


def grouped_swiglu(a, b, starts, rows=None):
    return gated_activation(grouped_matmul(a, b, starts, rows))


def grouped_matmul_weight(a, grad, starts, rows=None):
    taken = a if rows is None else a[rows.long()]
    ends = [*zip(starts.tolist(), starts[1:].tolist(), strict=False)]
    return torch.stack([taken[i:j].mT @ grad[i:j] for i, j in ends])


def moe(x, router, gate_up, down, top_k, scores="softmax", normalised=True):
    logits = x @ router.mT
    weights = route_tokens(logits, top_k, scores, normalised)
    found = 0
    for choice, experts in enumerate(logits.topk(top_k).indices.unbind(-1)):
        hidden = gated_activation((gate_up[experts] @ x[..., None])[..., 0])
        each = (down[experts] @ hidden[..., None])[..., 0]
        found = found + weights[..., choice, None] * each
    return found


def cross_entropy(logits, targets, ignore_index=-100, label_smoothing=0.0):
    return torch_functions.cross_entropy(
        logits.flatten(0, -2),
        targets.flatten().long(),
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction="none",
    ).view(targets.shape)


def rotary_embedding(x, cos, sin, positions=None, interleaved=False):
    places = torch.arange(x.shape[-3]) if positions is None else positions
    turn, rise = cos[places][..., None, :], sin[places][..., None, :]
    x, rest = x.tensor_split((2 * cos.shape[1],), -1)
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    pairs = a * turn - b * rise, b * turn + a * rise
    turned = torch.stack(pairs, -1).flatten(-2) if interleaved else torch.cat(pairs, -1)
    return torch.cat((turned, rest), -1)


def gated_activation(x, activation="silu"):
    gate, factor = x.chunk(2, -1)
    return ACTIVATIONS[activation](gate) * factor


def swiglu(x, gate, up, activation="silu"):
    return ACTIVATIONS[activation](x @ gate) * (x @ up)


def cumsum(x, exclusive=False, reverse=False):
    turned = x.flip(-1) if reverse else x
    found = turned.cumsum(-1) - turned if exclusive else turned.cumsum(-1)
    return found.flip(-1) if reverse else found


def scatter_rows(table, indices, rows, checked=True):
    """One after the other, so that the last of equal ones stays."""
    for place, row in zip(indices.flatten(), rows.flatten(0, -2), strict=True):
        table = torch.where(torch.arange(len(table))[:, None] == place, row, table)
    return table


# Function -> the same in torch, with torch's gradients.
REFERENCES = {
    "attention": attention,
    "attention_varlen": lambda *given: attention_varlen(*given[:7], *given[9:]),
    "attention_varlen_with_lse": attention_varlen,
    "attention_with_lse": attention,
    "combine_tokens": lambda rows, places, weights: (
        weights[..., None] * rows[places.long()]
    ).sum(1),
    "column_sums": lambda x: x.flatten(0, -2).sum(0),
    "conv1d": torch_functions.conv1d,
    "conv2d": torch_functions.conv2d,
    "conv2d_input": conv2d_input,
    "conv2d_weight": conv2d_weight,
    "cross_entropy": cross_entropy,
    "elementwise": lambda text, tensors, *_: FORMULAS[text](*tensors),
    "grouped_matmul": grouped_matmul,
    "grouped_matmul_weight": grouped_matmul_weight,
    "grouped_swiglu": grouped_swiglu,
    "layer_norm": layer_norm,
    "matmul": matmul,
    "matmul_nbits": matmul_nbits,
    "moe": moe,
    "route_tokens": route_tokens,
    "rms_norm": lambda x, weight, eps=1e-5: torch_functions.rms_norm(
        x, x.shape[-1:], weight, eps
    ),
    "rotary_embedding": rotary_embedding,
    "gated_activation": gated_activation,
    "cumsum": cumsum,
    "swiglu": swiglu,
    "topk": lambda x, k: x.topk(k).values,
    "gather_rows": lambda table, indices, _=True: table[indices.long()],
    "scatter_add_rows": lambda table, indices, rows, _=True: table.index_add(
        0, indices.flatten().long(), rows.flatten(0, -2)
    ),
    "scatter_rows": scatter_rows,
    "transpose": lambda x: x.mT,
    "softmax": lambda x: x.softmax(-1),
}


def plain(default):
    """A default as the function writes it: a list of equal numbers is one number."""
    if isinstance(default, list) and default and len(set(default)) == 1:
        return default[0]
    return tuple(default) if isinstance(default, list) else default


def of_function(name):
    parameters = inspect.signature(getattr(functions, name)).parameters
    return {n: p.default for n, p in parameters.items() if n != "out"}


def of_operator(name):
    arguments = getattr(WAVE, name).default._schema.arguments
    empty = inspect.Parameter.empty
    return {
        a.name: plain(a.default_value) if a.has_default_value() else empty
        for a in arguments
    }


def missing(name):
    schema = f"{inspect.signature(getattr(functions, name))}"
    return MISSING.format(name=name, schema=schema)


WITHOUT_KERNELS = {"shuffle_scales", "shuffle_weights"}
"""Functions that lay operands out anew, once, by torch's own operators."""


@pytest.mark.parametrize("name", sorted({*functions.__all__} - WITHOUT_KERNELS))
def test_every_function_has_a_row(name):
    assert name in ROWS, missing(name)
    assert of_operator(name) == of_function(name), missing(name)
    assert name in CALLS, missing(name)
    assert ROWS[name].gradient is None or name in REFERENCES, missing(name)


def test_every_row_has_a_function():
    assert set(ROWS) <= set(functions.__all__)


# Torch looks at each tensor on the way, of which some are no leaves.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_opcheck(name):
    for arguments in CALLS[name](torch.float32):
        torch.library.opcheck(getattr(WAVE, name).default, arguments)


# Functions that round what they compute to the type once more than others.
ROUNDED = {
    "attention",
    "attention_varlen",
    "attention_varlen_with_lse",
    "attention_with_lse",
}
TRAINED = [
    (name, dtype)
    for name in REFERENCES
    for dtype in FLOATS
    if name not in ROUNDED or dtype != torch.float32
]


def first(results):
    """The result that has a gradient."""
    return results[0] if isinstance(results, tuple) else results


def leaves(arguments):
    """The tensors that have gradients."""
    every = [b for a in arguments for b in (a if isinstance(a, list) else [a])]
    return [a for a in every if isinstance(a, torch.Tensor) and a.requires_grad]


def gradients(function, arguments, weights):
    """Result and gradients of all leaves."""
    result = first(function(*arguments))
    return result, torch.autograd.grad((result * weights).sum(), leaves(arguments))


def widened(arguments):
    return [
        widened(a)
        if isinstance(a, list)
        else a.detach().double().requires_grad_(a.requires_grad)
        if isinstance(a, torch.Tensor) and a.is_floating_point()
        else a
        for a in arguments
    ]


def near(found, wanted, accuracy):
    found, wanted = found.detach().double(), wanted.detach()
    assert found.shape == wanted.shape
    limit = accuracy * max(1.0, float(wanted.abs().max()))
    assert float((found - wanted).abs().max()) <= limit


def check_gradients(name, arguments, dtype):
    """Against torch in f64; each step rounds to the type, of which there are few."""
    wide = widened(arguments)
    result = first(REFERENCES[name](*wide))
    weights = torch.randn_like(result).to(dtype)
    wanted, slopes = gradients(REFERENCES[name], wide, weights.double())
    found, mine = gradients(getattr(WAVE, name), arguments, weights)
    steps = 6 if name in ROUNDED else 3
    accuracy = max(steps * EPSILON[dtype], 1e-5)
    near(found, wanted, accuracy)
    for leaf, slope, target in zip(leaves(arguments), mine, slopes, strict=True):
        assert slope.dtype == leaf.dtype
        near(slope, target, accuracy)


@pytest.mark.parametrize(("name", "dtype"), TRAINED)
def test_gradients(name, dtype):
    for arguments in filter(leaves, CALLS[name](dtype)):
        check_gradients(name, arguments, dtype)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_of_activations(activation):
    check_gradients("matmul", finished(activation), torch.float32)


def test_only_gradients_that_are_wanted_are_computed():
    a, b = torch.randn(3, 4), leaf(4, 2)
    (slope,) = torch.autograd.grad(WAVE.matmul(a, b).sum(), [b])
    torch.testing.assert_close(slope, a.sum(0)[:, None].expand(4, 2))


def test_gradients_have_gradients():
    x, weight = leaf(2, 5), leaf(5)
    wide, wide_weight = widened((x, weight))

    def penalty(function, x, weight):
        (slope,) = torch.autograd.grad(
            function(x, weight).square().sum(), [x], create_graph=True
        )
        return torch.autograd.grad(slope.square().sum(), [x, weight])

    mine = penalty(WAVE.rms_norm, x, weight)
    wanted = penalty(REFERENCES["rms_norm"], wide, wide_weight)
    for found, target in zip(mine, wanted, strict=True):
        near(found, target, 1e-4)


def test_both_results_of_cross_entropy_have_gradients():
    logits, targets = leaf(3, 5), torch.tensor([4, -100, 0])
    wide = logits.detach().double().requires_grad_()
    loss, lse = WAVE.cross_entropy(logits, targets)
    (mine,) = torch.autograd.grad((loss + lse.square()).sum(), [logits])
    total = wide.logsumexp(-1).square() + REFERENCES["cross_entropy"](wide, targets)
    near(mine, torch.autograd.grad(total.sum(), [wide])[0], 1e-5)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0,)])
def test_nothing_has_gradients_too(shape):
    x = leaf(*shape)
    (slope,) = torch.autograd.grad(WAVE.softmax(x).sum(), [x])
    assert slope.shape == x.shape


def test_sums_over_nothing():
    a, b = leaf(3, 0), leaf(0, 2)
    found = torch.autograd.grad(WAVE.matmul(a, b).sum(), [a, b])
    assert [g.shape for g in found] == [(3, 0), (0, 2)]


@pytest.mark.parametrize("name", ["bias", "slopes"])
def test_operands_without_gradients_are_refused(name):
    shapes = {"bias": (3, 5), "slopes": (2,)}
    dtype = torch.float16 if name == "bias" else torch.float32
    given = {name: leaf(*shapes[name], dtype=dtype)}
    with pytest.raises(LaunchError, match=f"`{name}` of .* takes part") as raised:
        WAVE.attention(*attended(torch.float16), **given)
    assert raised.value.code == "WV0714"


@pytest.mark.parametrize("name", ["table", "tree"])
def test_attention_of_a_cache_has_no_gradient(name):
    given = {"table": torch.arange(5).int(), "tree": torch.ones(3, 2).bool()}
    with pytest.raises(LaunchError, match=f"`{name}` takes part") as raised:
        WAVE.attention_varlen(*ragged(torch.float16), 2, 4, **{name: given[name]})
    assert raised.value.code == "WV0714"
    assert "test_ops.py" in str(raised.value)


def test_attention_is_not_differentiated_twice():
    operands = attended(torch.float16)
    with pytest.raises(LaunchError, match="WV0714"):
        torch.autograd.grad(
            WAVE.attention(*operands).sum(), operands, create_graph=True
        )


def test_types_without_gradients_are_refused():
    a = torch.randn(4, 4).to(torch.float8_e5m2).requires_grad_()
    with pytest.raises(LaunchError) as raised:
        WAVE.matmul(a, a.detach())
    assert raised.value.code == "WV0714"
    assert "test_ops.py" in str(raised.value)
    assert WAVE.matmul(a.detach(), a.detach()).dtype == torch.bfloat16


def test_what_does_not_fit_is_refused_as_by_the_function():
    with pytest.raises(LaunchError, match="WV0707") as raised:
        WAVE.matmul(torch.zeros(2, 3), torch.zeros(4, 5))
    assert "test_ops.py" in str(raised.value)


def test_graphs_refuse_it_when_they_are_made():
    with pytest.raises(RuntimeError, match="`b` is"):
        WAVE.matmul(torch.zeros(2, 3, device="meta"), torch.zeros(4, 5, device="meta"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CALLS)
def test_autocast_does_what_it_does_to_operators_of_torch(name, dtype):
    for arguments in CALLS[name](torch.float32):
        with torch.autocast("cpu", dtype):
            found = first(getattr(WAVE, name)(*arguments))
        if not found.is_floating_point():
            continue
        assert found.dtype == (dtype if ROWS[name].narrowed else torch.float32)


@pytest.mark.parametrize("name", REFERENCES)
def test_gradients_under_autocast(name):
    dtype = torch.bfloat16
    for arguments in filter(leaves, CALLS[name](torch.float32)):
        with torch.autocast("cpu", dtype):
            found = first(getattr(WAVE, name)(*arguments))
        accuracy = 4 * EPSILON[dtype] if ROWS[name].narrowed else 1e-5
        near(found, first(REFERENCES[name](*widened(arguments))), accuracy)
        tensors = leaves(arguments)
        slopes = torch.autograd.grad(found.sum(), tensors)
        assert [each.dtype for each in slopes] == [each.dtype for each in tensors]


def test_autocast_leaves_bytes_alone():
    a = torch.randn(4, 4).to(torch.float8_e5m2)
    with torch.autocast("cpu", torch.float16):
        assert WAVE.matmul(a, a).dtype == torch.bfloat16


def test_autocast_within_a_graph():
    a, b = torch.randn(3, 4), torch.randn(4, 5)

    @torch.compile(backend="aot_eager", fullgraph=True)
    def both(a, b):
        with torch.autocast("cpu", torch.float16):
            return WAVE.softmax(WAVE.matmul(a, b)), WAVE.matmul(a, b)

    rows, product = both(a, b)
    assert (rows.dtype, product.dtype) == (torch.float32, torch.float16)


def test_a_graph_has_one_node_a_call():
    @torch.compile(backend="aot_eager", fullgraph=True)
    def block(x, weight, w):
        return WAVE.softmax(WAVE.matmul(WAVE.rms_norm(x, weight), w, activation="gelu"))

    arguments = (leaf(3, 8), leaf(8), leaf(8, 5))
    wide = widened(arguments)
    normal = REFERENCES["rms_norm"](wide[0], wide[1])
    wanted = torch_functions.gelu(normal @ wide[2]).softmax(-1)
    near(block(*arguments), wanted, 1e-5)
    mine = torch.autograd.grad(block(*arguments)[0, 0], arguments)
    for found, target in zip(
        mine, torch.autograd.grad(wanted[0, 0], wide), strict=True
    ):
        near(found, target, 1e-5)
