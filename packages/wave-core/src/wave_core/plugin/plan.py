"""Puts a pipeline together: what is installed, what is asked for, in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.passes.observe import Verify
from wave_core.passes.resolve import check_essential
from wave_core.passes.run import PipelineRunner
from wave_core.passes.selection import Selection, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wave_core.passes.observe import PassObserver
    from wave_core.passes.phase import Phase
    from wave_core.passes.resolved import ResolvedPipeline
    from wave_core.passes.selection import Amendment
    from wave_core.passes.spec import InstalledPass
    from wave_core.plugin.manager import PluginHost
    from wave_core.plugin.results import PipelineRequest


@dataclass(frozen=True)
class PipelineRow:
    """One pass of the table that ``wave pipeline`` prints.

    Attributes:
        phase: The phase it belongs to.
        name: The pass.
        provider: The plugin that brought it.
        reason: Why it stands there, or why it does not run.
        summary: What it does.
        runs: Whether it runs.
    """

    phase: Phase
    name: str
    provider: str
    reason: str
    summary: str
    runs: bool


@dataclass(frozen=True)
class PipelinePlan:
    """A pipeline that is ready to run.

    Attributes:
        installed: All passes that are installed.
        selection: Which of them run, with which options, and who said so.
        pipeline: Those that run, in order.
    """

    installed: tuple[InstalledPass, ...]
    selection: Selection
    pipeline: ResolvedPipeline

    def rows(self) -> tuple[PipelineRow, ...]:
        """A row for every pass that runs, in order, then for those that do not."""
        idle = [each for each in self.installed if each.name not in self.pipeline.names]
        idle.sort(key=lambda each: (each.phase.ordinal, each.name))
        return (
            *(_row(each, each.reason, runs=True) for each in self.pipeline.passes),
            *(_row(each, self._why_idle(each.name), runs=False) for each in idle),
        )

    def _why_idle(self, name: str) -> str:
        replacer = self.pipeline.replaced.get(name)
        return "disabled" if replacer is None else f"replaced by {replacer}"

    def runner(
        self,
        observers: Sequence[PassObserver] = (),
        verify: Verify = Verify.ENDS,
    ) -> PipelineRunner:
        """The runner of the pipeline."""
        options = self.selection.options
        return PipelineRunner(self.pipeline, options, observers, verify)


def _row(this: InstalledPass, reason: str, *, runs: bool) -> PipelineRow:
    summary = this.spec.summary
    return PipelineRow(this.phase, this.name, this.provider, reason, summary, runs)


def plan_pipeline(
    host: PluginHost,
    request: PipelineRequest,
    asked: Iterable[tuple[str, Amendment]] = (),
) -> PipelinePlan:
    """The pipeline for a request.

    The later of these wins: the preset, plugins, what is asked for.

    Args:
        host: The plugins.
        request: Target, kernel and preset; the passes are filled in.
        asked: What options and the user change, each with its origin.

    Raises:
        UserError: WV0801 for an unknown preset or pass, WV0828 where an essential
            pass is disabled.
        PluginError: where the passes cannot be ordered.
    """
    amendments = (*_amendments(host, request), *asked)
    selection = Selection.of(host.passes, amendments)
    check_essential(host.passes, selection)
    return PipelinePlan(host.passes, selection, host.pipeline(selection.disabled))


def _amendments(
    host: PluginHost, request: PipelineRequest
) -> Iterator[tuple[str, Amendment]]:
    if request.preset:
        if request.preset not in host.presets:
            raise unknown_name("preset", request.preset, host.presets)
        preset = host.presets[request.preset].value
        yield f"preset {preset.name}", preset.amendment(host.passes)
    names = tuple(each.name for each in host.passes)
    yield from host.amend_pipeline(replace(request, passes=names))
