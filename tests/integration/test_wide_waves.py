"""Waves whose lanes do not all run in step: right, no alarms, no fence in vain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.constraints import HardwareConstraint
from wave_core.diagnostics import UserError
from wave_core.ir import erase, resolve
from wave_core.ops.matrix import SharedTile
from wave_core.ops.sync import SharedMemoryBarrier, WaveFence
from wave_core.targets import generic128_target
from wave_core.types import MemoryType
from wave_kernels.definitions.norms import layer_norm_kernel, rms_norm_kernel
from wave_kernels.definitions.softmax import softmax_kernel
from wave_sim_cpu.lanes import execute

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
WAVES_N = tkl.sym.WAVES_N
LENGTHS = (1, 7, 127, 128, 129, 512, 1001)
ROWS = 3
EPSILON = 1e-5


def widened(kernel, lanes=128):
    """A kernel with so many lanes in a wave."""
    rows = (
        replace(row, threads_per_wave=lanes)
        if isinstance(row, HardwareConstraint)
        else row
        for row in kernel.constraints
    )
    return replace(kernel, constraints=tuple(rows))


def compiled(kernel, subs, target="generic128", **options):
    asked = tkw.WaveCompileOptions(subs=subs, target=target, device="sim", **options)
    return tkw.wave_compile(asked, kernel)


def softmax(run, x):
    found = torch.full_like(x, torch.nan)
    run(x, found)
    return found, torch.softmax(x.double(), 1)


def rms_norm(run, x):
    w, found = torch.randn(x.shape[1]), torch.full_like(x, torch.nan)
    run(x, w, EPSILON, found)
    wide = x.double()
    mean = (wide * wide).mean(1, keepdim=True)
    return found, wide / torch.sqrt(mean + EPSILON) * w


def layer_norm(run, x):
    w, b = torch.randn(2, x.shape[1])
    found = torch.full_like(x, torch.nan)
    run(x, w, b, EPSILON, found)
    wide = x.double()
    return found, torch.nn.functional.layer_norm(
        wide, wide.shape[1:], w.double(), b.double(), EPSILON
    )


KERNELS = {
    "softmax": (softmax_kernel, softmax),
    "rms-norm": (rms_norm_kernel, rms_norm),
    "layer-norm": (layer_norm_kernel, layer_norm),
}


@pytest.mark.covering(2)
@pytest.mark.parametrize("lanes", [32, 64, 128])
@pytest.mark.parametrize("waves", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_rows_are_right_at_every_length(name, waves, lanes):
    kernel, launch = KERNELS[name]
    for length in LENGTHS:
        subs = {M: ROWS, N: length, WAVES_N: waves}
        run = compiled(widened(kernel(), lanes), subs)
        found, wanted = launch(run, torch.randn(ROWS, length))
        torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)


def reported(graph, length):
    """What the simulator reports of a lowered graph, on numbers by chance."""
    arguments = {}
    for each in graph.parameters:
        shape = (ROWS, length) if isinstance(each.type, MemoryType) else ()
        shape = shape[-len(each.type.dims) :] if shape else shape
        arguments[each.label] = np.random.default_rng(1).random(shape, np.float32)
    result = execute.run(graph, arguments, {}, generic128_target())
    return {str(row.code) for row in result.reports}


@pytest.mark.parametrize("preset", ["default", "naive"])
@pytest.mark.parametrize("waves", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_every_fence_and_barrier_is_needed(name, waves, preset):
    kernel, _ = KERNELS[name]
    subs = {M: ROWS, N: 1024, WAVES_N: waves}
    graph = compiled(widened(kernel()), subs, preset=preset).graph
    assert reported(graph, 1024) == set()
    meetings = [
        place
        for place, op in enumerate(graph.walk())
        if isinstance(op, WaveFence | SharedMemoryBarrier)
    ]
    assert meetings
    for place in meetings:
        broken = graph.clone()
        erase(list(broken.walk())[place])
        assert reported(broken, 1024) == {"WV0901"}


@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 48), (65, 17, 33), (130, 40, 96)])
@pytest.mark.parametrize("across", [False, True])
def test_operands_of_several_panels_are_read_where_they_are(across, m, n, k):
    """Panels of 32 bytes along K, and of 16 or 32 where rows go across."""
    a_dims, b_dims = ((K, M), (K, N)) if across else ((M, K), (N, K))
    space = tkl.SHARED_ADDRESS_SPACE

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 128, 0),
            tkw.WorkgroupConstraint(N, 32, 1),
            tkw.WaveConstraint(M, 64),
            tkw.TilingConstraint(K, 48),
            tkw.HardwareConstraint(threads_per_wave=128, mma_type="F32_64x8x16_F16"),
        ]
    )
    def product(
        a: tkl.Memory[(*a_dims, space, tkl.f16)],
        b: tkl.Memory[(*b_dims, space, tkl.f16)],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[M, N, tkl.f32]):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    x, y = torch.randn(m, k).half(), torch.randn(k, n).half()
    made = compiled(product, {M: m, N: n, K: k})
    tiles = [op for op in made.graph.walk() if isinstance(op, SharedTile)]
    panels = {resolve(tile.memory).layout.panel for tile in tiles}
    if k % 48 == 0:
        assert panels == ({16, 32} if across else {32})
    c = torch.full((m, n), torch.nan)
    operands = (x.T, y) if across else (x, y.T)
    made(*(each.contiguous() for each in operands), c)
    torch.testing.assert_close(
        c.double(), x.double() @ y.double(), rtol=1e-4, atol=1e-3
    )
    assert not made.last_run.reports


@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 16), (65, 17, 33), (130, 48, 64)])
@pytest.mark.parametrize("space", [tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE])
def test_products_of_four_groups_are_right(space, m, n, k):
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 128, 0),
            tkw.WorkgroupConstraint(N, 32, 1),
            tkw.WaveConstraint(M, 64),
            tkw.TilingConstraint(K, 32),
            tkw.HardwareConstraint(threads_per_wave=128),
        ]
    )
    def product(
        a: tkl.Memory[M, K, space, tkl.f16],
        b: tkl.Memory[N, K, space, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[M, N, tkl.f32]):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    a, b = torch.randn(m, k).half(), torch.randn(n, k).half()
    c = torch.full((m, n), torch.nan)
    compiled(product, {M: m, N: n, K: k})(a, b, c)
    torch.testing.assert_close(
        c.double(), a.double() @ b.double().T, rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [100, 128, 200])
def test_scans_and_sorts_cross_groups(length, reverse):
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 1, 0),
            tkw.WorkgroupConstraint(N, 256, 1),
            tkw.HardwareConstraint(vector_shapes={M: 1, N: 256}),
        ]
    )
    def scanned(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        row = tkw.read(a)
        tkw.write(tkw.cumsum(row, dim=N, reverse=reverse), b)
        tkw.write(tkw.sort(row, dim=N, descending=reverse)[0], c)

    a = torch.randint(-50, 50, (ROWS, length)).float()
    b, c = torch.full((2, ROWS, length), torch.nan)
    compiled(scanned, {M: ROWS, N: length})(a, b, c)
    wanted = a.flip(1).cumsum(1).flip(1) if reverse else a.cumsum(1)
    assert torch.equal(b, wanted)
    assert torch.equal(c, a.sort(dim=1, descending=reverse).values)


SHUFFLES = [
    *((offset, 128, mode) for offset in (1, 32, 96) for mode in ("xor", "up", "down")),
    *((offset, 64, mode) for offset in (33, 63) for mode in ("xor", "up", "down")),
    *((offset, 128, "idx") for offset in (0, 77)),
]
"""Distance, lanes of a group, mode; nearly all go further than 32 lanes."""


@pytest.mark.parametrize(("offset", "width", "mode"), SHUFFLES)
def test_a_shuffle_reaches_all_lanes(offset, width, mode):
    @tkw.thread([tkw.WorkgroupConstraint(N, 128, 0), tkw.HardwareConstraint()])
    def moved(a: tkl.Memory[N, GLOBAL, tkl.i32], b: tkl.Memory[N, GLOBAL, tkl.i32]):
        t = tkw.thread_id(0)
        tkw.store(tkw.shuffle(tkw.load(a, t), offset, width, mode), b, t)

    a, b = torch.arange(128, dtype=torch.int32), torch.full((128,), -1).int()
    compiled(moved, {N: 128})(a, b)
    lane = torch.arange(128)
    group = lane - lane % width
    other = {
        "xor": lane ^ offset,
        "up": lane - offset,
        "down": lane + offset,
        "idx": group + offset,
    }[mode]
    inside = (other >= group) & (other < group + width)
    assert torch.equal(b.long(), torch.where(inside, other, lane))


def in_place(mapping=None):
    """A tile is read and written back, to where a mapping says."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(N, 256, 0),
            tkw.HardwareConstraint(vector_shapes={N: 256}),
        ]
    )
    def kernel(a: tkl.Memory[N, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(a) + 1.0, a, mapping=mapping)

    return compiled(kernel, {N: 256})


def test_what_is_written_elsewhere_in_place_waits_for_the_reads():
    i = tkw.IndexMapping.iterator(0)
    turned = in_place(
        tkw.IndexMapping(num_iterators=1, inputs={N: i}, outputs={N: 255 - i})
    )
    a = torch.arange(256.0)
    turned(a)
    assert torch.equal(a, torch.arange(256.0, 0, -1))
    assert "wave_fence" in str(turned.graph)


def test_lanes_that_stay_with_their_elements_need_no_fence():
    plain, a = in_place(), torch.arange(256.0)
    plain(a)
    assert torch.equal(a, torch.arange(1.0, 257))
    assert "wave_fence" not in str(plain.graph)


def test_lanes_that_do_not_all_come_cannot_meet():
    @tkw.thread([tkw.WorkgroupConstraint(N, 128, 0), tkw.HardwareConstraint()])
    def kernel(a: tkl.Memory[N, GLOBAL, tkl.i32]):
        t = tkw.thread_id(0)

        @tkw.conditional(tkw.load(a, t) > 3)
        def body():
            tkw.wave_fence()

    with pytest.raises(UserError, match="do not run in step") as raised:
        compiled(kernel, {N: 128})
    assert raised.value.code == "WV0412"
