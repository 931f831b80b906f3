"""Prints the IR around passes, as the options ask."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.passes.observe import IrPrinter, PassObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir.graph import Graph
    from wave_core.passes.base import Pass
    from wave_core.passes.context import PassContext
    from wave_core.passes.resolved import ResolvedPipeline
    from wave_core.passes.run import RunReport

ALL = "all"
"""Stands for every pass."""


@dataclass
class IrPrinterBefore(PassObserver):
    """Prints the graph before passes.

    Attributes:
        names: Passes before which to print.
        sink: Takes a title and the text.
    """

    names: frozenset[str]
    sink: Callable[[str, str], None]

    def before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """Print where the pass was asked for."""
        del context
        if step.pass_name() in self.names:
            self.sink(f"before {step}", str(graph))


def to_stderr(title: str, text: str) -> None:
    """Print beside the program's own output."""
    sys.stderr.write(f"// ---- {title}\n{text}\n")


def timing_table(trace_s: float, report: RunReport) -> str:
    """Milliseconds of tracing and of each pass, a line each."""
    rows = [("trace", trace_s), *((run.name, run.wall_s) for run in report.passes)]
    return "\n".join(f"{seconds * 1e3:10.2f} ms  {name}" for name, seconds in rows)


def printers(
    options: WaveCompileOptions, pipeline: ResolvedPipeline
) -> Iterator[PassObserver]:
    """Observers that print what ``options`` ask for."""
    if options.print_ir_before:
        names = _names(options.print_ir_before, pipeline)
        yield IrPrinterBefore(names | _first_of_phases(names, pipeline), to_stderr)
    if options.print_ir_after:
        yield IrPrinter(_names(options.print_ir_after, pipeline), to_stderr)


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
