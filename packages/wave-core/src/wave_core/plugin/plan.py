"""Puts a pipeline together: what is installed, what is asked for, in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.passes.describe import describe_pipeline
from wave_core.passes.observe import Verify
from wave_core.passes.resolve import check_consumer, check_essential, resolve
from wave_core.passes.run import PipelineRunner
from wave_core.passes.selection import Selection, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wave_core.passes.describe import PipelineRow
    from wave_core.passes.observe import PassObserver
    from wave_core.passes.resolved import ResolvedPipeline
    from wave_core.passes.selection import Amendment
    from wave_core.passes.spec import InstalledPass
    from wave_core.plugin.manager import PluginHost
    from wave_core.plugin.results import PipelineRequest


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
        """The table for ``wave pipeline``; passes that do not run close it."""
        return describe_pipeline(self.pipeline, self.installed)

    def runner(
        self,
        observers: Sequence[PassObserver] = (),
        verify: Verify = Verify.PHASES,
    ) -> PipelineRunner:
        """What runs the pipeline."""
        options = self.selection.options
        return PipelineRunner(self.pipeline, options, observers, verify)

    def check_consumer(
        self, consumer: str, requires: frozenset[str], stop_after: str | None = None
    ) -> None:
        """See that what ``consumer`` needs holds where it takes over.

        Args:
            consumer: Who needs it, for the message.
            requires: The facts.
            stop_after: The last phase or pass that it wants; all by default.

        Raises:
            UserError: WV0813 where a fact is missing.
        """
        check_consumer(consumer, requires, self.pipeline, self.installed, stop_after)


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
    return PipelinePlan(
        host.passes, selection, resolve(host.passes, selection.disabled)
    )


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
