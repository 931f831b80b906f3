"""Kernels of single threads, under every preset and on every device."""

from __future__ import annotations

import pytest
import single_threads
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import SimulationError, UserError

N, M = tkl.sym.N, tkl.sym.M
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
Numbers = tkl.Memory[N, GLOBAL, tkl.i32]
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")
KERNELS = {
    single_threads.vector_add: (0, 1, 255, 256, 257),
    single_threads.block_sum: (1, 251, 256, 513),
    single_threads.transpose: (1, 15, 16, 17, 37),
}


def check(kernel, where, n, **options):
    device, target = where
    torch.manual_seed(n)
    found, arguments, expected = single_threads.build(
        kernel, m=17, n=n, device=device, target=target, **options
    )
    found(*arguments)
    torch.testing.assert_close(arguments[-1], expected)


@pytest.mark.covering(2)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
def test_examples(kernel, preset, where):
    sizes = KERNELS[kernel]
    start = PRESETS.index(preset)
    for n in (sizes[start % len(sizes)], sizes[(start + 2) % len(sizes)]):
        check(kernel, where, n, preset=preset)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1201"])
def test_other_targets(target):
    lanes = 64 if target == "gfx90a" else 32
    for kernel in KERNELS:
        check(kernel, ("emulator", target), 257, lanes=lanes)


@tkw.thread(
    [tkw.WorkgroupConstraint(N, 256, 0), tkw.HardwareConstraint(waves_per_block=(4,))]
)
def everything(a: Numbers, counts: tkl.Memory[M, GLOBAL, tkl.i32], out: Numbers):
    """Loops and branches of each thread, atomics on LDS, shuffles, barriers.

    Each thread counts the steps of its number to 1, workgroups count how often which
    number of steps was found, and waves add up the steps.
    """
    t = tkw.thread_id()
    i = tkw.program_id() * 256 + t
    zero, seven = tkw.scalar(0, tkl.i32), tkw.scalar(7, tkl.i32)
    own = tkw.allocate(8, dtype=tkl.i32)
    tkw.store(0, own, t, mask=t < 8)
    first = tkw.load(a, i, mask=i < N, other=1)
    tkw.shared_memory_barrier()

    @tkw.iterate(init_args=[first, zero], condition=lambda n, _: n > 1)
    def steps(n, count):
        @tkw.conditional(n % 2 == 1, else_return=n // 2)
        def odd():
            return 3 * n + 1

        return odd, count + 1

    total = steps[1]

    @tkw.conditional(i < N)
    def inside():
        tkw.atomic_add(1, own, at=tkw.minimum(total, seven))

    tkw.shared_memory_barrier()

    @tkw.conditional(t < 8)
    def bins():
        tkw.atomic_add(tkw.load(own, t), counts, at=t)

    for distance in (1, 2, 4, 8, 16, 32):
        total = total + tkw.shuffle(total, distance, 64)
    tkw.store(total, out, i, mask=i < N)


def steps_of(n):
    count = 0
    while n > 1:
        n, count = 3 * n + 1 if n % 2 else n // 2, count + 1
    return count


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", ["default", "modulo"])
@pytest.mark.parametrize("n", [1, 255, 257])
def test_control_flow_atomics_and_shuffles(n, preset, where):
    device, target = where
    options = tkw.WaveCompileOptions(
        subs={N: n, M: 8}, device=device, target=target, preset=preset
    )
    torch.manual_seed(n)
    a = torch.randint(1, 60, (n,), dtype=torch.int32)
    counts, out = torch.zeros(8, dtype=torch.int32), torch.full_like(a, -1)
    tkw.wave_compile(options, everything)(a, counts, out)
    steps = torch.tensor([steps_of(each) for each in a.tolist()])
    assert counts.tolist() == torch.bincount(steps.clamp(max=7), minlength=8).tolist()
    waves = torch.nn.functional.pad(steps, (0, -n % 64)).view(-1, 64).sum(dim=1)
    assert out.tolist() == waves.repeat_interleave(64)[:n].tolist()


def test_size_that_each_launch_gives():
    options = tkw.WaveCompileOptions(
        dynamic_symbols=[N], device="emulator", target="gfx942"
    )
    torch.manual_seed(0)
    kernel = tkw.wave_compile(options, single_threads.vector_add())
    for n in (0, 1, 300):
        a, b, c = torch.randn(n), torch.randn(n), torch.full((n,), torch.nan)
        kernel(a, b, c)
        assert torch.equal(c, a + b)


def test_machine_code_without_a_barrier_is_a_race():
    @tkw.thread([tkw.HardwareConstraint(waves_per_block=(2,))])
    def reverse(a: Numbers, out: Numbers):
        t = tkw.thread_id()
        shared = tkw.allocate(128, dtype=tkl.i32)
        tkw.store(tkw.load(a, t), shared, t)
        tkw.store(tkw.load(shared, 127 - t), out, t)

    options = tkw.WaveCompileOptions(subs={N: 128}, device="emulator", target="gfx942")
    a = torch.arange(128, dtype=torch.int32)
    with pytest.raises(UserError) as caught:
        tkw.wave_compile(options, reverse)(a, torch.zeros_like(a))
    assert caught.value.code == "WV0901"


@pytest.mark.parametrize(("partner", "fails"), [(1, False), (2, True)])
def test_a_shuffle_with_lanes_that_stayed_away(partner, fails):
    """Only the first two lanes come along: they may ask each other, and no other."""

    @tkw.thread([tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()])
    def first(a: Numbers, b: Numbers):
        i = tkw.thread_id(0)
        x = tkw.load(a, i)

        @tkw.conditional(i < 2)
        def both():
            tkw.store(tkw.shuffle(x, partner, 64), b, i)

    options = tkw.WaveCompileOptions(subs={N: 64}, target="gfx942", device="sim")
    kernel = tkw.wave_compile(options, first)
    a, b = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    if not fails:
        kernel(a, b)
        assert b[:3].tolist() == [1, 0, 0]
        return
    with pytest.raises(SimulationError) as caught:
        kernel(a, b)
    assert caught.value.code == "WV0915"
    text = str(caught.value)
    assert "a value without a meaning reaches `b`" in text
    assert "reads a lane that is not here" in text
    assert "shuffle before the condition, where all lanes come along" in text
