"""What a pass sees besides the graph: target, kernel, diagnostics, analyses, counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from wave_core.diagnostics import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_core.backends.lowering import AnyLowering
    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule
    from wave_core.targets import Target

T = TypeVar("T")


class AnalysisCache:
    """Results of analyses of one graph, kept until a pass changes it."""

    def __init__(self) -> None:
        """Start empty."""
        self._results: dict[object, object] = {}

    def get(self, analysis: Callable[[Graph], T], graph: Graph) -> T:
        """``analysis(graph)``, computed once until the graph changes."""
        if analysis not in self._results:
            self._results[analysis] = analysis(graph)
        return cast("T", self._results[analysis])

    def clear(self) -> None:
        """Forget everything: the graph has changed."""
        self._results.clear()


@dataclass(frozen=True)
class PassContext:
    """What a pass may ask, beside the graph and its own options.

    Attributes:
        target: The machine, as data.
        kernel: What the author stated about the kernel.
        collector: Diagnostics; errors are raised together at the end of the phase.
        analyses: Results shared between passes while the graph does not change.
        statistics: Counts that the pass reports.
        strategies: By name, what loads a way to schedule loops.
        schedule: The schedule that the author wrote; ``None`` where there is none.
        tile_rules: What plugins say about laying out ops and cutting them.
    """

    target: Target
    kernel: object = None
    collector: Collector = field(default_factory=Collector)
    analyses: AnalysisCache = field(default_factory=AnalysisCache)
    statistics: Counter[str] = field(default_factory=Counter[str])
    strategies: Mapping[str, Callable[[], object]] = field(
        default_factory=dict[str, "Callable[[], object]"]
    )
    schedule: ManualSchedule | None = None
    tile_rules: tuple[AnyLowering, ...] = ()

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a statistic of the running pass: ``count("merged_loads", 3)``."""
        self.statistics[name] += amount
