"""The op that is not elementwise: its meaning on tiles, and its rule for lanes."""

from __future__ import annotations

import pytest
import torch
from wave_example_pass.lang import swap_pairs

import wave_core.lang as tkw
from wave_core.compile import WaveCompileOptions, wave_compile
from wave_core.diagnostics import UserError

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
BLOCK_M, BLOCK_N, EACH = tkw.sym.BLOCK_M, tkw.sym.BLOCK_N, tkw.sym.EACH
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE
DEVICES = pytest.mark.parametrize("device", ["sim", "sim-logical"])


def constraints(waves=1):
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WaveConstraint(M, BLOCK_M),
        tkw.WaveConstraint(N, BLOCK_N / waves),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]


def swapped(tensor):
    return tensor.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)


def compiled(kernel, device, **sizes):
    return wave_compile(WaveCompileOptions(subs=sizes, device=device), kernel)


def swap(each=None):
    """A kernel that swaps pairs; ``each`` elements of a row are in one lane."""

    @tkw.wave(constraints(waves=2))
    def pairs(
        a: tkw.Memory[M, N, GLOBAL, tkw.f16], b: tkw.Memory[M, N, GLOBAL, tkw.f16]
    ):
        tkw.write(swap_pairs(tkw.read(a, elements_per_thread=each)), b)

    return pairs


@DEVICES
@pytest.mark.parametrize("each", [None, 1, 2, 8])
@pytest.mark.parametrize("size", [64, 50])
def test_pairs_change_places(device, each, size):
    a = torch.randn(20, size).half()
    b = torch.full_like(a, torch.nan)
    kernel = compiled(swap(each), device, M=20, N=size, BLOCK_M=16, BLOCK_N=64)
    kernel(a, b)
    assert torch.equal(b, swapped(a))


@DEVICES
def test_the_last_of_an_odd_number_has_no_partner(device):
    a = torch.randn(5, 33).half()
    b = torch.full_like(a, torch.nan)
    compiled(swap(), device, M=5, N=33, BLOCK_M=16, BLOCK_N=32)(a, b)
    assert torch.equal(b[:, :32], swapped(a[:, :32]))


def test_lanes_count_what_they_move():
    a = torch.randn(16, 64).half()
    kernel = compiled(swap(1), "sim", M=16, N=64, BLOCK_M=16, BLOCK_N=64)
    kernel(a, torch.empty_like(a))
    assert kernel.last_run.counters["instructions"]["shuffle"] == 16 * 64 // 64


@DEVICES
def test_the_layout_of_a_matrix_product_is_followed(device):
    @tkw.wave([*constraints(), tkw.TilingConstraint(K, 16)])
    def product(
        a: tkw.Memory[M, K, GLOBAL, tkw.f16],
        b: tkw.Memory[N, K, GLOBAL, tkw.f16],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)])
        def loop(acc: tkw.Register[M, N, tkw.f32]) -> tkw.Register[M, N, tkw.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(swap_pairs(loop), c)

    a, b = torch.randn(32, 32).half(), torch.randn(64, 32).half()
    c = torch.empty(32, 64)
    compiled(product, device, M=32, N=64, K=32, BLOCK_M=16, BLOCK_N=32)(a, b, c)
    assert torch.allclose(c, swapped(a.float() @ b.float().T), atol=1e-3)


@DEVICES
def test_a_tile_that_cuts_pairs_in_two(device):
    a = torch.randn(4, 6).half()
    kernel = compiled(swap(), device, M=4, N=6, BLOCK_M=4, BLOCK_N=6)
    with pytest.raises(UserError, match="elements of different tiles") as caught:
        kernel(a, torch.empty_like(a))
    assert caught.value.code == "WV0601"


def test_a_scalar_has_no_pairs():
    @tkw.wave(constraints())
    def kernel(b: tkw.Memory[M, N, GLOBAL, tkw.f16]):
        tkw.write(swap_pairs(tkw.scalar(1.0, tkw.f16)), b)

    with pytest.raises(UserError, match="got a scalar") as caught:
        compiled(kernel, "sim", M=4, N=4, BLOCK_M=4, BLOCK_N=4)
    assert caught.value.code == "WV0208"
