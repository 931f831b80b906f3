"""What pipelined loops cost to compile, and what they gain, on gfx942 and gfx950.

``python benchmarks/bench_scheduling.py [passes] [compile] [code] [cycles]``; all of it
without arguments. CPU times are medians; instructions are those of the hot loop that
are no matrix instructions, by 1024 FLOPs of a wave; cycles are those of the emulator's
model for one turn of the loop in steady state, see `steady`.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Figure, median, report
from staged_gemm import FLAT, SQUARE, TARGET, Tile, options_of, staged_gemm
from steady import Steady, Trial, steady, trial_of

from wave_backend_amdgpu.compile.backend import compile_graph, settings_of
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.compile.kernels import make_case
from wave_isa_amdgcn.metrics import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wave_backend_amdgpu.compile.backend import Output

REPEATS = 7
"""Compilations of which the median counts; one more warms up."""

PLUGIN = "passes_scheduling"
SIDE = 4096
"""M, N and K of the matrix products, and the length of the sequences."""

DEEP = Tile(256, 256, 64, 128, 64)
"""Rows of 128 bytes: what gfx950 copies directly in whole cache lines."""

PINGPONG: dict[str, Any] = {"preset": "pingpong", "unroll_factor": 2}
DIRECT: dict[str, Any] = {"use_global_to_shared": True, "target": "gfx950"}
AHEAD: dict[str, Any] = {"preset": "fetch-ahead"}
FAST: dict[str, Any] = {
    "use_fast_math": True,
    "denorm_fp_math_f32": "preserve-sign",
    "waves_per_eu": 2,
}
"""No special cases around `exp2` and maxima; two workgroups on a compute unit."""

TURNS = (36, 68)
"""Trip counts whose difference counts."""

sys.path.append(str(Path(__file__).parent.parent / "examples"))

SESSION = Session(config=Config(cache=False), announce=lambda _: None)


def gemm(tile: Tile, **options: Any) -> tuple[Any, Any]:
    """Kernel and options."""
    return staged_gemm(tile), options_of(SIDE, SIDE, SIDE, **options)


def library(
    name: str,
    shape: dict[str, int],
    tile: dict[str, Any],
    target: str = TARGET,
    **options: Any,
) -> tuple[Any, Any]:
    """A kernel of the library with its options; without any, loops stay as written."""
    case = make_case(SESSION.plugins.load_kernel(name), name, shape, tile, target)
    return case.kernel, replace(case.options, **{"preset": "default", **options})


def attention(width: int, **options: Any) -> tuple[Any, Any]:
    """Attention with keys and values in LDS; 128 queries and 32 keys at a time."""
    shape = {"B": 4, "M": SIDE, "K2": SIDE, "K1": width, "N": width}
    return library("attention", shape, attention_tile(width), **options)


def attention_tile(width: int) -> dict[str, Any]:
    """The tile as settings: left open, the library may take another kernel."""
    return {"STAGED": 1, "BLOCK_M": 128, "BLOCK_N": width, "BLOCK_K2": 32}


def compiled(kernel: Any, options: Any, *, texts: bool = False) -> Output:
    """The code object, from this process, whose CPU time counts; with its listing."""
    found = wave_compile(options, kernel, session=SESSION)
    target = found.compiled.target
    settings = replace(settings_of(options), worker=None, intermediates=texts)
    return compile_graph(found.graph, target, settings)


# ---- compile time


def passes() -> Iterator[Figure]:
    """The scheduling passes, all together."""
    rows: tuple[tuple[str, tuple[Any, Any], float | None], ...] = (
        ("gemm 128x256x64, fetch-ahead", gemm(FLAT, **AHEAD), 80),
        ("gemm 128x256x64, prefetch", gemm(FLAT, preset="prefetch"), 80),
        ("attention d64, fetch-ahead", attention(64, **AHEAD, **FAST), 250),
        ("attention d64, prefetch", attention(64, preset="prefetch", **FAST), 250),
        ("gemm 256x256x32, pingpong", gemm(SQUARE, **PINGPONG), None),
        ("gemm 128x256x64, four-stage", gemm(FLAT, preset="four-stage"), None),
        ("gemm 256x256x64, modulo", gemm(DEEP, preset="modulo"), 1000),
    )
    for name, (kernel, options), limit in rows:
        times: list[float] = []
        for _ in range(REPEATS + 1):
            gc.collect()
            runs = wave_compile(options, kernel, session=SESSION).timings.passes
            times.append(sum(run.cpu_s for run in runs if run.provider == PLUGIN))
        yield median(f"passes, {name}", times[1:], "ms", limit)


def compilations() -> Iterator[Figure]:
    """From the trace to the code object."""
    sizes = {"N": 8, "H": 64, "W": 64, "C": 128, "NF": 128}
    rows: tuple[tuple[str, tuple[Any, Any], float], ...] = (
        ("gemm 128x256x64", gemm(FLAT, **AHEAD), 0.7),
        ("gemm 256x256x32", gemm(SQUARE, **PINGPONG), 0.7),
        ("attention d64", attention(64, **AHEAD, **FAST), 1.2),
        ("conv2d", library("conv2d", {}, {}, **AHEAD), 1.2),
        ("conv2d, 128 channels", library("conv2d", sizes, {}, **AHEAD), 1.2),
    )
    for name, (kernel, options), limit in rows:
        times: list[float] = []
        for _ in range(REPEATS + 1):
            gc.collect()
            start = time.process_time()
            compiled(kernel, options)
            times.append(time.process_time() - start)
        yield median(f"compile, {name}", times[1:], "s", limit)


# ---- code


def code() -> Iterator[Figure]:
    """Instructions of hot loops; spills and waves of a SIMD."""
    rows: tuple[tuple[Tile, str, dict[str, Any], float, int], ...] = (
        (SQUARE, "pingpong", PINGPONG, 0.0604, 2),
        (SQUARE, "prefetch", {"preset": "prefetch"}, 0.076, 2),
        (FLAT, "fetch-ahead", AHEAD, 0.119, 1),
        (FLAT, "prefetch", {"preset": "prefetch"}, 0.0665, 1),
        (DEEP, "gfx950, pingpong", {"target": "gfx950", **PINGPONG}, 0.0594, 2),
        (SQUARE, "not pipelined", {}, 0.090, 2),
    )
    for tile, name, options, limit, waves in rows:
        made = gemm(tile, **options)
        yield from _code(f"{tile.name}, {name}", *made, limit, waves)
    yield from small_floats()


SHUFFLED = (
    ("f4e2m1fn", "scales", 0.017),
    ("f4e2m1fn", "all", 0.017),
    ("f6e2m3fn", "scales", 0.025),
    ("f6e2m3fn", "all", 0.025),
    ("f8e4m3fn", "scales", 0.036),
    ("f8e4m3fn", "all", 0.0251),
)
"""Elements, what is shuffled, and the limit; a kernel written by hand has 0.017."""


def small_floats() -> Iterator[Figure]:
    """MXFP4, 6 and 8 on gfx950: tiles of 256 x 256 x 256, four waves."""
    example = import_module("gemm_mxfp4")
    sizes = dict.fromkeys((example.M, example.N, example.K), SIDE)
    sizes |= dict.fromkeys((example.BLOCK_M, example.BLOCK_N, example.BLOCK_K), 256)
    direct = {"preset": "fetch-ahead", "use_global_to_shared": True}
    rows: tuple[tuple[str, dict[str, Any], float], ...] = (
        ("nothing set", {"preset": "auto"}, 0.025),
        ("default", {}, 0.036),
        ("prefetch", {"preset": "prefetch"}, 0.036),
        ("fetch-ahead, direct to LDS", direct, 0.025),
    )
    for name, options, limit in rows:
        given = {"preset": "default", **options}
        chosen = WaveCompileOptions(subs=sizes, target="gfx950", **given)
        yield from _code(f"mxfp4, {name}", example.gemm, chosen, limit, 1)
    shape, tile = dict.fromkeys("MNK", SIDE), {"STAGED": 1, "WAVES_M": 2, "WAVES_N": 2}
    tile |= dict.fromkeys(("BLOCK_M", "BLOCK_N", "BLOCK_K"), 256)
    formats = (("f4e2m1fn", 0.025), ("f6e2m3fn", 0.036), ("f8e4m3fn", 0.036))
    for (number, limit), preset in product(formats, ("default", "auto")):
        given = {**tile, "FORMAT": number}
        made = library("gemm-mxfp", shape, given, "gfx950", preset=preset)
        yield from _code(f"gemm-mxfp {number}, {preset}", *made, limit, 1)
    for number, order, limit in SHUFFLED:
        given = {**tile, "FORMAT": number, "SHUFFLED": order}
        made = library("gemm-mxfp", shape, given, "gfx950", preset="default")
        yield from _code(f"gemm-mxfp {number}, {order} shuffled", *made, limit, 1)


def _code(
    name: str, kernel: Any, chosen: Any, limit: float, waves: int
) -> Iterator[Figure]:
    output = compiled(kernel, chosen, texts=True)
    target = SESSION.target(chosen.target)
    found = measure(output.assembly, output.artifact.manifest.name, target)
    hot, taken = found.hot, found.resources
    assert hot is not None, "the kernel has a loop"
    others = hot.counts["total"] - hot.counts["matrix"]
    note = f"{taken.vgprs} registers"
    kflops = hot.flops / 1024
    yield Figure(f"code, {name}", others / kflops, "a kFLOP", limit, note)
    spills = taken.vgpr_spills + taken.sgpr_spills
    yield Figure("  spills", spills, "registers", 0)
    yield Figure("  waves of a SIMD", taken.waves_per_simd or 0, "waves", least=waves)


# ---- cycles


def gemm_trial(tile: Tile, options: dict[str, Any]) -> Callable[[int], Trial]:
    """One tile of the result; only K has its size in the launch."""

    def trial(turns: int) -> Trial:
        depth = turns * tile.k
        output = compiled(
            staged_gemm(tile), options_of(tile.m, tile.n, depth, **options)
        )
        rng = np.random.default_rng(turns)
        a = rng.standard_normal((tile.m, depth)).astype(np.float16)
        b = rng.standard_normal((tile.n, depth)).astype(np.float16)
        arrays = {"a": a, "b": b, "c": np.zeros((tile.m, tile.n), np.float32)}
        wanted = a.astype(np.float64) @ b.T.astype(np.float64)
        return Trial(output.artifact, arrays, "c", wanted)

    return trial


def attention_trial(width: int, options: dict[str, Any]) -> Callable[[int], Trial]:
    """One tile of queries."""
    factory = SESSION.plugins.load_kernel("attention")

    def trial(turns: int) -> Trial:
        shape = {"B": 1, "M": 128, "K2": 32 * turns, "K1": width, "N": width}
        tile = attention_tile(width)
        case = make_case(factory, "attention", shape, tile, TARGET)
        given = {"preset": "default", **options}
        output = compiled(case.kernel, replace(case.options, **given))
        return trial_of(case, output.artifact, seed=turns)

    return trial


def small_trial(order: str, waves: tuple[int, int]) -> Callable[[int], Trial]:
    """One tile of MXFP4 on gfx950, 256 x 256 x 256, with nothing else set."""
    factory = SESSION.plugins.load_kernel("gemm-mxfp")
    tile = dict.fromkeys(("BLOCK_M", "BLOCK_N", "BLOCK_K"), 256)
    tile |= dict(zip(("WAVES_M", "WAVES_N"), waves, strict=True))
    settings = {**tile, "STAGED": 1, "SHUFFLED": order}

    def trial(turns: int) -> Trial:
        shape = {"M": 256, "N": 256, "K": 256 * turns}
        case = make_case(factory, "gemm-mxfp", shape, settings, "gfx950")
        output = compiled(case.kernel, replace(case.options, preset="auto"))
        return trial_of(case, output.artifact, seed=turns)

    return trial


def shuffled_operands() -> Iterator[Figure]:
    """What scales and weights in the order of lanes gain."""
    turns, share = (8, 20), 256 / SIDE
    plain = steady(small_trial("none", (2, 2)), turns, share)
    note = f"{plain.utilisation:.2f} of 1 busy"
    yield Figure("cycles, gemm-mxfp 256x256x256", plain.cycles, "cycles", note=note)
    for order, waves, least in (("scales", (2, 2), 1.2), ("all", (1, 8), 1.3)):
        found = steady(small_trial(order, waves), turns, share)
        yield _gain(
            f"{order} shuffled, {waves[0]}x{waves[1]} waves", plain, found, least
        )


def cycles() -> Iterator[Figure]:
    """What loops gain."""
    share = SQUARE.m / SIDE
    alone = steady(gemm_trial(SQUARE, {}), TURNS, share)
    yield Figure(f"cycles, {SQUARE.name}, not pipelined", alone.cycles, "cycles")
    for name, options, least in (
        ("prefetch", {"preset": "prefetch"}, None),
        ("pingpong", PINGPONG, 1.3),
    ):
        found = steady(gemm_trial(SQUARE, options), TURNS, share)
        ratio = alone.cycles_of_one / found.cycles_of_one
        note = f"{found.cycles:.0f} cycles, {found.resident} resident"
        yield Figure(f"  {name}, gain", ratio, "times", least=least, note=note)
        wanted = None if least is None else 0.85
        used = found.utilisation
        yield Figure(f"  {name}, matrix units busy", used, "of 1", least=wanted)
    yield from direct_copies(share)
    yield from shuffled_operands()
    deep = steady(attention_trial(128, AHEAD | FAST), (12, 28), 128 / SIDE)
    note = f"{deep.cycles:.0f} cycles, {deep.resident} resident"
    name = "cycles, attention d128, fetch-ahead, matrix units busy"
    yield Figure(name, deep.utilisation, "of 1", least=0.55, note=note)


def direct_copies(share: float) -> Iterator[Figure]:
    """Tiles that go to LDS directly, beside the fastest way through registers."""
    chip = {"target": "gfx950"}
    staged = steady(gemm_trial(DEEP, AHEAD | chip), TURNS, share)
    note = "fetch-ahead"
    name = f"cycles, {DEEP.name}, gfx950, through registers"
    yield Figure(name, staged.cycles, "cycles", note=note)
    rows = (
        ("prefetch", None),
        ("fetch-ahead", 0.9),
        ("pingpong", 0.9),
        ("modulo", 1.0),
    )
    for preset, least in rows:
        found = steady(gemm_trial(DEEP, {"preset": preset, **DIRECT}), TURNS, share)
        yield _gain(f"direct, {preset}", staged, found, least)
    alternating = {"preset": "pingpong"}
    staged = steady(gemm_trial(SQUARE, alternating | chip), TURNS, share)
    name = f"cycles, {SQUARE.name}, gfx950, through registers"
    yield Figure(name, staged.cycles, "cycles", note="pingpong")
    ahead = alternating | DIRECT | {"multi_buffer_count": 3}
    found = steady(gemm_trial(SQUARE, ahead), TURNS, share)
    yield _gain("direct, pingpong, three buffers", staged, found, 1.0)


def _gain(name: str, before: Steady, found: Steady, least: float | None) -> Figure:
    """How much sooner an iteration is done."""
    ratio = before.cycles_of_one / found.cycles_of_one
    note = f"{found.cycles:.0f} cycles, {found.utilisation:.2f} of 1 busy"
    return Figure(f"  {name}, gain", ratio, "times", least=least, note=note)


PARTS = {"passes": passes, "compile": compilations, "code": code, "cycles": cycles}


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
    report("scheduling, gfx942", figures(words or PARTS))
