"""`join_rows` on tensors of the CPU, against f64, in any types and windows."""

from __future__ import annotations

import pytest
import torch

from wave_kernels.functions import attention_with_lse
from wave_kernels.functions.attention_join import join_rows

TYPES = (torch.float32, torch.float16, torch.bfloat16)
WIDTHS = (1, 5, 64, 128, 200)


def random(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype)


def found(rows, width, dtype):
    """What random queries found, of two sequences of three heads."""
    return random(2, 3, rows, width, dtype=dtype), random(2, 3, rows) * 4


def poisoned(like, dtype):
    return (
        torch.full_like(like[0], torch.nan, dtype=dtype),
        torch.full_like(like[1], torch.nan),
    )


def joined(kept, part):
    """Both in f64; rows that have seen nothing are zeros."""
    rows, lse, more, more_lse = (each.double() for each in (*kept, *part))
    whole = torch.logaddexp(lse, more_lse)
    base = whole.masked_fill(whole == -torch.inf, 0.0)
    one, other = ((each - base).exp()[..., None] for each in (lse, more_lse))
    return rows * one + more * other, whole


def check(kept, part, into, first, end):
    """Rows from ``first`` to ``end`` are joined, and no others written."""
    skipped = kept[1].shape[2] - part[1].shape[2]
    before = [each.clone() for each in into]
    shown = [each[:, :, first:end].clone() for each in kept]
    wanted = joined(shown, [x[:, :, first - skipped : end - skipped] for x in part])
    join_rows(kept, part, into, first, end)
    for got, was, want in zip(into, before, wanted, strict=True):
        step = torch.finfo(got.dtype).eps / 2
        limit = (1e-5 + step) * max(8.0, float(want.nan_to_num(0, 0, 0).abs().max()))
        new = got[:, :, first:end].double()
        torch.testing.assert_close(new, want, atol=limit, rtol=0, equal_nan=True)
        for rest in (slice(0, first), slice(end, None)):
            assert torch.equal(got[:, :, rest].isnan(), was[:, :, rest].isnan())
            assert torch.equal(*(x[:, :, rest].nan_to_num() for x in (got, was)))


@pytest.mark.covering(2)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("result", TYPES)
@pytest.mark.parametrize("of_part", TYPES)
@pytest.mark.parametrize("of_kept", TYPES)
def test_rows_of_any_types(of_kept, of_part, result, width):
    kept, part = found(19, width, of_kept), found(19, width, of_part)
    check(kept, part, poisoned(kept, result), 0, 19)


@pytest.mark.parametrize("first", [12, 16, 30])
@pytest.mark.parametrize("end", [31, 37])
def test_other_rows_are_left(first, end):
    kept, part = found(37, 8, torch.float32), found(25, 8, torch.bfloat16)
    check(kept, part, poisoned(kept, torch.bfloat16), first, end)


@pytest.mark.parametrize("first", [0, 18])
def test_joined_rows_take_the_place_of_others(first):
    kept, part = found(36, 64, torch.float16), found(36 - first, 64, torch.float16)
    _, logs = poisoned(kept, torch.float16)
    check(kept, part, (kept[0], logs), first, 36)


def test_who_has_seen_nothing_adds_nothing():
    kept, part = found(5, 8, torch.float32), found(5, 8, torch.float32)
    kept[1][:, :, :3] = part[1][:, :, 2:4] = -torch.inf
    kept[0][:, :, :3] = part[0][:, :, 2:4] = 0.0
    into = poisoned(kept, torch.float32)
    check(kept, part, into, 0, 5)
    assert not into[0][:, :, 2].any()
    assert torch.equal(into[0][:, :, 3], kept[0][:, :, 3])
    assert torch.equal(into[0][:, :, 0], part[0][:, :, 0])


def test_what_is_not_a_number_stays_so():
    kept, part = found(6, 8, torch.float32), found(6, 8, torch.float32)
    kept[0][:, :, 1, 2] = part[0][:, :, 2, 3] = torch.nan
    kept[1][:, :, 3] = part[1][:, :, 4] = torch.nan
    check(kept, part, poisoned(kept, torch.bfloat16), 0, 6)


@pytest.mark.parametrize("empty", range(4))
def test_of_nothing(empty):
    shape = [2, 3, 4, 5]
    shape[empty] = 0
    kept = random(*shape), random(*shape[:3])
    join_rows(kept, kept, (torch.empty(shape), torch.empty(shape[:3])), 0, shape[2])


@pytest.mark.parametrize("parts", [2, 3])
def test_attention_to_parts_of_keys_is_that_to_all(parts):
    query, key, value = (random(1, 2, 33, 16, dtype=torch.float16) for _ in range(3))
    each = zip(key.chunk(parts, 2), value.chunk(parts, 2), strict=True)
    kept, *others = (attention_with_lse(query, *some) for some in each)
    for part in others:
        into = poisoned(kept, torch.float32)
        join_rows(kept, part, into, 0, 33)
        kept = into
    wanted = attention_with_lse(query, key, value)
    assert (kept[0] - wanted[0]).abs().max() <= 2e-3 * value.abs().max()
    assert (kept[1] - wanted[1]).abs().max() <= 1e-3
