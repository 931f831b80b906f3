"""From a kernel to its code object, and what comes after: caches and launches.

``python benchmarks/bench_backend.py [TARGET]``. CPU time of the process, warm, naive
preset, the compiler within the process; of compilations no cache takes part. A disk hit
includes all of a session that has not seen the kernel but for tracing it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from measure import Figure, cpu_times, median, report

from wave_backend_amdgpu.compile.backend import Settings, compile_graph, compile_vmfb
from wave_backend_amdgpu.executors import HipExecutor
from wave_backend_amdgpu.plugin import NEEDED
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.plugin import ExecutorSpec, hookimpl
from wave_runtime import LoadedKernel, open_device

REPEATS = 20
"""Compilations of which the median counts."""

CALLS = 1000
"""Calls that are timed together where one is too short for the clock."""

INSIDE = Settings(worker=None)
"""Where the compiler's time is that of this process."""

CASES = {
    "copy": ({}, {}, 0.15),
    "softmax": ({}, {}, 0.25),
    "gemm": (
        {"M": 512, "N": 512, "K": 512},
        {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64},
        0.65,
    ),
    "attention": ({"K1": 64, "N": 64}, {}, 1.0),
}
"""Kernel: sizes, settings, and the limit in seconds of CPU time."""


def case_of(session, name, target, shape=None, settings=None):
    factory = session.plugins.load_kernel(name)
    case = make_case(factory, name, shape or {}, settings or {}, target)
    return replace(case, options=replace(case.options, preset="naive"))


class NullDevice:
    """A plugin with a GPU that takes launches and does nothing."""

    REQUIRES_API = (1, 0)

    @hookimpl
    def wave_register_executors(self):
        """The device, whose executor is that of HIP on another driver."""
        own = f"{Path(__file__).stem}:null_executor"
        yield ExecutorSpec("null", own, requires=NEEDED, backend="amdgpu")


def null_executor():
    return HipExecutor(lambda _ordinal: open_device("null"))


def uncached():
    return Session(config=Config(cache=False))


def short(name, work, unit_us_limit):
    """A figure in microseconds, from calls that are timed together."""

    def many():
        for _ in range(CALLS):
            work()

    times = sorted(1e6 * spent / CALLS for spent in cpu_times(many, REPEATS))
    note = f"median of {REPEATS}, {times[0]:.3g} to {times[-1]:.3g}"
    return Figure(name, times[REPEATS // 2], "us", unit_us_limit, note)


def compilations(target):
    session = uncached()
    for name, (shape, settings, limit) in CASES.items():
        case = case_of(session, name, target, shape, settings)

        def work(case=case):
            kernel = wave_compile(case.options, case.kernel, session=session)
            compile_graph(kernel.graph, kernel.compiled.target, INSIDE)

        title = f"{name}, trace to code object"
        yield median(title, cpu_times(work, REPEATS, warm=2), "s", limit)


def overheads(target):
    """What the compiler's own process adds to a warm compilation, by the wall clock."""
    session = uncached()
    for name in ("copy", "gemm"):
        shape, sizes, _ = CASES[name]
        case = case_of(session, name, target, shape, sizes)
        kernel = wave_compile(case.options, case.kernel, session=session)
        spent(kernel, Settings()), spent(kernel, INSIDE)
        pairs = [(spent(kernel, Settings()), spent(kernel, INSIDE)) for _ in range(20)]
        outside, inside = (1e3 * min(times) for times in zip(*pairs, strict=True))
        note = f"least of 20 each, alternately; in process {inside:.3g}"
        yield Figure(f"{name}, worker beyond it", outside - inside, "ms", 5, note)


def spent(kernel, settings):
    begun = time.perf_counter()
    compile_graph(kernel.graph, kernel.compiled.target, settings)
    return time.perf_counter() - begun


def modules(target):
    session = uncached()
    for name in ("copy", "gemm"):
        case = case_of(session, name, target)

        def work(case=case):
            kernel = wave_compile(case.options, case.kernel, session=session)
            compile_vmfb(kernel.graph, kernel.compiled.target, INSIDE)

        yield median(f"{name}, trace to .vmfb", cpu_times(work, 5), "s", 1.0)


def caches(target):
    with tempfile.TemporaryDirectory() as folder:
        session = Session(config=Config(cache_dir=Path(folder) / "cache"))
        for name in ("gemm", "attention"):
            case = case_of(session, name, target)
            options, kernel = case.options, case.kernel
            yield short(
                f"{name}, memo of wave_compile",
                lambda o=options, k=kernel: wave_compile(o, k, session=session),
                50,
            )
            yield disk_hit(session, name, options, kernel, target)


def disk_hit(session, name, options, kernel, target):
    def hit():
        session.forget()
        found = emit(options, kernel, "hsaco", session)
        assert found.cached

    emit(options, kernel, "hsaco", session)
    traced = cpu_times(lambda: kernel.trace(options.bindings, target=target), REPEATS)
    tracing = sorted(traced)[REPEATS // 2]
    times = [spent - tracing for spent in cpu_times(hit, REPEATS)]
    found = median(f"{name}, disk hit beyond tracing", times, "ms", 5)
    return replace(found, note=f"{found.note}; tracing {tracing * 1e3:.3g}")


class Bare:
    """An array with nothing but DLPack."""

    def __init__(self, array):
        self.__array = array

    def __dlpack__(self):
        return self.__array.__dlpack__()

    def __dlpack_device__(self):
        return self.__array.__dlpack_device__()


def launches(target):
    session = uncached()
    case = case_of(session, "gemm", target)
    kernel = wave_compile(case.options, case.kernel, session=session)
    artifact = compile_graph(kernel.graph, kernel.compiled.target).artifact
    loaded = LoadedKernel(artifact, open_device("null"))
    arrays = case.make_arguments(np.random.default_rng(0))
    kinds = {
        "torch tensors": [torch.from_numpy(array) for array in arrays],
        "numpy arrays": arrays,
        "DLPack alone": [Bare(array) for array in arrays],
    }
    for name, given in kinds.items():
        yield short(f"launch, 3 {name}", lambda given=given: loaded(*given), 10)
    door = wave_compile(
        replace(case.options, device="null"),
        case.kernel,
        session=Session({"null": NullDevice()}, announce=lambda _: None),
    )
    for name, given in kinds.items():
        yield short(f"front door, 3 {name}", lambda given=given: door(*given), 20)


def figures(target):
    start = os.getloadavg()[0]
    begun = time.time()
    yield from launches(target)
    yield from caches(target)
    yield from overheads(target)
    yield from modules(target)
    yield from compilations(target)
    spent = time.time() - begun
    load = os.getloadavg()[0]
    note = f"{os.cpu_count()} cores; {start:.1f} at the start, {spent:.0f} s ago"
    yield Figure("load of the machine", load, "processes", None, note)


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if not each.startswith("-")]
    chosen = given[0] if given else "gfx942"
    report(f"backend, {chosen}: CPU time", figures(chosen))
