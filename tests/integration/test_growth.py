"""Work of the compiler on kernels of many parts: in step with how many they are."""

from __future__ import annotations

import cProfile

import pytest

import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE
MATRIX = tkw.MMAType.F32_32x32x8_F16
LIMIT = 2.6
"""Calls that twice as many parts add, over those that the parts before added."""


def lds_in_turn(count):
    """Buffers of LDS one after another, which take the same bytes."""
    memory = tkw.Memory[M, N, GLOBAL, tkw.f32]

    @tkw.wave(tiles(2, 64))
    def kernel(a: memory, b: memory):
        x = tkw.read(a)
        for _ in range(count):
            buffer = tkw.allocate((M, N), distributed_shape=(2, 64), dtype=tkw.f32)
            tkw.write(x, buffer)
            x = tkw.read(buffer)
        tkw.write(x, b)

    return kernel, {M: 3, N: 66}


def lds_at_once(count):
    """Buffers of LDS that are all written before one is read."""
    memory = tkw.Memory[M, N, GLOBAL, tkw.f32]

    @tkw.wave(tiles(1, 64))
    def kernel(a: memory, b: memory):
        x = tkw.read(a)
        buffers = [
            tkw.allocate((M, N), distributed_shape=(1, 64), dtype=tkw.f32)
            for _ in range(count)
        ]
        for buffer in buffers:
            tkw.write(x, buffer)
        for buffer in buffers:
            x = x + tkw.read(buffer)
        tkw.write(x, b)

    return kernel, {M: 3, N: 66}


def products_in_products(count):
    """Matrix products whose left operand is the product before."""

    @tkw.wave([*tiles(32, 32, MATRIX)[::2], tkw.WaveConstraint(M, 32)])
    def kernel(
        a: tkw.Memory[M, K, GLOBAL, tkw.f16],
        b: tkw.Memory[N, K, GLOBAL, tkw.f16],
        c: tkw.Memory[K, N, GLOBAL, tkw.f16],
        d: tkw.Memory[M, K, GLOBAL, tkw.f16],
    ):
        x, right, left = tkw.read(a), tkw.read(b), tkw.read(c)
        for _ in range(count // 2):
            y = tkw.mma(x, right, tkw.Register[M, N, tkw.f32](0.0))
            y = tkw.cast(y, tkw.f16)
            z = tkw.mma(y, left, tkw.Register[M, K, tkw.f32](0.0))
            x = tkw.cast(z, tkw.f16)
        tkw.write(x, d)

    return kernel, {M: 32, N: 32, K: 32}


def sums_of_products(count):
    """Elementwise products in products."""
    memory = tkw.Memory[M, N, GLOBAL, tkw.f32]

    @tkw.wave(tiles(2, 64))
    def kernel(a: memory, b: memory):
        x = y = tkw.read(a)
        for _ in range(count):
            y = y * x + x
        tkw.write(y, b)

    return kernel, {M: 3, N: 66}


def separate_writes(count):
    """Values that have nothing to do with each other."""
    memory = tkw.Memory[M, N, GLOBAL, tkw.f32]

    @tkw.wave(tiles(2, 64))
    def kernel(a: memory, b: memory):
        for _ in range(count):
            tkw.write(tkw.read(a), b)

    return kernel, {M: 3, N: 66}


def tiles(rows, columns, matrix=None):
    """One wave a workgroup."""
    return [
        tkw.WorkgroupConstraint(M, rows, 0),
        tkw.WorkgroupConstraint(N, columns, 1),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=matrix),
    ]


def calls(make, count):
    """Calls of functions that compiling the kernel with ``count`` parts takes."""
    kernel, sizes = make(count)
    options = WaveCompileOptions(subs=sizes, target="gfx942", device="sim")
    session = Session(config=Config(cache=False), announce=lambda _: None)
    profile = cProfile.Profile()
    profile.runcall(wave_compile, options, kernel, session=session)
    return sum(row.callcount for row in profile.getstats())


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lds_in_turn, 32),
        (lds_at_once, 32),
        (products_in_products, 16),
        (sums_of_products, 64),
        (separate_writes, 32),
    ],
)
def test_work_is_in_step_with_the_size(make, count):
    calls(make, 2)
    one, two, four = (calls(make, part * count) for part in (1, 2, 4))
    assert four - two < LIMIT * (two - one)
