"""Waves of 128 lanes: four warps, which meet at a barrier of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from emulated_kernels import compiled, session

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_nvgpu.codegen.module import generate
from wave_backend_nvgpu.codegen.options import CodeOptions
from wave_backend_nvgpu.codegen.table import own_table
from wave_backend_nvgpu.targets.chips import sm_90
from wave_core.compile import WaveCompileOptions, wave_compile
from wave_core.compile.kernels import make_case
from wave_core.constraints import HardwareConstraint
from wave_core.diagnostics import UserError

M, N, K, WAVES_N = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.WAVES_N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
LENGTHS = (1, 127, 128, 129, 600)
KERNELS = ("softmax", "rms-norm", "layer-norm")
MEETINGS = ("bar.sync", "barrier.sync")


def widened(kernel, lanes=128):
    """A kernel with so many lanes in a wave."""
    rows = (
        replace(row, threads_per_wave=lanes)
        if isinstance(row, HardwareConstraint)
        else row
        for row in kernel.constraints
    )
    return replace(kernel, constraints=tuple(rows))


def case_of(name, length, target):
    factory = session().plugins.load_kernel(name)
    return make_case(factory, name, {"M": 3, "N": length}, {}, target)


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("waves", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_rows_are_right_at_every_length(name, waves, target):
    for length in LENGTHS:
        case = case_of(name, length, target)
        subs = {**case.options.subs, WAVES_N: waves}
        options = replace(case.options, subs=subs, device="emulator")
        kernel = wave_compile(options, widened(case.kernel), session=session())
        arguments = list(case.make_arguments(np.random.default_rng(1)))
        wanted = case.reference(arguments)
        kernel(*arguments)
        assert kernel.last_run.reports == ()
        for place, right in zip(case.outputs, wanted, strict=True):
            error = np.abs(np.asarray(arguments[place], np.float64) - right).max()
            scale = case.scale(arguments) if case.scale else 1.0
            assert error <= case.tolerance * scale


def meetings(text):
    """The places of lines at which threads meet."""
    lines = text.splitlines()
    return [at for at, line in enumerate(lines) if line.strip().startswith(MEETINGS)]


def turned_round(lanes=128, waves=4):
    """Each wave turns its part round, twice, and needs no other wave for it."""

    @tkw.thread(
        [
            tkw.WorkgroupConstraint(N, lanes * waves, 0),
            tkw.HardwareConstraint(threads_per_wave=lanes, waves_per_block=(waves,)),
        ]
    )
    def kernel(
        a: tkl.Memory[N, GLOBAL, tkl.f32],
        b: tkl.Memory[N, GLOBAL, tkl.f32],
    ):
        t = tkw.thread_id(0)
        across = t // lanes * lanes + lanes - 1 - t % lanes
        own = tkw.allocate(lanes * waves, dtype=tkl.f32)
        tkw.store(tkw.load(a, t), own, t)
        tkw.store(tkw.load(own, across) + 1.0, own, t)
        tkw.store(tkw.load(own, across), b, t)

    return kernel


@pytest.mark.parametrize("order", [None, 1, 2])
def test_the_warps_of_a_wave_meet_and_no_other(order):
    code = compiled(turned_round(), {N: 512}, "sm_90a")
    a, b = np.arange(512, dtype=np.float32), np.full(512, np.nan, np.float32)
    assert code.run(a, b, order=order) == []
    assert np.array_equal(b, a + 1)
    lines = code.ptx.splitlines()
    assert len(meetings(code.ptx)) == 3
    assert all(lines[at].strip().endswith(", 128;") for at in meetings(code.ptx))


def test_every_meeting_of_a_wave_is_needed():
    code = compiled(turned_round(), {N: 512}, "sm_90a")
    for place in meetings(code.ptx):
        lines = code.ptx.splitlines()
        del lines[place]
        arrays = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
        assert code.run(*arrays, text="\n".join(lines))


def arrays_first(arguments):
    """Arguments as the code takes them: pointers, then words."""
    given = [np.asarray(each) for each in arguments]
    words = [int(np.float32(each).view(np.int32)) for each in given if not each.ndim]
    return [each for each in given if each.ndim] + words


@pytest.mark.parametrize("name", KERNELS)
def test_every_meeting_of_a_row_is_needed(name):
    case = case_of(name, 1024, "sm_90a")
    subs = {**case.options.subs, M: 3, WAVES_N: 1}
    code = compiled(widened(case.kernel), subs, "sm_90a")
    made = case.make_arguments(np.random.default_rng(1))
    arguments = arrays_first(made)
    assert code.run(*arguments) == []
    assert meetings(code.ptx)
    for place in meetings(code.ptx):
        lines = code.ptx.splitlines()
        del lines[place]
        assert code.run(*arguments, text="\n".join(lines))


def test_a_wave_of_one_warp_meets_without_a_barrier():
    code = compiled(turned_round(32), {N: 128}, "sm_90a")
    assert meetings(code.ptx) == []


def test_products_of_single_warps_are_refused_with_the_sizes_that_work():
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.TilingConstraint(K, 16),
            tkw.HardwareConstraint(threads_per_wave=128),
        ]
    )
    def product(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[M, N, tkl.f32]):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    with pytest.raises(UserError, match="may be: 32") as raised:
        compiled(product, {M: 64, N: 64, K: 64}, "sm_90")
    assert raised.value.code == "WV0702"


def test_other_sizes_are_refused_with_those_there_are():
    with pytest.raises(UserError, match="may be: 32, 128") as raised:
        compiled(turned_round(64), {N: 256}, "sm_90")
    assert raised.value.code == "WV0318"
    assert sm_90().wave_sizes == (32, 128)


def test_more_waves_than_barriers_are_refused():
    """No chip has such waves: 16 of 64 lanes are as many threads as there may be."""
    options = WaveCompileOptions(subs={N: 1024}, target="generic128", device="sim")
    kernel = turned_round(64, 16)
    graph = wave_compile(options, kernel, session=session()).graph
    chip = replace(sm_90(), wave_sizes=(32, 64))
    with pytest.raises(UserError, match="16 waves of 64 lanes have 15 barriers"):
        generate(graph, chip, CodeOptions(), own_table())
