"""What the memory passes cost and what they gain.

Run with `python benchmarks/bench_memory.py`; prints four tables. CPU time of the
passes of wave-passes-memory, the median of 9, for a matrix product of known sizes, for
one whose sizes the launch decides, and for attention; instructions of the hot loop of a
matrix product (256x256x32 f16, 8 waves, gfx942) beside its matrix instructions; cycles
that accesses of LDS lose to bank conflicts in a workgroup, on lanes and in machine
code; what a thread does in a turn for an operand that is stored across K, without the
transposing passes and with them.
"""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from typing import Any

import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.compile.backend import Settings
from wave_backend_amdgpu.compile.backend import compile_graph
from wave_backend_amdgpu.metrics.measure import measure
from wave_core.compile import Config
from wave_core.compile import Session
from wave_core.compile import wave_compile
from wave_core.compile.kernels import make_case
from wave_core.ir import ACCESS
from wave_core.ir import resolve
from wave_core.ops.memory import Read
from wave_core.ops.memory import Write
from wave_emulator_amdgcn import LaunchOptions
from wave_emulator_amdgcn import emulate
from wave_emulator_amdgcn import load

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
TARGET = "gfx942"
TIMES = 9
BUDGET_MS = {"gemm": 50, "dynamic": 75, "attention": 150}
PLUGIN = "passes_memory"
MOST_OTHERS = 0.090


def gemm() -> Any:
    """``c = a b^T`` in tiles of 256x256x32, eight waves."""
    constraints = [
        tkw.WorkgroupConstraint(M, 256, 0),
        tkw.WorkgroupConstraint(N, 256, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 128),
        tkw.WaveConstraint(N, 64),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, tkl.SHARED_ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return kernel


def pass_rows(session: Session) -> None:
    """The CPU time of the passes."""
    sizes = tkl.WaveCompileOptions(subs={M: 4096, N: 4096, K: 4096}, target=TARGET)
    dynamic = tkl.WaveCompileOptions(dynamic_symbols=[M, N, K], target=TARGET)
    case = make_case(
        session.plugins.load_kernel("attention"), "attention", {}, {}, TARGET
    )
    shared = {**case.options.subs, tkl.sym.ADDRESS_SPACE: tkl.SHARED_ADDRESS_SPACE}
    rows = (
        ("gemm", gemm(), sizes),
        ("dynamic", gemm(), dynamic),
        ("attention", case.kernel, dataclasses.replace(case.options, subs=shared)),
    )
    for name, kernel, options in rows:
        spent: list[float] = []
        for _ in range(TIMES):
            runs = wave_compile(options, kernel, session=session).timings.passes
            mine = [run.cpu_s for run in runs if run.provider == PLUGIN]
            spent.append(sum(mine) * 1e3)
        found = statistics.median(spent)
        verdict = "ok" if found <= BUDGET_MS[name] else "TOO SLOW"
        print(f"{name:10} {found:6.1f} ms  (at most {BUDGET_MS[name]} ms) {verdict}")


def code_row(session: Session) -> None:
    """Instructions of the hot loop other than matrix ops, by 1024 flops and wave."""
    options = tkl.WaveCompileOptions(subs={M: 4096, N: 4096, K: 4096}, target=TARGET)
    kernel = wave_compile(options, gemm(), session=session)
    output = compile_graph(
        kernel.graph, kernel.compiled.target, Settings(intermediates=True)
    )
    name = output.artifact.manifest.name
    hot = measure(output.assembly, name, kernel.compiled.target).hot
    assert hot is not None, "the kernel has a loop"
    others = hot.counts["total"] - hot.counts["matrix"]
    found = others / (hot.flops / 1024)
    verdict = "ok" if found <= MOST_OTHERS else "TOO MANY"
    print(f"hot loop   {found:6.4f} others a kflop (at most {MOST_OTHERS}) {verdict}")


CONFLICTS = (
    ("gemm", {"M": 128, "N": 128, "K": 64}, {"BLOCK_M": 128, "BLOCK_N": 128}),
    ("gemm", {"M": 256, "N": 256, "K": 64}, {"BLOCK_M": 256, "BLOCK_N": 256}),
    ("attention", {"B": 1, "M": 128, "K1": 64, "N": 64, "K2": 64}, {"BLOCK_N": 64}),
    ("attention", {"B": 1, "M": 128, "K1": 128, "N": 128, "K2": 64}, {"BLOCK_N": 128}),
)


def conflict_rows(session: Session) -> None:
    """Bank conflicts of staged kernels, counted on lanes and in machine code."""
    for name, sizes, settings in CONFLICTS:
        tile = "x".join(str(size) for size in sizes.values())
        for target in ("gfx942", "gfx950"):
            factory = session.plugins.load_kernel(name)
            case = make_case(factory, name, sizes, settings, target)
            subs = case.options.subs
            shared = {**subs, tkl.sym.ADDRESS_SPACE: tkl.SHARED_ADDRESS_SPACE}
            options = dataclasses.replace(case.options, subs=shared)
            kernel = wave_compile(options, case.kernel, session=session)
            arguments = list(case.make_arguments(np.random.default_rng(0)))
            lanes, code = conflicts(session, kernel, arguments)
            verdict = "ok" if lanes == code == 0 else "CONFLICTS"
            print(f"{name:10} {tile:15} {target} lanes {lanes} code {code} {verdict}")


def conflicts(session: Session, kernel: Any, arguments: list[Any]) -> tuple[int, int]:
    """Cycles lost, by the lane simulator and by the emulator."""
    target = kernel.compiled.target
    executor = session.plugins.load_executor("sim")
    given = [array.copy() for array in arguments]
    result: Any = executor.run(kernel.graph, given, {}, {"target": target})
    code = load(compile_graph(kernel.graph, target).artifact.code)
    counted = emulate(
        code, arguments, grid=(1, 1, 1), options=LaunchOptions(counters=True)
    )
    assert counted.meter is not None, "asked for"
    samples = counted.meter.samples.values()
    lost = sum(sample.lds_cycles - sample.lds_ideal for sample in samples)
    return sum(result.counters.lds_conflict_cycles.values()), int(lost)


TILES = (((128, 128, 32), (2, 2)), ((256, 256, 64), (2, 4)))
ACROSS = (
    ("gfx942", tkl.f16),
    ("gfx942", tkl.f8e4m3fnuz),
    ("gfx950", tkl.f16),
    ("gfx950", tkl.f8e4m3fn),
    ("gfx1100", tkl.f16),
)
TRANSPOSING = ("transpose-in-threads", "use-transposed-reads")


def product(tile: tuple[int, int, int], waves: tuple[int, int], dtype: Any) -> Any:
    """``c = a b``, ``b`` stored with N last."""
    m, n, k = tile
    constraints = [
        tkw.WorkgroupConstraint(M, m, 0),
        tkw.WorkgroupConstraint(N, n, 1),
        tkw.TilingConstraint(K, k),
        tkw.WaveConstraint(M, m // waves[0]),
        tkw.WaveConstraint(N, n // waves[1]),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, tkl.SHARED_ADDRESS_SPACE, dtype],
        b: tkl.Memory[K, N, tkl.SHARED_ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return kernel


def across_rows(session: Session) -> None:
    """Accesses of an operand that is stored across, without and with transposes."""
    for tile, waves in TILES:
        for target, dtype in ACROSS:
            sizes = dict(zip((M, N, K), (*tile[:2], 2 * tile[2]), strict=True))
            options = tkl.WaveCompileOptions(subs=sizes, target=target)
            name = f"gemm {dtype} {tile[0]}x{tile[1]}x{tile[2]}"
            kernel = product(tile, waves, dtype)
            across_row(session, name, kernel, options, "b")
    for name, sizes, settings in CONFLICTS[2:]:
        for target in ("gfx942", "gfx950"):
            factory = session.plugins.load_kernel(name)
            case = make_case(factory, name, sizes, settings, target)
            subs = {**case.options.subs}
            subs[tkl.sym.ADDRESS_SPACE] = tkl.SHARED_ADDRESS_SPACE
            options = dataclasses.replace(case.options, subs=subs)
            title = f"{name} d{sizes['N']}"
            across_row(session, title, case.kernel, options, "v")


def across_row(
    session: Session, name: str, kernel: Any, options: Any, operand: str
) -> None:
    """Loads, writes and reads of LDS of one thread and turn, by width in bits."""
    without = dataclasses.replace(options, disable_passes=TRANSPOSING)
    rows = [
        accesses(wave_compile(asked, kernel, session=session).graph, operand)
        for asked in (without, options)
    ]
    print(f"{name:24} {options.target:7} {rows[0]} -> {rows[1]}")


def accesses(graph: Any, operand: str) -> str:
    """How often which width of a memory and its buffer is touched."""
    loads, writes, reads = Counter[int](), Counter[int](), Counter[int]()
    buffers = {
        resolve(op.memory)
        for op in graph.walk()
        if isinstance(op, Write) and operand in sources(op.value)
    }
    for op in graph.walk():
        if not isinstance(op, Read | Write):
            continue
        width = graph.facts.get(ACCESS, op).registers * op.memory.type.dtype.bits
        memory = resolve(op.memory)
        if memory in buffers:
            (reads if isinstance(op, Read) else writes)[width] += 1
        elif memory.attributes.get("label") == operand:
            loads[width] += 1
    return " ".join(
        f"{what} " + "+".join(f"{n}xb{width}" for width, n in sorted(found.items()))
        for what, found in (("load", loads), ("write", writes), ("read", reads))
    )


def sources(value: Any) -> set[str]:
    """The labels of the memories that a value was read from."""
    if isinstance(value, Read):
        return {resolve(value.memory).attributes.get("label", "")}
    return {label for each in value.operands for label in sources(each)}


if __name__ == "__main__":
    opened = Session(config=Config(cache=False))
    pass_rows(opened)
    code_row(opened)
    conflict_rows(opened)
    across_rows(opened)
