"""The context of a pass: target, kernel, diagnostics, analyses, counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import Collector
from wave_core.passes.fact import Analysis

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Set as AbstractSet

    from wave_core.analysis.dependences.derive import Dependences, Meetings
    from wave_core.analysis.region_facts import RegionFacts
    from wave_core.backends.lowering import AnyLowering
    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule
    from wave_core.targets import Target

T = TypeVar("T")


class Remembered(Generic[T]):
    """One answer about a graph, and the state of the graph that it is true of."""

    def __init__(self) -> None:
        self._answer: tuple[Graph, object, T] | None = None

    def get(self, graph: Graph, state: object, make: Callable[[], T]) -> T:
        """The answer for ``graph`` as it is now; made where there is none yet."""
        if self._answer is not None:
            known, before, answer = self._answer
            if known is graph and before == state:
                return answer
        answer = make()
        self._answer = graph, state, answer
        return answer

    def keep(self, graph: Graph, state: object) -> None:
        """The answer is true of the state that the graph has now, too."""
        if self._answer is not None and self._answer[0] is graph:
            self._answer = graph, state, self._answer[2]

    def drop(self) -> None:
        """Forget the answer."""
        self._answer = None


class AnalysisCache:
    """The latest answers of analyses, each for the state of the graph it was made of.

    Geometry follows from constraints and bound symbols alone, and meetings from it; the
    others are true of one version of a graph, and of later ones where the pass in
    between says so.
    """

    def __init__(self) -> None:
        self.geometry = Remembered[Geometry]()
        self.meetings = Remembered["Meetings"]()
        self.dependences = Remembered["Dependences"]()
        self.region_facts = Remembered["RegionFacts"]()

    def settle(self, graph: Graph, target: Target, preserved: AbstractSet[str]) -> None:
        """A pass has changed ``graph`` and left true what ``preserved`` names."""
        versioned = {
            Analysis.DEPENDENCES: self.dependences,
            Analysis.REGION_FACTS: self.region_facts,
        }
        for name, answer in versioned.items():
            if name in preserved:
                answer.keep(graph, (graph.version, target))
            else:
                answer.drop()


@dataclass(frozen=True)
class PassContext:
    """Everything that a pass may ask, beside the graph and its own options.

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

    def geometry(self, graph: Graph) -> Geometry:
        """How the dimensions of ``graph`` spread over the target.

        Raises:
            UserError: WV03xx where constraints contradict each other.
        """
        constraints, bindings = graph.constraints, graph.bindings
        return self._geometry(
            graph, lambda: Geometry(constraints, bindings, self.target, graph.location)
        )

    def take_geometry(self, graph: Graph, known: Geometry) -> None:
        """Take the geometry of ``graph`` from who has it already."""
        self._geometry(graph, lambda: known)

    def _geometry(self, graph: Graph, make: Callable[[], Geometry]) -> Geometry:
        decisive = graph.constraints, dict(graph.bindings), self.target
        return self.analyses.geometry.get(graph, decisive, make)

    def dependences(self, graph: Graph) -> Dependences:
        """Which accesses of LDS depend on which, in ``graph`` as it is now."""
        # Lazy: what declares passes loads this module, and may not load torch.
        from wave_core.analysis.dependences.derive import Dependences  # noqa: PLC0415

        return self.analyses.dependences.get(
            graph,
            (graph.version, self.target),
            lambda: Dependences(graph, self.geometry(graph), self._meetings(graph)),
        )

    def _meetings(self, graph: Graph) -> Meetings:
        """Which threads of ``graph`` meet, as far as its geometry alone says."""
        from wave_core.analysis.dependences.derive import Meetings  # noqa: PLC0415

        geometry = self.geometry(graph)
        return self.analyses.meetings.get(graph, geometry, lambda: Meetings(geometry))

    def region_facts(self, graph: Graph) -> RegionFacts:
        """Facts in each region of ``graph`` as it is now."""
        # Lazy, as above.
        from wave_core.analysis.region_facts import RegionFacts  # noqa: PLC0415

        return self.analyses.region_facts.get(
            graph,
            (graph.version, self.target),
            lambda: RegionFacts(self.geometry(graph)),
        )

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a statistic of the running pass: ``count("merged_loads", 3)``."""
        self.statistics[name] += amount
