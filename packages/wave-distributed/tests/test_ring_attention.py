"""Attention around a ring of any size, of which each rank is played in turn."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings, strategies

from wave_core.diagnostics import LaunchError
from wave_distributed import attention as module, ring_attention
from wave_kernels.functions import attention_with_lse

HALVES = (torch.float16, torch.bfloat16)
ACCURACY = {torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""Of the largest value, as `attention` has it."""


@dataclass
class Played:
    """The ring as one rank sees it; what others hold is known."""

    rank: int
    pairs: list
    steps: int = 0

    @property
    def size(self):
        return len(self.pairs)

    def agree(self, *tensors, **others):
        """They do."""

    def hand_on(self, *tensors):
        held = self.all_received()
        assert [each.shape for each in tensors] == [each.shape for each in held]
        assert not self.steps or all(map(torch.Tensor.is_set_to, tensors, held))
        self.steps += 1
        return self

    def all_received(self):
        return self.pairs[(self.rank - self.steps) % self.size]


def around(parts, **words):
    """`ring_attention` on every rank, from what each of them has."""
    found = []
    for rank, operands in enumerate(parts):
        pairs = [[each.clone() for each in others] for _, *others in parts]
        with pytest.MonkeyPatch.context() as patch:
            ring = Played(rank, pairs)
            patch.setattr(module.Ring, "of", lambda *_, own=ring: own)
            found.append(ring_attention(*operands, **words))
    return found


def random(*shape, dtype=torch.float16):
    return torch.randn(shape).to(dtype)


def zigzag(whole, size):
    """The part of each rank."""
    rows = whole.tensor_split(2 * size, 2)
    return [torch.cat([rows[i], rows[-1 - i]], 2) for i in range(size)]


def spread(size, *tensors):
    return list(zip(*(zigzag(each, size) for each in tensors), strict=True))


def wanted(query, key, value, **words):
    group = query.shape[1] // max(key.shape[1], 1)
    key, value = (each.repeat_interleave(group, 1) for each in (key, value))
    operands = (each.double() for each in (query, key, value))
    return torch.nn.functional.scaled_dot_product_attention(*operands, **words)


def operands(size, half, heads, width, dtype=torch.float16):
    """Two heads of queries for each of keys, and twice the channels of values."""
    length, channels = 2 * size * half, (width, width, 2 * width)
    numbers = (2 * heads, heads, heads)
    return [
        random(2, number, length, wide, dtype=dtype)
        for number, wide in zip(numbers, channels, strict=True)
    ]


@settings(deadline=None, max_examples=8)
@given(
    size=strategies.integers(1, 5),
    half=strategies.integers(1, 20),
    heads=strategies.integers(1, 2),
    width=strategies.sampled_from([1, 8, 17, 64]),
    dtype=strategies.sampled_from(HALVES),
    causal=strategies.booleans(),
)
def test_a_ring_of_any_size(size, half, heads, width, dtype, causal):
    whole = operands(size, half, heads, width, dtype)
    want = zigzag(wanted(*whole, is_causal=causal), size)
    limit = ACCURACY[dtype] + torch.finfo(dtype).eps
    found = around(spread(size, *whole), causal=causal)
    for got, right in zip(found, want, strict=True):
        assert got.dtype == dtype
        assert (got - right).abs().max() <= limit * whole[2].abs().max()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_same_bits_each_time(size, causal):
    parts = spread(size, *operands(size, 9, 2, 16))
    first, again = (around(parts, causal=causal) for _ in range(2))
    assert all(map(torch.equal, first, again))


@pytest.mark.parametrize("causal", [False, True])
def test_a_result_is_rounded_once_however_many_ranks_there_are(causal):
    size, half = 5, 6
    parts = spread(size, *operands(size, half, 1, 16, torch.bfloat16))
    found = around(parts, causal=causal)
    for rank, (query, *_) in enumerate(parts):
        sums = total = 0.0
        for owner, (_, key, value) in enumerate(parts):
            first = half if causal and owner > rank else 0
            keys = half if causal and owner < rank else None
            rows, lse = attention_with_lse(
                query[:, :, first:],
                *(each[:, :, :keys] for each in (key, value)),
                causal=causal and owner == rank,
            )
            seen = torch.zeros(*query.shape[:3], 1, dtype=torch.float64)
            seen[:, :, first:] = lse.double().exp()[..., None]
            every = torch.zeros(found[rank].shape, dtype=torch.float64)
            every[:, :, first:] = rows.double()
            sums, total = sums + every * seen, total + seen
        want = sums / total
        step = torch.finfo(torch.bfloat16).eps / 2
        assert bool(((found[rank] - want).abs() <= step * want.abs() + 1e-4).all())


def test_keys_that_are_hidden_from_all_queries_of_a_step():
    query, key, value = operands(3, 4, 1, 8)
    key.fill_(-1)
    query.fill_(1)
    key[:, :, :4] = 0  # the first part of rank 0
    found = around(spread(3, query, key, value), scale=1e38)
    mean = value[:, :, :4].double().mean(2).repeat_interleave(2, 1)
    for rows in found:
        gap = (rows.double() - mean[:, :, None]).abs().max()
        assert gap <= (1e-3 + 2**-11) * value.abs().max()


@pytest.mark.parametrize("causal", [False, True])
def test_what_is_not_a_number_reaches_who_sees_it(causal):
    query, key, value = operands(3, 4, 1, 8)
    query[:, 0, 5], key[:, 0, 9, 3] = torch.nan, torch.nan
    want = torch.zeros(*query.shape[:3], value.shape[3], dtype=torch.bool)
    want[:, 0, 5] = want[:, :, 9 if causal else 0 :] = True
    found = around(spread(3, query, key, value), causal=causal)
    for got, right in zip(found, zigzag(want, 3), strict=True):
        assert torch.equal(got.isnan(), right)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("empty", ["batch", "rows", "channels"])
def test_of_nothing(empty, causal):
    query, key, value = operands(2, 3, 1, 8)
    if empty == "batch":
        query, key, value = (each[:0] for each in (query, key, value))
    if empty == "rows":
        query, key, value = (each[:, :, :0] for each in (query, key, value))
    if empty == "channels":
        value = value[..., :0]
    parts = [(query, key, value)] * 2
    for found in around(parts, causal=causal):
        assert found.shape == (*query.shape[:3], value.shape[3])


def test_queries_that_see_no_key_are_zeros():
    query, key, value = operands(3, 4, 1, 8)
    parts = [(query, key[:, :, :0], value[:, :, :0])] * 3
    for found in around(parts):
        assert found.shape == (*query.shape[:3], value.shape[3])
        assert not found.any()


@pytest.mark.parametrize(
    ("rows", "keys", "name"), [(5, 5, "query"), (4, 6, "key"), (4, 0, "key")]
)
def test_parts_that_are_none_are_refused(rows, keys, name):
    query, key = random(1, 1, rows, 8), random(1, 1, keys, 8)
    with pytest.raises(LaunchError, match=f"`{name}` has .* rows") as raised:
        around([(query, key, key)], causal=True)
    assert raised.value.code == "WV0707"
