"""Rows of the table that ``wave pipeline`` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.passes.phase import Phase
    from wave_core.passes.resolved import ResolvedPipeline
    from wave_core.passes.spec import InstalledPass


@dataclass(frozen=True)
class PipelineRow:
    """One pass of the table.

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
    runs: bool = True


def describe_pipeline(
    pipeline: ResolvedPipeline, installed: Iterable[InstalledPass] = ()
) -> tuple[PipelineRow, ...]:
    """A row for every pass that runs, in order, then for those that do not.

    Args:
        pipeline: The passes that run.
        installed: All that are installed; those that do not run close the table.
    """
    running = [
        PipelineRow(p.phase, p.name, p.provider, p.reason, p.spec.summary)
        for p in pipeline.passes
    ]
    idle = [
        PipelineRow(
            p.spec.phase, p.name, p.provider, _idle(p, pipeline), p.spec.summary, False
        )
        for p in sorted(installed, key=lambda p: (p.spec.phase.ordinal, p.name))
        if p.name not in pipeline.names
    ]
    return (*running, *idle)


def _idle(this: InstalledPass, pipeline: ResolvedPipeline) -> str:
    replacer = pipeline.replaced.get(this.name)
    return "disabled" if replacer is None else f"replaced by {replacer}"
