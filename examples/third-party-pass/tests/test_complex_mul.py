"""The op with a layout of its own: tiles, lanes and machine code against torch."""

from __future__ import annotations

import pytest
import torch
from wave_example_pass.lang import Interleaved, complex_mul

import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.diagnostics import LaunchError, SimulationError, UserError

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
BLOCK_M, BLOCK_N = tkw.sym.BLOCK_M, tkw.sym.BLOCK_N
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE
WHERE = pytest.mark.parametrize(
    ("target", "device"),
    [
        ("generic", "sim-logical"),
        ("generic", "sim"),
        ("gfx942", "emulator"),
    ],
)
DTYPES = {torch.float32: tkw.f32, torch.float16: tkw.f16, torch.bfloat16: tkw.bf16}


def constraints(lanes=64, waves=2):
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WaveConstraint(M, BLOCK_M),
        tkw.WaveConstraint(N, BLOCK_N / waves),
        tkw.HardwareConstraint(threads_per_wave=lanes),
        Interleaved(N),
    ]


def product_of(dtype):
    kind = DTYPES[dtype]

    @tkw.wave(constraints())
    def product(
        a: tkw.Memory[M, N, GLOBAL, kind],
        b: tkw.Memory[M, N, GLOBAL, kind],
        c: tkw.Memory[M, N, GLOBAL, kind],
    ):
        tkw.write(complex_mul(tkw.read(a), tkw.read(b)), c)

    return product


def compiled(kernel, target, device, m, n, block_m=16, block_n=64):
    subs = {M: m, N: n, BLOCK_M: block_m, BLOCK_N: block_n}
    options = WaveCompileOptions(
        subs=subs, target=target, device=device, poison_outputs=True
    )
    return wave_compile(options, kernel)


def exact(a, b):
    """The product in float64 and, of its parts, the sums of magnitudes."""
    a, b = (torch.view_as_complex(x.double().unflatten(-1, (-1, 2))) for x in (a, b))
    size = a.abs() * b.abs()
    both = torch.stack((size, size), dim=-1).flatten(-2)
    return torch.view_as_real(a * b).flatten(-2), both


def check(got, a, b, roundings=4):
    want, size = exact(a, b)
    eps = max(torch.finfo(got.dtype).eps, torch.finfo(torch.float32).eps)
    assert bool(((got.double() - want).abs() <= roundings * eps * size + 1e-30).all())


@WHERE
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(1, 2), (16, 64), (17, 66), (5, 30)], ids=str)
def test_the_product_of_complex_numbers(target, device, dtype, m, n):
    torch.manual_seed(m * n)
    a, b = torch.randn(m, n).to(dtype), torch.randn(m, n).to(dtype)
    c = torch.full_like(a, torch.nan)
    compiled(product_of(dtype), target, device, m, n)(a, b, c)
    check(c, a, b)


@WHERE
def test_a_matrix_product_is_converted_to_its_layout(target, device):
    @tkw.wave([*constraints(), tkw.TilingConstraint(K, 16)])
    def rotated(
        a: tkw.Memory[M, K, GLOBAL, tkw.f16],
        b: tkw.Memory[N, K, GLOBAL, tkw.f16],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
        d: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)])
        def loop(acc: tkw.Register[M, N, tkw.f32]) -> tkw.Register[M, N, tkw.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(complex_mul(loop, tkw.read(c)), d)

    torch.manual_seed(3)
    a = torch.randint(-4, 5, (20, 32)).half()
    b = torch.randint(-4, 5, (70, 32)).half()
    c, d = torch.randn(20, 70), torch.full((20, 70), torch.nan)
    subs = {M: 20, N: 70, K: 32, BLOCK_M: 16, BLOCK_N: 64}
    options = WaveCompileOptions(subs=subs, target=target, device=device)
    wave_compile(options, rotated)(a, b, c, d)
    check(d, a.float() @ b.float().T, c)


@WHERE
def test_what_uses_the_product_may_want_another_layout(target, device):
    @tkw.wave(constraints(waves=1))
    def total(
        a: tkw.Memory[M, N, GLOBAL, tkw.f32],
        b: tkw.Memory[M, N, GLOBAL, tkw.f32],
        c: tkw.Memory[M, GLOBAL, tkw.f32],
    ):
        tkw.write(tkw.sum(complex_mul(tkw.read(a), tkw.read(b)), dim=N), c)

    torch.manual_seed(4)
    a, b = torch.randn(3, 62), torch.randn(3, 62)
    c = torch.full((3,), torch.nan)
    compiled(total, target, device, 3, 62)(a, b, c)
    want, size = exact(a, b)
    bound = size.sum(-1) * 70 * torch.finfo(torch.float32).eps
    assert bool(((c.double() - want.sum(-1)).abs() <= bound).all())


@pytest.mark.parametrize("target", ["gfx950", "gfx1100", "gfx1201"])
def test_machine_code_of_other_chips(target):
    lanes = 64 if target == "gfx950" else 32

    @tkw.wave(constraints(lanes))
    def product(
        a: tkw.Memory[M, N, GLOBAL, tkw.f32],
        b: tkw.Memory[M, N, GLOBAL, tkw.f32],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        tkw.write(complex_mul(tkw.read(a), tkw.read(b)), c)

    a, b = torch.randn(17, 66), torch.randn(17, 66)
    c = torch.full_like(a, torch.nan)
    compiled(product, target, "emulator", 17, 66)(a, b, c)
    check(c, a, b)


def scaled_by(factor):
    @tkw.wave(constraints())
    def scaled(
        a: tkw.Memory[M, N, GLOBAL, tkw.f32], b: tkw.Memory[M, N, GLOBAL, tkw.f32]
    ):
        tkw.write(complex_mul(tkw.read(a), factor(b)), b)

    return scaled


@WHERE
def test_a_constant_factor(target, device):
    a = torch.randn(4, 62)
    b = torch.full_like(a, torch.nan)
    half = scaled_by(lambda _: tkw.Register[M, N, tkw.f32](0.5))
    compiled(half, target, device, 4, 62)(a, b)
    check(b, a, torch.full_like(a, 0.5))


def test_what_nobody_wrote_stays_poison():
    kernel = compiled(scaled_by(tkw.read), "generic", "sim", 4, 62)
    with pytest.raises(SimulationError) as caught:
        kernel(torch.randn(4, 62), torch.empty(4, 62))
    assert caught.value.code == "WV0905"


@pytest.mark.parametrize("tile", [33, 66])
def test_a_tile_that_cuts_a_pair(tile):
    with pytest.raises(UserError, match="cuts a pair of `N` in two") as caught:
        compiled(product_of(torch.float32), "generic", "sim", 4, 66, 16, tile)
    assert caught.value.code == "EXAMPLE001"
    assert "Interleaved(N),\n" in str(caught.value)


def test_an_odd_extent_is_refused():
    kernel = compiled(product_of(torch.float32), "generic", "sim", 4, 33)
    a, b, c = (torch.randn(4, 33) for _ in range(3))
    with pytest.raises(LaunchError, match="N % 2"):
        kernel(a, b, c)


def test_without_the_plugin_the_constraint_is_refused():
    session = Session(config=Config(disabled_plugins=("example",)))
    options = WaveCompileOptions(subs={M: 4, N: 4, BLOCK_M: 4, BLOCK_N: 4})
    with pytest.raises(UserError) as caught:
        wave_compile(options, product_of(torch.float32), session=session)
    assert caught.value.code == "WV0326"
