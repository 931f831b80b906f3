"""Text about a compilation: the IR around passes, times, and how a kernel runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from wave_core.passes.observe import IrPrinter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.compile.compiled import Compiled
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.passes.resolved import ResolvedPipeline
    from wave_core.passes.run import RunReport

ALL = "all"
"""Stands for every pass."""


def to_stderr(title: str, text: str) -> None:
    """Print beside the program's own output."""
    sys.stderr.write(f"// ---- {title}\n{text}\n")


def timing_table(trace_s: float, report: RunReport) -> str:
    """Milliseconds of tracing and of each pass, a line each."""
    rows = [("trace", trace_s), *((run.name, run.wall_s) for run in report.passes)]
    return "\n".join(f"{seconds * 1e3:10.2f} ms  {name}" for name, seconds in rows)


def printer(options: WaveCompileOptions, pipeline: ResolvedPipeline) -> IrPrinter:
    """Prints the IR where ``options`` ask for it."""
    after = _names(options.print_ir_after, pipeline)
    before = _names(options.print_ir_before, pipeline)
    return IrPrinter(after, to_stderr, before | _first_of_phases(before, pipeline))


def _names(given: object, pipeline: ResolvedPipeline) -> frozenset[str]:
    names = frozenset(str(name) for name in given)  # pyright: ignore[reportGeneralTypeIssues, reportUnknownArgumentType, reportUnknownVariableType] - names by now
    names |= {pipeline.replaced[name] for name in names & pipeline.replaced.keys()}
    return names | frozenset(pipeline.names) if ALL in names else names


def _first_of_phases(
    names: frozenset[str], pipeline: ResolvedPipeline
) -> frozenset[str]:
    """The first passes of the phases among ``names``."""
    firsts: dict[str, str] = {}
    for entry in pipeline.passes:
        firsts.setdefault(entry.phase, entry.name)
    return frozenset(first for phase, first in firsts.items() if phase in names)


def launch_facts(compiled: Compiled) -> list[tuple[str, str]]:
    """How a kernel is launched, and how long it took to compile: titles and texts."""
    shape, geometry = compiled.shape, compiled.geometry
    waves = " x ".join(map(str, geometry.waves))
    symbols = sorted((str(name), size) for name, size in shape.bindings.items())
    return [
        ("signature", str(shape.signature)),
        ("grid", f"{' x '.join(map(str, shape.grid))} workgroups"),
        ("workgroup", f"{waves} waves of {geometry.lanes} lanes"),
        ("symbols", ", ".join(f"{name} = {size}" for name, size in symbols)),
        ("compiled in", f"{compiled.timings.total_s:.2f} s"),
    ]


def explained(compiled: Compiled) -> Iterator[str]:
    """Grid, waves, parameters and passes of a kernel, a line each."""
    shape, geometry = compiled.shape, compiled.geometry
    yield f"kernel {shape.signature.kernel}"
    yield f"  target {compiled.target.name}, device {compiled.device.name}"
    grid = " x ".join(map(str, shape.grid))
    waves = " x ".join(map(str, geometry.waves))
    yield f"  grid {grid} workgroups, each of {waves} waves of {geometry.lanes} lanes"
    for row in shape.signature.parameters:
        usage = f" ({row.usage.value})" if row.is_tensor else " (number)"
        yield f"  {row}{usage}"
    for symbol, value in sorted(shape.bindings.items(), key=lambda item: str(item[0])):
        yield f"  {symbol} = {value}"
    for symbol in shape.dynamic:
        yield f"  {symbol} from each launch"
    phase = ""
    for row in compiled.plan.rows():
        if row.runs and row.phase != phase:
            phase = row.phase
            yield f"  {phase}:"
        if row.runs:
            yield f"    {row.name} ({row.provider}): {row.reason}"
    for line in compiled.plan.selection.log:
        yield f"  {line}"
