"""What preset ``auto`` finds, what its estimate misses, and what choosing costs.

``python benchmarks/bench_auto.py [choice] [busy] [fit]``; all of it without arguments.
Cycles are those of one iteration of all resident workgroups, by the emulator's model of
a compute unit (`steady`); registers are those of the code object. CPU times: medians.
"""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass, replace
from itertools import product
from statistics import median as middle
from typing import TYPE_CHECKING, Any

from measure import Figure, median, report
from steady import Trial, steady, trial_of

from wave_backend_amdgpu.compile.backend import compile_graph, settings_of
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.choosing import choices
from wave_core.compile.front import front_of
from wave_core.compile.kernels import make_case
from wave_isa_amdgcn.metrics import measure
from wave_passes_scheduling.auto.estimate import iteration, need_of
from wave_passes_scheduling.auto.ways import WAYS
from wave_passes_scheduling.auto.work import work_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wave_core.compile.kernels import KernelCase
    from wave_core.plugin import Choice

SESSION = Session(config=Config(cache=False), announce=lambda _: None)
TARGETS = ("gfx942", "gfx950")
REPEATS = 7
CLOSE = 4
"""Ways of which the estimate is compared."""

ITERATIONS = (18, 34)
"""Trip counts whose difference counts: of three buffers, ten are not steady yet."""

SHARE = 128 / 4096
"""The part of what L2 is asked for that comes from memory."""

SQUARE = {"M": 4096, "N": 4096, "K": 4096}

SHAPES: dict[str, dict[str, int]] = {
    "gemm": SQUARE,
    "attention d64": {"B": 64, "M": 4096, "N": 64, "K1": 64, "K2": 4096},
    "attention d128": {"B": 64, "M": 4096, "N": 128, "K1": 128, "K2": 4096},
}
"""Sizes by kernel, and what tells them apart."""

FITTED = SHAPES | dict.fromkeys(("gemm-nn", "gemm-tn", "gemm-tt", "gemm-mxfp"), SQUARE)
"""Those of which the estimate is compared: operands across their rows, too."""

UNSCALED = {("gemm-mxfp", "gfx942")}
"""Where the instructions are missing there are few tiles, and no staging, to choose."""

ALONG = {"gemm": ("K", "BLOCK_K"), "attention": ("K2", "BLOCK_K2")}
"""The dimension of the loop, and its tile, by family."""

WORKGROUP = {
    "gemm": {"M": "BLOCK_M", "N": "BLOCK_N"},
    "attention": {"B": "BLOCK_B", "M": "BLOCK_M"},
}
"""Sizes of a launch of one workgroup, by family."""


def library(kernel: str) -> str:
    """The name of a kernel without what tells its sizes apart."""
    return kernel.partition(" ")[0]


def family(kernel: str) -> str:
    """Kernels of one family have the same dimensions."""
    return library(kernel).partition("-")[0]


def case_of(
    kernel: str, shape: Mapping[str, int], settings: Mapping[str, Any], target: str
) -> KernelCase:
    """A case as a command without ``--preset`` makes it."""
    kernel = library(kernel)
    factory = SESSION.plugins.load_kernel(kernel)
    return make_case(factory, kernel, dict(shape), dict(settings), target)


def found_for(kernel: str, target: str) -> list[Choice]:
    """The choices that fit, the best first."""
    case = case_of(kernel, FITTED[kernel], {}, target)
    found = choices(case.options, case.kernel, SESSION)
    return [each for each in found if not each.refused]


def first_of_each_way(found: list[Choice]) -> list[Choice]:
    """The best tile under each configuration of the pipeline, in the given order."""
    ways: dict[str, Choice] = {}
    for each in found:
        ways.setdefault(str(each.options), each)
    return list(ways.values())


def settings_for(chosen: Choice) -> dict[str, Any]:
    """The choice as settings of a case."""
    rows = {str(symbol): value for symbol, value in chosen.subs.items()}
    staged = str(rows.pop("ADDRESS_SPACE")) == "shared"
    return rows | {"STAGED": int(staged)}


def trials_of(kernel: str, chosen: Choice, target: str) -> Callable[[int], Trial]:
    """One workgroup; only the loop's dimension has its size in the launch."""
    tiles = {"BLOCK_B": 1} | settings_for(chosen)
    axis, step = ALONG[family(kernel)]

    def trial(iterations: int) -> Trial:
        shape = {**FITTED[kernel], axis: iterations * tiles[step]}
        shape |= {dim: tiles[name] for dim, name in WORKGROUP[family(kernel)].items()}
        case = case_of(kernel, shape, settings_for(chosen), target)
        return trial_of(case, compiled(case, chosen).artifact, seed=iterations)

    return trial


def compiled(case: KernelCase, chosen: Choice, *, texts: bool = False) -> Any:
    """The code of a case, with the choice written out; with its listing."""
    options = replace(case.options, **{"preset": "default", **chosen.options})
    found = wave_compile(options, case.kernel, session=SESSION)
    settings = replace(settings_of(options), worker=None, intermediates=texts)
    return compile_graph(found.graph, found.compiled.target, settings)


# ---- parts


def choice() -> Iterator[Figure]:
    """CPU time of choosing, with the trace that it counts on."""
    for kernel, shape in SHAPES.items():
        case = case_of(kernel, shape, {}, "gfx942")
        times: list[float] = []
        for _ in range(REPEATS + 1):
            gc.collect()
            start = time.process_time()
            choices(case.options, case.kernel, SESSION)
            times.append(time.process_time() - start)
        yield median(f"choosing, {kernel}", times[1:], "ms", 60)


def busy() -> Iterator[Figure]:
    """Matrix units in the loop of what is chosen with nothing set."""
    least = {
        ("gemm", "gfx942"): 0.9,
        ("gemm", "gfx950"): 0.72,
        ("attention d64", "gfx942"): 0.53,
        ("attention d64", "gfx950"): 0.37,
        ("attention d128", "gfx942"): 0.6,
        ("attention d128", "gfx950"): 0.51,
    }
    for kernel in SHAPES:
        for target in TARGETS:
            best = found_for(kernel, target)[0]
            steps = steady(trials_of(kernel, best, target), ITERATIONS, SHARE)
            note = f"{best.options['preset']}, {settings_for(best)}"
            name = f"{kernel}, {target}, matrix units busy"
            bound = least.get((kernel, target))
            yield Figure(name, steps.utilisation, "of 1", least=bound, note=note)


def fit() -> Iterator[Figure]:
    """The estimate beside the model, for the best tile of the ways that were close."""
    misses: list[tuple[float, float]] = []
    for kernel, target in sorted({*product(FITTED, TARGETS)} - UNSCALED):
        close = first_of_each_way(found_for(kernel, target))[:CLOSE]
        measured = [_measured(kernel, target, each) for each in close]
        misses += [each.misses for each in measured]
        busy = [each.busy for each in measured]
        name = f"{kernel}, {target}, lost by the estimate's order"
        yield Figure(name, 1 - busy[0] / max(busy), "of 1", 0.05)
    cycles, registers = (sorted(column) for column in zip(*misses, strict=True))
    yield Figure("estimate of cycles, median miss", middle(cycles), "of 1", 0.2)
    yield Figure("  largest", cycles[-1], "of 1")
    yield Figure("estimate of registers, median miss", middle(registers), "of 1", 0.15)


@dataclass(frozen=True)
class Measured:
    """A choice as it turned out.

    Attributes:
        misses: How far cycles and registers are from what was estimated.
        busy: The part of the time that matrix units work.
    """

    misses: tuple[float, float]
    busy: float


def _measured(kernel: str, target: str, chosen: Choice) -> Measured:
    """One choice, compiled and replayed."""
    case = case_of(kernel, FITTED[kernel], settings_for(chosen), target)
    plain = replace(case.options, preset="default")
    front = front_of(plain, case.kernel, SESSION)
    work = work_of(front.traced, front.geometry, front.target)
    assert work is not None, "the kernel multiplies"
    asked = next(each for each in WAYS if each.options == chosen.options)
    way = asked.of(work, front.target.memory.lds_bytes)
    need = need_of(work, way, front.target)
    code = compiled(case, chosen, texts=True)
    taken = measure(code.assembly, code.artifact.manifest.name, front.target).resources
    steps = steady(trials_of(kernel, chosen, target), ITERATIONS, SHARE)
    guess = iteration(work, way, steps.resident, front.target)
    assert taken.vgprs, "the listing says how many"
    misses = abs(guess / steps.cycles - 1), abs(need.registers / taken.vgprs - 1)
    return Measured(misses, steps.utilisation)


PARTS = {"choice": choice, "busy": busy, "fit": fit}


if __name__ == "__main__":
    words = [each for each in sys.argv[1:] if not each.startswith("-")]
    rows = (figure for name in words or PARTS for figure in PARTS[name]())
    report("auto", rows)
