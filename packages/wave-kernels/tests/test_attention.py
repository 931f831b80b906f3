"""`attention` on tensors of the CPU, against torch in f64; what it refuses."""

from __future__ import annotations

import pytest
import torch
from attention_formula import ACCURACY, assert_accurate, attended

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import attention
from wave_kernels.functions.attention_calls import WIDEST

TILE = 64
EDGES = [
    (1, 1),
    (1, 67),
    (67, 1),
    (31, 37),
    *((TILE + i, TILE - i) for i in (-1, 0, 1)),
]


def tensors(*, b=2, h=2, kvh=2, m=9, s=13, d=8, dv=8, dtype=torch.float16):
    shapes = (b, h, m, d), (b, kvh, s, d), (b, kvh, s, dv)
    return [torch.randn(shape).to(dtype) for shape in shapes]


def check(given, **variant):
    found, right = attention(*given, **variant), attended(*given, **variant)
    assert found.dtype == given[0].dtype
    assert_accurate(found, right, given[2])


@pytest.mark.parametrize("sizes", EDGES)
@pytest.mark.parametrize("variant", [{}, {"causal": True}, {"window": 5}])
def test_sizes_that_no_tile_divides(sizes, variant):
    check(tensors(m=sizes[0], s=sizes[1]), **variant)


def products():
    """Each variant, and what meets another one in the order of the formula."""
    bias = torch.randn(2, 4, 70, 130)
    return {
        "causal": {"causal": True},
        "window": {"window": 7},
        "causal window": {"causal": True, "window": 40},
        "bias": {"bias": bias},
        "slopes": {"slopes": torch.rand(4)},
        "softcap": {"softcap": 1.5},
        "scale": {"scale": 0.7},
        "causal bias": {"causal": True, "bias": bias[:1, :, :1]},
        "softcap slopes": {"softcap": 2.0, "slopes": torch.rand(4), "causal": True},
        "all": {
            "causal": True,
            "window": 100,
            "bias": bias,
            "softcap": 3.0,
            "slopes": torch.rand(4),
        },
    }


@pytest.mark.parametrize("variant", products())
@pytest.mark.parametrize("dtype", ACCURACY)
def test_what_is_done_to_scores(dtype, variant):
    given = tensors(h=4, m=70, s=130, d=20, dv=17, dtype=dtype)
    words = products()[variant]
    if "bias" in words:
        words["bias"] = words["bias"].to(dtype)
    check(given, **words)


@pytest.mark.parametrize("kvh", [1, 2, 6])
@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_heads_share_keys_in_each_layout(layout, kvh):
    given = tensors(h=6, kvh=kvh, m=5)
    right = attended(*given, causal=True)
    if layout == "bshd":
        given = [each.transpose(1, 2) for each in given]
    found = attention(*given, causal=True, layout=layout)
    found = found.transpose(1, 2) if layout == "bshd" else found
    torch.testing.assert_close(found.double(), right, atol=4e-3, rtol=0)


@pytest.mark.parametrize(
    "shape",
    [(), (1,), (13,), (9, 13), (9, 1), (2, 9, 13), (2, 1, 1, 13), (1, 2, 9, 13)],
)
def test_a_bias_broadcasts_as_in_torch(shape):
    check(tensors(), bias=torch.randn(shape).half())


def test_causal_is_that_of_torch():
    query, key, value = tensors(m=5, s=11)
    mask = torch.ones(5, 11, dtype=torch.bool).tril(6)
    right = torch.nn.functional.scaled_dot_product_attention(
        query.double(), key.double(), value.double(), attn_mask=mask
    )
    found = attention(query, key, value, causal=True).double()
    torch.testing.assert_close(found, right, atol=4e-3, rtol=0)


def test_queries_that_see_no_key_are_zeros():
    given = tensors(m=70, s=20)
    assert not attention(*given, causal=True)[:, :, :50].any()
    bias = torch.zeros(70, 20, dtype=torch.float16)
    bias[3] = -torch.inf
    found = attention(*given, bias=bias)
    assert not found[:, :, 3].any()
    check(given, bias=bias)


@pytest.mark.parametrize("empty", ["b", "h", "m", "s", "dv"])
def test_nothing_of_something(empty):
    sizes = {empty: 0, **({"kvh": 0} if empty == "h" else {})}
    given = tensors(**sizes)
    out = torch.full((*given[0].shape[:3], given[2].shape[3]), torch.nan).half()
    assert attention(*given, out=out) is out
    assert not out.any()


def test_numbers_that_are_none():
    query, key, value = tensors(m=6, s=70)
    query[0, 0, 1, 2], key[0, 1, 3, 0], value[1, 0, 69, 4] = torch.nan, torch.inf, 9e4
    query[1, 1, 2], value[1, 1, 5, 3] = -torch.inf, torch.nan
    found = attention(query, key, value)
    right = torch.nn.functional.scaled_dot_product_attention(
        query.double(), key.double(), value.double()
    )
    torch.testing.assert_close(found.double(), right, atol=4e-3, rtol=0, equal_nan=True)


@pytest.mark.parametrize("sign", [-1, 1])
def test_scores_far_from_zero(sign):
    query, key, value = tensors(m=33, s=41, d=20)
    check([query.abs() * 8, sign * key.abs() * 8, value])


GIVEN = tensors()
REFUSED = [
    ("WV0704", lambda q, k, v: attention(None, k, v)),
    ("WV0704", lambda q, k, v: attention(q, [1.0], v)),
    ("WV0705", lambda q, k, v: attention(q.float(), k, v)),
    ("WV0705", lambda q, k, v: attention(q, k.bfloat16(), v)),
    ("WV0705", lambda q, k, v: attention(q, k, v, slopes=torch.ones(2).half())),
    ("WV0705", lambda q, k, v: attention(q, k, v, bias=torch.ones(9, 13))),
    ("WV0706", lambda q, k, v: attention(q[0], k, v)),
    ("WV0706", lambda q, k, v: attention(q, k[0], v)),
    ("WV0707", lambda q, k, v: attention(q, k[..., :4], v)),
    ("WV0707", lambda q, k, v: attention(q, k, v[:, :, :4])),
    ("WV0707", lambda q, k, v: attention(q, k[:1], v[:1])),
    ("WV0707", lambda q, k, v: attention(q[:, :1], k, v)),
    ("WV0707", lambda q, k, v: attention(q[..., :0], k[..., :0], v)),
    ("WV0707", lambda q, k, v: attention(*tensors(d=WIDEST + 1))),
    ("WV0707", lambda q, k, v: attention(*tensors(dv=WIDEST + 1))),
    ("WV0707", lambda q, k, v: attention(q, k, v, window=0)),
    ("WV0707", lambda q, k, v: attention(q, k, v, softcap=-1.0)),
    ("WV0707", lambda q, k, v: attention(q, k, v, layout="sbhd")),
    ("WV0707", lambda q, k, v: attention(q, k, v, slopes=torch.ones(3))),
    ("WV0707", lambda q, k, v: attention(q, k, v, bias=torch.ones(5, 13).half())),
    ("WV0707", lambda q, k, v: attention(q, k, v, out=q[:1])),
    ("WV0708", lambda q, k, v: attention(q, k.to("meta"), v)),
    ("WV0714", lambda q, k, v: attention(q.requires_grad_(), k, v)),
]


@pytest.mark.parametrize(("code", "call"), REFUSED)
def test_what_does_not_fit_is_refused_at_the_call(code, call):
    with pytest.raises(LaunchError) as raised:
        call(*(each.clone() for each in GIVEN))
    assert raised.value.code == code
    assert "test_attention.py" in str(raised.value)
