"""Examples that reduce, scan and pick, under every preset and on every device."""

from __future__ import annotations

import block_cumsum
import moe_align
import pytest
import rmsnorm
import topk
import torch

DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")


def built(example, where, preset, **sizes):
    device, target = where
    torch.manual_seed(len(sizes))
    return example.build(**sizes, device=device, target=target, preset=preset)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "sizes", [(1, 1), (3, 257), (2, 1024), (5, 1023), (2, 0)], ids=str
)
def test_block_cumsum(sizes, preset, where):
    m, n = sizes
    kernel, arguments, expected = built(block_cumsum, where, preset, m=m, n=n)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (5, 64, 2), (4, 65, 3), (3, 127, 8)], ids=str
)
def test_topk(sizes, preset, where):
    m, n, k = sizes
    kernel, arguments, expected = built(topk, where, preset, m=m, n=n, k=k)
    kernel(*arguments)
    a, places, values = arguments
    assert torch.equal(values, expected)
    assert torch.equal(a.gather(1, places.long()), values)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "sizes", [(1, 1), (64, 8), (255, 7), (256, 16), (33, 5)], ids=str
)
def test_moe_align(sizes, preset, where):
    tokens, experts = sizes
    kernel, arguments, (starts, order) = built(
        moe_align, where, preset, tokens=tokens, experts=experts
    )
    kernel(*arguments)
    assert torch.equal(arguments[1], starts)
    assert torch.equal(arguments[2], order)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "sizes", [(1, 1), (3, 255), (4, 256), (5, 257), (9, 1021), (2, 0)], ids=str
)
def test_rmsnorm(sizes, preset, where):
    m, n = sizes
    kernel, arguments, expected = built(rmsnorm, where, preset, m=m, n=n)
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=2e-3, atol=1e-3)
