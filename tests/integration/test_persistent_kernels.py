"""Persistent and stream-K products: every preset, every device, shapes at the edges."""

from __future__ import annotations

import gemm_persistent
import gemm_stream_k
import pytest
import torch

from wave_core.compile import Session

PRESETS = tuple(Session().plugins.presets)
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
EDGES = (
    {"m": 1, "n": 1, "k": 1, "workers": 2},
    {"m": 31, "n": 37, "k": 15, "workers": 1},
    {"m": 32, "n": 64, "k": 32, "workers": 2},
    {"m": 33, "n": 65, "k": 17, "workers": 4},
    {"m": 32, "n": 96, "k": 16, "workers": 7},
)
"""One element, odd sizes, whole tiles, one more, and more workgroups than tiles."""

PLACES = pytest.mark.parametrize(
    ("device", "target"), DEVICES, ids=["tiles", "lanes", "gfx942", "gfx950"]
)
SIZES = pytest.mark.parametrize("sizes", EDGES, ids=lambda row: f"{[*row.values()]}")


def check(build, **arguments):
    kernel, tensors, expected = build(block=32, **arguments)
    tensors[-1].fill_(torch.nan)
    kernel(*tensors)
    torch.testing.assert_close(tensors[-1], expected, rtol=1e-3, atol=1e-3)
    return kernel


@pytest.mark.covering(2)
@PLACES
@pytest.mark.parametrize(
    "sizes", EDGES, ids=lambda sizes: "x".join(map(str, sizes.values()))
)
@pytest.mark.parametrize("staged", [False, True], ids=["global", "staged"])
def test_persistent_product_at_edges(sizes, staged, device, target):
    kernel = check(
        gemm_persistent.build, staged=staged, device=device, target=target, **sizes
    )
    assert kernel.last_run.grid == (sizes["workers"],)
    assert kernel.last_run.reports == ()


@pytest.mark.covering(2)
@PLACES
@pytest.mark.parametrize(
    "sizes", EDGES, ids=lambda sizes: "x".join(map(str, sizes.values()))
)
@pytest.mark.parametrize("hybrid", [False, True], ids=["all", "rest"])
def test_stream_k_at_edges(sizes, hybrid, device, target):
    """Twice with the same locks: who waited for one leaves it free."""
    tiles = -(-sizes["m"] // 32) * -(-sizes["n"] // 32)
    streamed = None if hybrid else tiles
    kernel, tensors, expected = gemm_stream_k.build(
        block=32, streamed=streamed, device=device, target=target, **sizes
    )
    for _ in range(2):
        tensors[-1].fill_(torch.nan)
        kernel(*tensors)
        torch.testing.assert_close(tensors[-1], expected, rtol=1e-3, atol=1e-3)
    assert kernel.last_run.grid == (sizes["workers"],)
    assert kernel.last_run.reports == ()


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("device", ["sim", "emulator"])
def test_presets(preset, device, target):
    """Loops within the while loop are pipelined as others are; LDS is safe."""
    where = {"device": device, "target": target, "preset": preset}
    sizes = {"m": 40, "n": 70, "k": 80, "workers": 2}
    check(gemm_persistent.build, staged=preset != "naive", **sizes, **where)
    check(gemm_stream_k.build, **sizes | {"workers": 4}, **where)
