"""Products of groups of rows on tensors of the CPU, against f64; what is refused."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
import torch

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import grouped_matmul, grouped_matmul_weight

TILE = 16
SIZES = (0, 1, TILE - 1, TILE, TILE + 1, 0, 37, 0)
"""Rows of groups: none at both ends and between, one, and about a tile."""


def starts(sizes):
    return torch.tensor([0, *accumulate(sizes)], dtype=torch.int32)


def operands(sizes, n=19, k=23, *, rows=None, dtype=torch.float32):
    """Rows, weights and starts."""
    height = sum(sizes) if rows is None else rows
    a, b = torch.randn(height, k).to(dtype), torch.randn(len(sizes), k, n).to(dtype)
    return a, b, starts(sizes)


def wanted(a, b, ends):
    groups = zip(pairwise(ends.tolist()), b, strict=True)
    return torch.cat([a[first:end].double() @ w.double() for (first, end), w in groups])


def check(given, *, accuracy=1e-5, rows=None, **options):
    a, b, ends = given
    taken = a if rows is None else a[rows.long()]
    right = wanted(taken, b, ends)
    out = torch.full(right.shape, torch.nan, dtype=options.get("out_dtype", a.dtype))
    found = grouped_matmul(a, b, ends, rows=rows, out=out, **options)
    assert found is out
    limit = accuracy * float(wanted(taken.abs(), b.abs(), ends).max())
    torch.testing.assert_close(found.double(), right, rtol=0, atol=limit)


@pytest.mark.parametrize(
    ("dtype", "accuracy"),
    [(torch.float32, 1e-5), (torch.float16, 2.0**-11), (torch.bfloat16, 2.0**-8)],
)
def test_groups_of_every_size(dtype, accuracy):
    check(operands(SIZES, dtype=dtype), accuracy=accuracy)


@pytest.mark.parametrize("sizes", [(1,), (TILE + 1,), (0, 0, 5), (1,) * 20, (0, 200)])
@pytest.mark.parametrize("n", [1, TILE + 1])
def test_few_and_many_groups(sizes, n):
    check(operands(sizes, n, k=5))


def test_rows_that_a_table_picks():
    rows = torch.randint(0, 9, (sum(SIZES),), dtype=torch.int32)
    check(operands(SIZES, rows=9), rows=rows)
    nothing = operands((0, 0), rows=9)
    assert grouped_matmul(*nothing, rows=rows[:0]).shape == (0, 19)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("picked", [False, True])
@pytest.mark.parametrize("sizes", [SIZES, (1,), (0, 0, 5), (0, 200), (0, 0), ()])
def test_gradients_of_weights(sizes, picked, dtype):
    ends, height = starts(sizes), sum(sizes)
    a, grad = torch.randn(9 if picked else height, 23), torch.randn(height, 19)
    a, grad = a.to(dtype), grad.to(dtype)
    rows = torch.randint(0, 9, (height,), dtype=torch.int32) if picked else None
    out = torch.full((len(sizes), 23, 19), torch.nan, dtype=dtype)
    found = grouped_matmul_weight(a, grad, ends, rows=rows, out=out)
    assert found is out
    taken = a if rows is None else a[rows.long()]
    for (first, end), each in zip(pairwise(ends.tolist()), found, strict=True):
        left, right = taken[first:end].double().mT, grad[first:end].double()
        limit = max(1e-5, torch.finfo(dtype).eps) * (left.abs() @ right.abs())
        assert bool(((each.double() - left @ right).abs() <= limit).all())


def test_rows_of_other_groups_are_not_read():
    a, grad = torch.full((5, 2), torch.nan), torch.ones(5, 3)
    a[2:4] = 1.0
    found = grouped_matmul_weight(a, grad, starts((2, 2, 1)))
    assert found[1].tolist() == [[2.0] * 3] * 2
    assert found[::2].isnan().all()


def test_weights_are_read_as_they_lie():
    a, b, ends = operands(SIZES)
    check((a, b.mT.contiguous().mT, ends))
    check((a[:, ::2], b[:, ::2], ends))


def test_operands_of_one_byte():
    given = operands(SIZES, dtype=torch.float8_e5m2)
    assert grouped_matmul(*given).dtype == torch.bfloat16
    check(given, out_dtype=torch.float32)


def test_nothing_of_something():
    a, b, ends = operands((2, 1))
    assert grouped_matmul(a[:0], b, ends * 0).shape == (0, 19)
    assert grouped_matmul(a, b[..., :0], ends).shape == (3, 0)
    assert not grouped_matmul(a[:, :0], b[:, :0], ends).any()
    assert grouped_matmul(a[:0], b[:0], ends[:1]).shape == (0, 19)


def refused(**changes):
    """A call of which some arguments are replaced."""
    names = ("a", "b", "starts")
    words = dict(zip(names, operands((2, 1)), strict=True))
    words |= {name: make(words.get(name)) for name, make in changes.items()}
    return grouped_matmul(**words)


def i32(*numbers):
    return lambda _: torch.tensor(numbers, dtype=torch.int32)


REFUSED = [
    ("WV0704", "b", {"b": lambda _: None}),
    ("WV0705", "a", {"a": lambda a: a.double()}),
    ("WV0705", "b", {"b": lambda b: b.half()}),
    ("WV0705", "starts", {"starts": lambda s: s.long()}),
    ("WV0705", "out_dtype", {"out_dtype": lambda _: torch.int32}),
    ("WV0705", "rows", {"rows": lambda _: torch.arange(3)}),
    ("WV0706", "a", {"a": lambda a: a[0]}),
    ("WV0706", "b", {"b": lambda b: b[0]}),
    ("WV0707", "b", {"b": lambda b: b[:, 1:]}),
    ("WV0707", "starts", {"starts": i32(0, 3)}),
    ("WV0707", "starts", {"starts": i32(0, 2, 4)}),
    ("WV0707", "starts", {"starts": i32(0, 1, 2)}),
    ("WV0707", "starts", {"starts": i32(1, 2, 3)}),
    ("WV0707", "starts", {"starts": i32(0, 4, 3)}),
    ("WV0707", "starts", {"rows": i32(0, 1)}),
    ("WV0707", "rows", {"rows": i32(0, 1, 3)}),
    ("WV0707", "rows", {"rows": i32(0, 1, -1)}),
    ("WV0707", "out", {"out": lambda _: torch.empty(2, 19)}),
    ("WV0708", "b", {"b": lambda b: b.to("meta")}),
    ("WV0714", "b", {"b": lambda b: b.requires_grad_()}),
]


@pytest.mark.parametrize(("code", "name", "changes"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(code, name, changes):
    with pytest.raises(LaunchError) as raised:
        refused(**changes)
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
    assert "test_grouped_products.py" in str(raised.value)


A, GRAD, ENDS = torch.zeros(3, 4), torch.zeros(3, 5), starts((2, 1))


@pytest.mark.parametrize(
    ("code", "name", "call"),
    [
        ("WV0705", "grad", lambda: grouped_matmul_weight(A, GRAD.half(), ENDS)),
        ("WV0706", "grad", lambda: grouped_matmul_weight(A, GRAD[0], ENDS)),
        ("WV0707", "grad", lambda: grouped_matmul_weight(A, GRAD[:2], ENDS)),
        ("WV0707", "starts", lambda: grouped_matmul_weight(A, GRAD, ENDS - 1)),
        ("WV0707", "starts", lambda: grouped_matmul_weight(A, GRAD, ENDS[:0])),
        ("WV0707", "out", lambda: grouped_matmul_weight(A, GRAD, ENDS, out=A)),
    ],
)
def test_gradients_of_weights_refuse_what_does_not_fit(code, name, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
