"""Runs a resolved pipeline: loads, checks, times and reports each pass."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import InternalError, WaveError, internal_error
from wave_core.passes.load import load_pass
from wave_core.passes.observe import Verify
from wave_core.passes.spec import CORE
from wave_core.passes.text import Pipeline

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from wave_core.ir.graph import Graph
    from wave_core.passes.base import Pass
    from wave_core.passes.context import PassContext
    from wave_core.passes.observe import PassObserver
    from wave_core.passes.phase import Phase
    from wave_core.passes.resolved import ResolvedPass, ResolvedPipeline


@dataclass(frozen=True)
class PassRun:
    """The record of one pass.

    Units: ``cpu_s`` and ``wall_s`` seconds, without loading, checks and observers.
    """

    name: str
    provider: str
    phase: Phase
    text: str
    changed: bool = False
    skipped: bool = False
    cpu_s: float = 0.0
    wall_s: float = 0.0
    statistics: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class RunReport:
    """The record of a pipeline: one row for each pass, in the order they ran."""

    passes: tuple[PassRun, ...]


@dataclass(frozen=True)
class PipelineRunner:
    """Runs the passes of a pipeline on one graph after another.

    Attributes:
        pipeline: The passes in order.
        options: Values of options, by pass and by option.
        observers: Told about every pass and phase.
        verify: When the graph is checked.
    """

    pipeline: ResolvedPipeline
    options: Mapping[str, Mapping[str, object]] = field(
        default_factory=dict[str, "Mapping[str, object]"]
    )
    observers: Sequence[PassObserver] = ()
    verify: Verify = Verify.ENDS

    def load(self, entry: ResolvedPass) -> Pass:
        """The pass of ``entry``, with its options.

        Raises:
            PluginError: WV0814 where the class cannot be loaded.
            UserError: WV0803, WV0804 where the options are wrong.
        """
        return load_pass(entry, self.options.get(entry.name))

    def text(self) -> Pipeline:
        """All passes with the options that matter: a log line, and a cache key."""
        return Pipeline(tuple(self.load(e).text() for e in self.pipeline.passes))

    def run(
        self, graph: Graph, context: PassContext, stop_after: str | None = None
    ) -> RunReport:
        """Run the passes on ``graph``, in place.

        Args:
            graph: The graph; its ``facts_present`` are kept up to date.
            context: Target, kernel and diagnostics; the counts of all passes are
                added to its statistics.
            stop_after: A phase or a pass; all passes by default.

        Raises:
            UserError: WV0801 for an unknown ``stop_after``; what the passes report.
            InternalError: WV9901 where a pass fails, WV9902 where it leaves a graph
                that breaks the rules.
        """
        steps = [(each, self.load(each)) for each in self.pipeline.until(stop_after)]
        runs: list[PassRun] = []
        if self.verify is not Verify.NEVER:
            graph.verify()
        for phase, group in groupby(steps, key=lambda step: step[0].phase):
            with context.collector.phase(phase):
                for entry, step in group:
                    runs.append(self._step(entry, step, graph, context))
                    if context.collector.errors:
                        break
            for observer in self.observers:
                observer.after_phase(phase, graph)
        if self.verify is Verify.ENDS and runs:
            _check(runs[-1].name, graph)
        return RunReport(tuple(runs))

    def _step(
        self, entry: ResolvedPass, step: Pass, graph: Graph, context: PassContext
    ) -> PassRun:
        with _blame(entry):
            skipped = not step.should_run(graph)
        if skipped:
            graph.facts_present |= entry.spec.provides
            return _record(entry, step, skipped=True)
        own = replace(context, statistics=Counter())
        for observer in self.observers:
            observer.before_pass(step, graph, own)
        with _blame(entry):
            run = _timed(entry, step, graph, own)
        self._settle(entry, run, graph, context)
        for observer in self.observers:
            observer.after_pass(step, graph, own, changed=run.changed)
        return run

    def _settle(
        self, entry: ResolvedPass, run: PassRun, graph: Graph, context: PassContext
    ) -> None:
        """Bring facts, analyses and counts up to date, and check the graph."""
        context.statistics.update(run.statistics)
        if run.changed:
            preserved = entry.spec.preserves
            context.analyses.settle(graph, context.target, preserved)
        graph.facts_present -= entry.spec.clobbers
        graph.facts_present |= entry.spec.provides
        if self.verify is Verify.EACH and not context.collector.errors:
            _check(entry.name, graph)


def _record(entry: ResolvedPass, step: Pass, **found: Any) -> PassRun:
    return PassRun(entry.name, entry.provider, entry.phase, str(step), **found)


def _timed(
    entry: ResolvedPass, step: Pass, graph: Graph, context: PassContext
) -> PassRun:
    cpu, wall = time.process_time(), time.perf_counter()
    changed = bool(step.apply(graph, context))
    return _record(
        entry,
        step,
        changed=changed,
        cpu_s=time.process_time() - cpu,
        wall_s=time.perf_counter() - wall,
        statistics=dict(context.statistics),
    )


def _check(after: str, graph: Graph) -> None:
    try:
        graph.verify()
    except InternalError as error:
        error.pass_name = error.pass_name or after
        raise


@contextmanager
def _blame(entry: ResolvedPass) -> Generator[None, None, None]:
    """Name the pass in an error that it does not report itself."""
    try:
        yield
    except WaveError as error:
        if isinstance(error, InternalError):
            error.pass_name = error.pass_name or entry.name
        raise
    except Exception as error:  # a pass may fail in any way
        found = internal_error(
            "WV9901",
            f"pass `{entry.name}` (plugin {entry.provider}) failed:"
            f" {type(error).__name__}: {error}",
        )
        found.pass_name = entry.name
        found.plugin = None if entry.provider == CORE else entry.provider
        raise found from error
