"""Strategies of others, through the hook; and what a strategy of ours cannot do."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pipelined_kernels import K, M, N, staged_gemm, statistics

import wave_core.lang as tkw
from wave_core.compile import SchedulingType, Session
from wave_core.diagnostics import PluginError, UserError
from wave_core.ir import region_of
from wave_core.passes import PassContext
from wave_core.plugin import StrategySpec, hookimpl
from wave_kernels.definitions.gemm import gemm_kernel
from wave_passes_scheduling.loops.analysis import analyse
from wave_passes_scheduling.loops.costs import profile_of
from wave_passes_scheduling.rebuild.pipeline import pipeline_loop
from wave_passes_scheduling.strategies.staged import staged_schedule
from wave_passes_scheduling.strategies.stages import settle_stages


def plugin(name):
    """A plugin with a strategy of this name."""

    @hookimpl
    def wave_register_strategies():
        yield StrategySpec(name, "pipelined_kernels:OTHERS")

    hooks = {"wave_register_strategies": wave_register_strategies}
    return SimpleNamespace(REQUIRES_API=(1, 0), **hooks)


def compiled(name):
    options = tkw.WaveCompileOptions(
        subs={M: 32, N: 32, K: 128},
        device="sim",
        passes=(f"schedule-loops{{strategy={name}}}",),
    )
    session = Session(plugins={"slow": plugin(name)})
    return tkw.wave_compile(options, staged_gemm(), session=session)


def test_a_plugin_adds_a_strategy():
    kernel = compiled("slow")
    a, b = np.ones((32, 128), np.float16), np.ones((32, 128), np.float16)
    c = np.zeros((32, 32), np.float32)
    kernel(a, b, c)
    assert (c == 128).all()
    assert statistics(kernel)["stages"] == 2


def test_the_option_takes_the_name_of_a_plugin_strategy():
    options = tkw.WaveCompileOptions(
        subs={M: 32, N: 32, K: 128}, device="sim", schedule="slow"
    )
    session = Session(plugins={"slow": plugin("slow")})
    kernel = tkw.wave_compile(options, staged_gemm(), session=session)
    assert statistics(kernel)["stages"] == 2


UNKNOWN = (
    "error[WV0801]: there is no scheduling strategy `slwo`\n"
    "  = help: did you mean `slow`?\n"
    "  = help: installed: `fetch-ahead`, `four-stage`, `modulo`, `prefetch`,"
    " `prefetch-attention`, `slow`"
)


def test_an_unknown_strategy_names_those_of_plugins():
    options = tkw.WaveCompileOptions(
        subs={M: 32, N: 32, K: 128}, device="sim", schedule="slwo"
    )
    session = Session(plugins={"slow": plugin("slow")})
    with pytest.raises(UserError) as caught:
        tkw.wave_compile(options, staged_gemm(), session=session)
    diagnostic = caught.value.diagnostics[0]
    assert replace(diagnostic, primary=None).render() == UNKNOWN
    assert diagnostic.location == options.location


def test_a_known_strategy_may_be_given_by_its_word():
    options = tkw.WaveCompileOptions(schedule="prefetch")
    assert options.schedule is SchedulingType.PREFETCH


def test_two_strategies_of_one_name_are_refused():
    with pytest.raises(PluginError, match="prefetch"):
        compiled("prefetch")


def test_a_loop_without_two_products_says_so():
    options = tkw.WaveCompileOptions(
        subs={M: 32, N: 32, K: 128},
        device="sim",
        schedule=SchedulingType.PREFETCH_ATTENTION,
    )
    kernel = tkw.wave_compile(options, staged_gemm(), session=Session())
    (warning,) = kernel.compiled.warnings
    assert "no matrix op multiplies what another one" in warning.message


def test_parts_of_what_is_read_are_taken_in_each_stage_that_uses_them():
    sym = tkw.sym
    sizes = {sym.M: 128, sym.N: 128, sym.K: 512}
    tiles = {sym.BLOCK_M: 128, sym.BLOCK_N: 128, sym.BLOCK_K: 32}
    staged = {sym.ADDRESS_SPACE: tkw.SHARED_ADDRESS_SPACE}
    options = tkw.WaveCompileOptions(subs=sizes | tiles | staged, target="gfx942")
    kernel = tkw.wave_compile(options, gemm_kernel(), session=Session())
    graph, target = kernel.graph, kernel.compiled.target
    loop = next(op for op in graph.walk() if op.op_name == "iterate")
    known = PassContext(target).dependences(graph)
    analysed = analyse(graph, loop, known, profile_of("target", loop, target))
    # Of the users of each part of a fragment some multiply a stage later.
    products = [i for i, op in enumerate(analysed.ops) if op.op_name == "mma"]
    wanted = dict.fromkeys(range(len(analysed.ops)), 0)
    late = products[len(products) // 2 :]
    stages = settle_stages(analysed, wanted | dict.fromkeys(late, 1), 1)
    schedule = staged_schedule(analysed.problem, stages)
    assert schedule.violations() == ()
    made = pipeline_loop(analysed, schedule, region_of(loop), loop)
    carried = {op.op_name for op in made.kernel.body.end.operands}
    assert "read" in carried
    assert "assemble" not in carried


@pytest.mark.parametrize(
    ("rows", "depth", "of_masks"), [(32, 128, 0), (28, 128, 3), (32, 120, 2)]
)
def test_masks_take_registers_where_lanes_keep_conditions(rows, depth, of_masks):
    options = tkw.WaveCompileOptions(
        subs={M: rows, N: 32, K: depth}, device="sim", target="gfx942", preset="default"
    )
    kernel = tkw.wave_compile(options, staged_gemm(), session=Session())
    graph, target = kernel.graph, kernel.compiled.target
    loop = next(op for op in graph.walk() if op.op_name == "iterate")
    known = PassContext(target).dependences(graph)
    profile = profile_of("target", loop, target)
    file = replace(profile.registers, conditions=True)
    held = [
        analyse(graph, loop, known, each).problem.held
        for each in (profile, replace(profile, registers=file))
    ]
    assert held[1] - held[0] == of_masks


@pytest.mark.parametrize("buffers", [2, 4, 6])
def test_copies_fill_all_buffers_but_the_one_that_is_read(buffers):
    sym = tkw.sym
    tile = {sym.BLOCK_M: 16, sym.BLOCK_N: 64, sym.BLOCK_K: 64}
    waves = {sym.WAVES_M: 1, sym.WAVES_N: 4, sym.MMA_ROWS: 0}
    staged = {sym.ADDRESS_SPACE: tkw.SHARED_ADDRESS_SPACE}
    options = tkw.WaveCompileOptions(
        subs={M: 16, N: 64, K: 1024} | tile | waves | staged,
        target="gfx950",
        device="emulator",
        preset="fetch-ahead",
        multi_buffer_count=buffers,
        passes=("copy-direct-to-lds{cheaper=true}",),
    )
    kernel = tkw.wave_compile(options, gemm_kernel(), session=Session())
    assert statistics(kernel)["stages"] == buffers
