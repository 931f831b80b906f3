"""What the memory passes cost and what they gain.

``python benchmarks/bench_memory.py [passes] [code] [conflicts] [across]``; all of it
without arguments. CPU times are medians, of the passes of wave-passes-memory alone;
instructions are those of the hot loop that are no matrix instructions, by 1024 FLOPs of
a wave; conflicts are the cycles that accesses of LDS lose in a workgroup, on lanes and
in machine code; accesses are what a thread does in a turn for an operand that is stored
across K, at most as many as without the transposing passes.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Figure, median, report
from staged_gemm import SQUARE, TARGET, Tile, options_of, options_of_any, staged_gemm

import wave_core.lang as tkl
from wave_backend_amdgpu.compile.backend import compile_graph, settings_of
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.kernels import make_case
from wave_core.executors import LaunchRequest
from wave_core.ir import ACCESS, resolve
from wave_core.ops.memory import Read, Write
from wave_emulator_amdgcn import LaunchOptions, emulate, load
from wave_isa_amdgcn.metrics import measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wave_core.compile.kernels import KernelCase

REPEATS = 9
"""Compilations of which the median counts; one more warms up."""

PLUGIN = "passes_memory"
SIDE = 4096
SESSION = Session(config=Config(cache=False), announce=lambda _: None)

STAGED: tuple[tuple[str, dict[str, int], dict[str, int]], ...] = (
    ("gemm", {"M": 128, "N": 128, "K": 64}, {"BLOCK_M": 128, "BLOCK_N": 128}),
    ("gemm", {"M": 256, "N": 256, "K": 64}, {"BLOCK_M": 256, "BLOCK_N": 256}),
    ("attention", {"B": 1, "M": 128, "K1": 64, "N": 64, "K2": 64}, {"BLOCK_N": 64}),
    ("attention", {"B": 1, "M": 128, "K1": 128, "N": 128, "K2": 64}, {"BLOCK_N": 128}),
)
"""Kernels of the library, two turns of their loops, with all arguments in LDS."""


def library(
    name: str, shape: dict[str, int], tile: dict[str, int], target: str = TARGET
) -> KernelCase:
    """A kernel of the library with its arguments in LDS, its loops as written."""
    factory = SESSION.plugins.load_kernel(name)
    case = make_case(factory, name, shape, tile | {"STAGED": 1}, target)
    options = dataclasses.replace(case.options, preset="default")
    return dataclasses.replace(case, options=options)


# ---- compile time


def passes() -> Iterator[Figure]:
    """The memory passes, all together."""
    attention = library("attention", {}, {})
    rows = (
        ("gemm 256x256x32", staged_gemm(SQUARE), options_of(SIDE, SIDE, SIDE), 50),
        ("gemm 256x256x32, open sizes", staged_gemm(SQUARE), options_of_any(), 75),
        ("attention", attention.kernel, attention.options, 150),
    )
    for name, kernel, options, limit in rows:
        times: list[float] = []
        for _ in range(REPEATS + 1):
            gc.collect()
            runs = wave_compile(options, kernel, session=SESSION).timings.passes
            times.append(sum(run.cpu_s for run in runs if run.provider == PLUGIN))
        yield median(f"passes, {name}", times[1:], "ms", limit)


# ---- code


def code() -> Iterator[Figure]:
    """Instructions of the hot loop other than matrix ops."""
    options = options_of(SIDE, SIDE, SIDE)
    kernel = wave_compile(options, staged_gemm(SQUARE), session=SESSION)
    target = kernel.compiled.target
    settings = dataclasses.replace(settings_of(options), intermediates=True)
    output = compile_graph(kernel.graph, target, settings)
    hot = measure(output.assembly, output.artifact.manifest.name, target).hot
    assert hot is not None, "the kernel has a loop"
    others = hot.counts["total"] - hot.counts["matrix"]
    name = f"code, {SQUARE.name}, not pipelined"
    yield Figure(name, others / (hot.flops / 1024), "a kFLOP", 0.090)


# ---- conflicts


def conflicts() -> Iterator[Figure]:
    """Bank conflicts of staged kernels."""
    for name, sizes, settings in STAGED:
        tile = "x".join(str(size) for size in sizes.values())
        for target in ("gfx942", "gfx950"):
            case = library(name, sizes, settings, target)
            lanes, machine = lost_cycles(case)
            title = f"conflicts, {name} {tile}, {target}"
            yield Figure(f"{title}, lanes", lanes, "cycles", 0)
            yield Figure(f"{title}, code", machine, "cycles", 0)


def lost_cycles(case: KernelCase) -> tuple[int, int]:
    """Cycles lost, by the lane simulator and by the emulator."""
    kernel = wave_compile(case.options, case.kernel, session=SESSION)
    arguments = list(case.make_arguments(np.random.default_rng(0)))
    target = kernel.compiled.target
    executor = SESSION.plugins.load_executor("sim")
    given = [array.copy() for array in arguments]
    result: Any = executor.launch(LaunchRequest.of(kernel.graph, target, given))
    code = load(compile_graph(kernel.graph, target).artifact.code)
    counted = emulate(
        code, arguments, grid=(1, 1, 1), options=LaunchOptions(counters=True)
    )
    assert counted.meter is not None, "asked for"
    samples = counted.meter.samples.values()
    lost = sum(sample.lds_cycles - sample.lds_ideal for sample in samples)
    return sum(result.counters.lds_conflict_cycles.values()), int(lost)


# ---- operands that are stored across

TILES = (Tile(128, 128, 32, 64, 64), Tile(256, 256, 64, 128, 64))
ACROSS: tuple[tuple[str, Any], ...] = (
    ("gfx942", tkl.f16),
    ("gfx942", tkl.f8e4m3fnuz),
    ("gfx950", tkl.f16),
    ("gfx950", tkl.f8e4m3fn),
    ("gfx1100", tkl.f16),
)
TRANSPOSING = ("transpose-in-threads", "use-transposed-reads")


def across() -> Iterator[Figure]:
    """Accesses of an operand that is stored across, without and with transposes."""
    for tile in TILES:
        for target, dtype in ACROSS:
            options = options_of(tile.m, tile.n, 2 * tile.k, target)
            kernel = staged_gemm(tile, dtype, across=True)
            yield accesses_of(f"{tile.name}, {dtype}, {target}", kernel, options, "b")
    for name, sizes, settings in STAGED[2:]:
        for target in ("gfx942", "gfx950"):
            case = library(name, sizes, settings, target)
            title = f"{name} d{sizes['N']}, {target}"
            yield accesses_of(title, case.kernel, case.options, "v")


def accesses_of(name: str, kernel: Any, options: Any, operand: str) -> Figure:
    """Loads, writes and reads of LDS of one thread and turn."""
    without = dataclasses.replace(options, disable_passes=TRANSPOSING)
    most, fewer = (
        accesses(wave_compile(asked, kernel, session=SESSION).graph, operand)
        for asked in (without, options)
    )
    limit, count = most.total(), fewer.total()
    return Figure(f"across, {name}", count, "accesses", limit, listed(fewer))


def accesses(graph: Any, operand: str) -> Counter[tuple[str, int]]:
    """How often a memory and its buffer are touched: what is done, and bits."""
    found = Counter[tuple[str, int]]()
    buffers = {
        resolve(op.memory)
        for op in graph.walk()
        if isinstance(op, Write) and operand in sources(op.value)
    }
    for op in graph.walk():
        if not isinstance(op, Read | Write):
            continue
        bits = graph.facts.get(ACCESS, op).registers * op.memory.type.dtype.bits
        memory = resolve(op.memory)
        if memory in buffers:
            found["read" if isinstance(op, Read) else "write", bits] += 1
        elif memory.attributes.get("label") == operand:
            found["load", bits] += 1
    return found


def listed(found: Counter[tuple[str, int]]) -> str:
    """As text: `2 load b128`."""
    rows = sorted(found.items())
    return ", ".join(f"{count} {what} b{bits}" for (what, bits), count in rows)


def sources(value: Any) -> set[str]:
    """The labels of the memories that a value was read from."""
    if isinstance(value, Read):
        return {resolve(value.memory).attributes.get("label", "")}
    return {label for each in value.operands for label in sources(each)}


PARTS = {"passes": passes, "code": code, "conflicts": conflicts, "across": across}


def figures(chosen: Iterable[str]) -> Iterator[Figure]:
    """The parts that are asked for, and the load of the machine."""
    for name in chosen:
        yield from PARTS[name]()
    load = os.getloadavg()[0]
    yield Figure(
        "load of the machine", load, "processes", note=f"{os.cpu_count()} cores"
    )


if __name__ == "__main__":
    words = [each for each in sys.argv[1:] if not each.startswith("-")]
    report("memory", figures(words or PARTS))
