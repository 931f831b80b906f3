"""Functions of single threads, called on tiles and by other threads."""

from __future__ import annotations

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError

M, N, T = tkl.sym.M, tkl.sym.N, tkl.sym.T
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
Floats = tkl.Memory[M, N, GLOBAL, tkl.f32]
Numbers = tkl.Memory[M, N, GLOBAL, tkl.i32]
Table = tkl.Memory[T, GLOBAL, tkl.f32]
Counts = tkl.Memory[T, GLOBAL, tkl.i32]
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
SHAPES = ((1, 1), (16, 31), (17, 33), (15, 64))


@tkw.thread()
def leaky(x: tkl.f32, slope: tkl.f32):
    @tkw.conditional(x > 0, else_return=slope * x)
    def positive():
        return x

    return positive


@tkw.thread()
def steps_of(n: tkl.i32, limit):
    """The steps of a number to 1, and what is left of it after ``limit`` of them."""

    @tkw.iterate(
        init_args=[n, n * 0], condition=lambda n, count: (n > 1) & (count < limit)
    )
    def loop(n, count):
        @tkw.conditional(n % 2 == 0, else_return=3 * n + 1)
        def even():
            return n // 2

        return even, count + 1

    return loop


@tkw.thread()
def looked_up(table: Table, i: tkl.i32, hits: Counts):
    """An element of a table and the next one, if there are both; else -1."""
    missing = tkw.cast(i, tkl.f32) * 0.0 - 1.0

    @tkw.conditional((i >= 0) & (i < T), else_return=missing)
    def inside():
        tkw.atomic_add(1, hits, at=i)

        @tkw.conditional(i + 1 < T, else_return=missing)
        def both():
            return tkw.load(table, i) + tkw.load(table, i + 1)

        return both

    return inside


def distributed(waves):
    return [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WaveConstraint(M, 16 // waves),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]


@tkw.wave(distributed(2))
def branches(a: Floats, out: Floats):
    tkw.write(leaky(tkw.read(a), 0.5), out)


@tkw.wave(distributed(1))
def loops(a: Numbers, left: Numbers, steps: Numbers):
    n, count = steps_of(tkw.read(a), 9)
    tkw.write(n, left)
    tkw.write(count, steps)


@tkw.wave(distributed(2))
def gathers(table: Table, places: Numbers, hits: Counts, out: Floats):
    tkw.write(looked_up(table, tkw.read(places), hits), out)


def run(kernel, shape, where, *arguments, **options):
    device, target = where
    subs = {M: shape[0], N: shape[1], T: 9}
    options = tkw.WaveCompileOptions(subs=subs, device=device, target=target, **options)
    tkw.wave_compile(options, kernel)(*arguments)


def numbers(shape, low, high):
    torch.manual_seed(shape[0])
    return torch.randint(low, high, shape, dtype=torch.int32)


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
def test_branches(shape, where):
    a, out = torch.randn(shape), torch.full(shape, torch.nan)
    a.view(-1)[0] = torch.nan
    run(branches, shape, where, a, out)
    wanted = torch.where(a > 0, a, 0.5 * a)
    torch.testing.assert_close(out, wanted, equal_nan=True)


def counted(n, limit):
    count = 0
    while n > 1 and count < limit:
        n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
    return n, count


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
def test_loops(shape, where):
    a = numbers(shape, -3, 40)
    left, steps = torch.full_like(a, -9), torch.full_like(a, -9)
    run(loops, shape, where, a, left, steps)
    wanted = torch.tensor([counted(n, 9) for n in a.flatten().tolist()])
    assert torch.equal(torch.stack([left, steps], -1).view(-1, 2), wanted.int())


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
def test_loads_and_atomics_in_branches(shape, where):
    places = numbers(shape, -4, 13)
    table, hits = torch.randn(9), torch.zeros(9, dtype=torch.int32)
    out = torch.full(shape, torch.nan)
    run(gathers, shape, where, table, places, hits, out)
    sums = torch.cat([table[:-1] + table[1:], torch.tensor([-1.0])])
    inside = (places >= 0) & (places < 9)
    assert torch.equal(out, torch.where(inside, sums[places.clamp(0, 8).long()], -1.0))
    assert torch.equal(hits, torch.bincount(places[inside], minlength=9).int())


@pytest.mark.parametrize("where", DEVICES[1:3])
def test_threads_call_each_other(where):
    @tkw.thread()
    def half(n: tkl.i32):
        return n // 2, tkw.thread_id()

    @tkw.thread([tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()])
    def kernel(a: tkl.Memory[N, GLOBAL, tkl.i32]):
        t = tkw.thread_id()
        number, own = half(tkw.load(a, t))
        tkw.store(number * 1000 + own, a, t)

    a = torch.arange(64, dtype=torch.int32)
    run(kernel, (1, 64), where, a)
    assert a.tolist() == [t // 2 * 1000 + t for t in range(64)]


def test_a_loop_of_elements_in_several_waves_is_refused():
    @tkw.wave(distributed(2))
    def kernel(a: Numbers):
        tkw.write(steps_of(tkw.read(a), 9)[1], a)

    with pytest.raises(UserError) as caught:
        run(kernel, (16, 32), DEVICES[1], numbers((16, 32), 1, 9))
    assert caught.value.code == "WV0412"
