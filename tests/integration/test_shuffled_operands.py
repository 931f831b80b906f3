"""Operands of scaled products in the order of lanes, and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wave_core.compile import Session
from wave_core.diagnostics import LaunchError
from wave_kernels.functions import shuffle_scales, shuffle_weights
from wave_kernels.microscaling import BLOCK, byte_place, scale_place, unshuffled

ROWS = (1, 15, 16, 17, 127, 128, 130)
DEPTHS = (32, 224, 256, 288, 544)
INSTRUCTION = "F32_16x16x256_K64_F8F6F4"


def random(rows, columns):
    """Bytes of which none is 0."""
    return torch.randint(1, 256, (rows, columns), dtype=torch.uint8)


def instruction(bits):
    """The row of the table for elements of so many bits."""
    return next(
        row
        for row in Session().target("gfx950").matrix_instructions
        if row.name == INSTRUCTION
        and any(dtype.bits == bits for dtype in row.operand_dtypes)
    )


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("k", DEPTHS)
@pytest.mark.parametrize("bits", [0, 4, 6, 8])
def test_nothing_is_lost_and_the_rest_is_zeros(rows, k, bits):
    plain = random(rows, k * bits // 8 if bits else k // BLOCK)
    shuffled = shuffle_weights(plain, bits) if bits else shuffle_scales(plain)
    shape = (-(-rows // 16), -(-k // 256), 512 * bits)
    assert shuffled.shape == (shape if bits else (-(-rows // 128), shape[1], 1024))
    back = unshuffled(shuffled.numpy(), tuple(plain.shape), bits)
    assert (back == plain.numpy()).all()
    assert shuffled.count_nonzero() == plain.numel()


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_lanes_find_their_bytes_side_by_side(bits):
    row = instruction(bits)
    assert (row.lhs.offsets("M") == np.arange(64)[:, None] % 16).all()
    taken = row.lhs.offsets("K") * bits // 8
    for lane, bytes_ in enumerate(taken):
        pieces = np.unique(bytes_ // 16 * 16)
        block, along, place = byte_place(lane % 16, pieces, bits)
        assert not block
        assert not along.any()
        assert sorted(place) == [lane * 16 + n * 1024 for n in range(bits // 2)]


def test_scales_of_eight_products_are_one_read():
    layout = instruction(8).scales
    i, j = (layout.offsets(dim) for dim in ("M", "K"))
    products = 16 * np.arange(8)[None, :, None]
    _, _, place = scale_place(i[:, None] + products, j[:, None])
    assert (place.reshape(64, 16) == np.arange(1024).reshape(64, 16)).all()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "int8"])
def test_types_stay(name):
    dtype = getattr(torch, name)
    plain = random(3, 64).view(dtype)
    shuffled = shuffle_weights(plain, 8)
    assert shuffled.dtype == dtype
    bytes_ = shuffle_weights(plain.view(torch.uint8), 8)
    assert torch.equal(shuffled.view(torch.uint8), bytes_)


@pytest.mark.parametrize(
    ("call", "code", "what"),
    [
        (lambda: shuffle_scales([1]), "WV0704", "`scales` is a list"),
        (lambda: shuffle_scales(torch.ones(2, 2)), "WV0705", "float32"),
        (lambda: shuffle_scales(random(2, 2)[0]), "WV0706", "1 dimensions"),
        (lambda: shuffle_weights(random(2, 2)[None], 4), "WV0706", "3 dimensions"),
        (lambda: shuffle_weights(random(2, 24), 8), "WV0707", "24 bytes"),
        (lambda: shuffle_weights(random(2, 32), 5), "WV0715", "`bits` is 5"),
    ],
)
def test_refusals(call, code, what):
    with pytest.raises(LaunchError, match=what) as caught:
        call()
    assert caught.value.code == code
