"""NaN and rounding as torch has them, executed."""

from __future__ import annotations

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_emulator_amdgcn import emulate, load

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 4, N: 64}
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
ROWS = [
    tkw.WorkgroupConstraint(M, 1, 0),
    tkw.HardwareConstraint(vector_shapes={M: 1, N: N}),
]


def run(emitted, kernel, target, *tensors, **options):
    code = emitted.files(kernel, "hsaco", target, SIZES, **options)["code.hsaco"]
    emulate(load(code), [t.view(torch.uint8).numpy() for t in tensors], grid=(4, 1, 1))


def with_nans(dtype):
    found = torch.linspace(-3, 3, 256).reshape(4, 64)
    found[0, ::3] = found[2, 5] = torch.nan
    return found.to(TORCH[dtype])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TORCH)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_of_nan_are_nan(emitted, name, dtype, target):
    kind = getattr(tkl, dtype)
    choose = getattr(tkw, name)

    @tkw.wave(ROWS)
    def extreme(
        a: tkl.Memory[M, N, GLOBAL, kind],
        b: tkl.Memory[M, N, GLOBAL, kind],
        c: tkl.Memory[M, N, GLOBAL, kind],
    ):
        tkw.write(choose(tkw.read(a), tkw.read(b)), c)

    a, b = with_nans(dtype), with_nans(dtype).flip(1).contiguous()
    c = torch.zeros_like(a)
    run(emitted, extreme, target, a, b, c)
    assert torch.equal(c.nan_to_num(9), getattr(torch, name)(a, b).nan_to_num(9))


@pytest.mark.parametrize("target", TARGETS)
def test_the_maximum_of_a_row_with_nan_is_nan(emitted, target):
    @tkw.wave(ROWS)
    def largest(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.max(tkw.read(a), dim=N), b)

    a, b = with_nans("f32"), torch.zeros(4)
    run(emitted, largest, target, a, b)
    assert torch.equal(b.nan_to_num(9), a.amax(1).nan_to_num(9))


def test_narrowing_saturates_and_keeps_nan(emitted):
    @tkw.wave(ROWS)
    def narrow(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f8e4m3fn]
    ):
        tkw.write(tkw.cast(tkw.read(a), tkl.f8e4m3fn), b)

    a = with_nans("f32") * 200
    b = torch.zeros(4, 64, dtype=torch.float8_e4m3fn)
    run(emitted, narrow, "gfx950", a, b)
    wanted = a.clamp(-448, 448).to(torch.float8_e4m3fn)
    assert torch.equal(b.float().nan_to_num(9), wanted.float().nan_to_num(9))


BYTES = {
    "f8e4m3fn": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "f8e4m3fnuz": torch.float8_e4m3fnuz,
    "f8e5m2fnuz": torch.float8_e5m2fnuz,
}


def around(codes, kind):
    """For each code its number, made a bit smaller, larger, and a tie with the next."""
    values = codes.float()
    following = (codes.view(torch.uint8) + 1).view(kind).float()
    ends = torch.tensor([torch.inf, -torch.inf, torch.nan, 0.0, 1e-30, 3e38])
    ties = ((values + following) / 2).flatten()
    ties[: len(ends)] = ends
    return [values * 0.99, values * 1.01, ties.reshape(4, 64)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BYTES)
def test_every_chip_converts_every_byte(emitted, name, target):
    """With instructions for the type or without, all codes and what lies between."""
    small, kind = getattr(tkl, name), BYTES[name]

    @tkw.wave(ROWS)
    def both_ways(
        a: tkl.Memory[M, N, GLOBAL, small],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
        x: tkl.Memory[M, N, GLOBAL, tkl.f32],
        y: tkl.Memory[M, N, GLOBAL, small],
    ):
        tkw.write(tkw.cast(tkw.read(a), tkl.f32), b)
        tkw.write(tkw.cast(tkw.read(x), small), y)

    codes = torch.arange(256).to(torch.uint8).reshape(4, 64).view(kind)
    for x in around(codes, kind):
        b, y = torch.zeros(4, 64), torch.zeros_like(codes)
        run(emitted, both_ways, target, codes, b, x, y)
        torch.testing.assert_close(b, codes.float(), rtol=0, atol=0, equal_nan=True)
        limited = x.clamp(-448, 448) if name == "f8e4m3fn" else x
        wanted = limited.to(kind).float()
        torch.testing.assert_close(y.float(), wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
def test_fast_math_keeps_infinities_and_nan(emitted, target):
    @tkw.wave(ROWS)
    def powers(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        value = tkw.read(a)
        wanted = value > tkl.Register[M, N, tkl.f32](-1.0)
        zero = tkl.Register[M, N, tkl.f32](0.0)
        masked = value + tkw.select(
            wanted, zero, tkl.Register[M, N, tkl.f32](-torch.inf)
        )
        tkw.write(tkw.exp2(masked), b)
        tkw.write(tkw.max(masked, dim=N), c)

    a = torch.linspace(-3, 3, 256).reshape(4, 64)
    a[3, 7] = torch.inf
    with_nan = a.clone()
    with_nan[1, 3] = torch.nan
    masked = torch.where(a > -1, a, -torch.inf)
    b, c = torch.zeros_like(a), torch.zeros(4)
    run(emitted, powers, target, a, b, c, use_fast_math=True)
    torch.testing.assert_close(b, masked.exp2())
    assert torch.equal(c, masked.amax(1))
    run(emitted, powers, target, with_nan, b, c, use_fast_math=True)
    assert torch.equal(b.isnan(), with_nan.isnan())
