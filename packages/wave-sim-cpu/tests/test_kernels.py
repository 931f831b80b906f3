"""Kernels through the pipeline: at every stage both levels compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.diagnostics import LaunchError
from wave_core.symbols import symbol
from wave_core.targets import generic_target
from wave_sim_cpu import SimulationOptions, SimulationResult, lanes, simulate

M, N, S = tkl.sym.M, tkl.sym.N, tkl.sym.S
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
HARDWARE = tkw.HardwareConstraint(threads_per_wave=64)


def compiled(kernel: Any, **sizes: int) -> Any:
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    return wave_compile(tkl.WaveCompileOptions(subs=subs, device="sim"), kernel)


def row_sum() -> Any:
    """A reduction over registers, lanes and waves."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 1, 0),
            tkw.WorkgroupConstraint(N, 512, 1),
            tkw.WaveConstraint(N, 256),
            HARDWARE,
        ]
    )
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f16], c: tkl.Memory[M, GLOBAL, tkl.f16]
    ) -> None:
        tkw.write(tkw.sum(tkw.read(a), dim=N), c)

    return kernel


def run(graph: Any, *arrays: np.ndarray, **options: Any) -> SimulationResult:
    named = dict(zip((p.label for p in graph.parameters), arrays, strict=True))
    return simulate.run(
        graph, named, {}, generic_target(), SimulationOptions(**options)
    )


def test_every_pass_keeps_the_meaning() -> None:
    kernel = compiled(row_sum(), M=6, N=500)
    a = np.random.default_rng(0).standard_normal((6, 500)).astype(np.float16)
    for row in kernel.pipeline:
        c = np.full(6, np.nan, np.float16)
        result = run(kernel.snapshots(row.name), a, c, poison_outputs=True)
        assert result.reports == (), row.name
        np.testing.assert_allclose(c, a.astype(float).sum(1), rtol=2e-3)


def test_small_chunks_compute_the_same() -> None:
    kernel = compiled(row_sum(), M=30, N=500)
    a = np.random.default_rng(0).standard_normal((30, 500)).astype(np.float16)
    results = []
    for lanes_at_once in (1, 300, 10**6):
        c = np.full(30, np.nan, np.float16)
        result = run(kernel.graph, a, c, chunk_lanes=lanes_at_once)
        assert result.ok
        results.append((c.tolist(), result.counters.units))
    assert results[0] == results[1] == results[2]
    whole = run(kernel.graph, a, c).counters.to_json()
    parts = run(kernel.graph, a, c, chunk_lanes=1).counters.to_json()
    assert {**whole, "steps": 0} == {**parts, "steps": 0}


def test_races_between_chunks_are_found() -> None:
    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), HARDWARE])
    def kernel(c: tkl.Memory[M, GLOBAL, tkl.f32]) -> None:
        i = tkw.IndexMapping.iterator(0)
        mapping = tkw.IndexMapping(1, inputs={M: i}, outputs={M: i % 64})
        tkw.write(tkl.Register[M, tkl.f32](1.0), c, mapping=mapping)

    graph = compiled(kernel, M=128).graph
    for lanes_at_once in (64, 128):
        result = run(graph, np.zeros(128, np.float32), chunk_lanes=lanes_at_once)
        assert [r.code for r in result.reports] == ["WV0901"]


def test_inputs_of_an_output_may_be_read() -> None:
    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), HARDWARE])
    def kernel(c: tkl.Memory[M, GLOBAL, tkl.f32]) -> None:
        value = tkw.read(c)
        tkw.write(value + value, c)

    c = np.arange(100, dtype=np.float32)
    graph = compiled(kernel, M=100).graph
    assert run(graph, c).reports == ()
    np.testing.assert_array_equal(c, 2.0 * np.arange(100))
    result = run(graph, c, poison_outputs={"c"})
    assert [r.code for r in result.reports] == ["WV0905"]


def test_lowered_graphs_run_without_checks() -> None:
    kernel = compiled(row_sum(), M=6, N=500)
    a = np.ones((6, 500), np.float16)
    c = np.zeros(6, np.float16)
    named = {"a": a, "c": c}
    options = SimulationOptions(checks=False)
    assert lanes.run(kernel.graph, named, {}, generic_target(), options).ok
    assert (c == 500).all()


@pytest.mark.parametrize("level", ["sim", "sim-logical"])
def test_devices_by_name(level: str) -> None:
    subs = {M: 6, N: 500}
    options = tkl.WaveCompileOptions(subs=subs, device=level)
    a, c = np.ones((6, 500), np.float16), np.zeros(6, np.float16)
    wave_compile(options, row_sum())(a, c)
    assert (c == 500).all()


WHOLE = {
    "a": np.zeros((2, 70), np.float16),
    "c": np.zeros(2, np.float16),
}


@pytest.mark.parametrize(
    ("given", "sizes", "message"),
    [
        (
            {"a": WHOLE["a"]},
            {"M": 2, "N": 70},
            "error[WV0703]: `kernel` is simulated without c",
        ),
        (WHOLE, {"M": 2}, "error[WV0717]: `kernel` is simulated without a value of N"),
        (
            WHOLE | {"c": np.zeros(3, np.float16)},
            {"M": 2, "N": 70},
            "error[WV0707]: `c` has shape [3], the kernel is simulated for [2]",
        ),
    ],
)
@pytest.mark.parametrize("phase", ["infer", "synchronize"])
def test_simulated_without_what_it_needs(
    given: Any, sizes: Any, message: str, phase: str
) -> None:
    options = tkl.WaveCompileOptions(dynamic_symbols=[M, N], device="sim")
    symbols = {symbol(name): size for name, size in sizes.items()}
    graph = wave_compile(options, row_sum()).snapshots(phase)
    with pytest.raises(LaunchError) as caught:
        simulate.run(graph, given, symbols, generic_target())
    title, place, *rest = str(caught.value).splitlines()
    assert title == message
    assert "test_kernels.py" in place
    assert any(line.strip().startswith("= help: give") for line in rest)
