"""The IR of a kernel after each pass, and the layouts of its values."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from wave_core.diagnostics import WaveError
from wave_core.ir import PLACEMENT, graph_lines
from wave_core.passes import Phase
from wave_core.passes.observe import PassObserver, Verify
from wave_core.types import RegisterType
from wave_view.records import Stage, ValueLayout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.compile.compiled import Traced
    from wave_core.ir import Graph, Placement
    from wave_core.ops.base import Op
    from wave_core.passes.base import Pass
    from wave_core.passes.context import PassContext
    from wave_view.places import Places


class Recorder(PassObserver):
    """Keeps the text of a graph after each pass that changes it.

    Attributes:
        stages: What was kept.
        layouts: Of the values after the phase that distributes them.
    """

    def __init__(self, front: Traced, places: Places) -> None:
        self.stages: list[Stage] = []
        self.layouts: tuple[ValueLayout, ...] = ()
        self._rows = {row.name: row for row in front.plan.rows()}
        self._places = places
        self._texts: dict[str, int] = {}
        self._begun = 0.0

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines of all stages, each once."""
        return tuple(self._texts)

    def keep_trace(self, graph: Graph, seconds: float) -> None:
        """Keep the graph before the first pass."""
        told = "what the author's function says"
        self._keep(graph, ("trace", "trace", "core", told), seconds)

    def before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """Look at the clock."""
        del step, graph, context
        self._begun = time.perf_counter()

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """Keep what a pass changed."""
        del context
        seconds = time.perf_counter() - self._begun
        if changed:
            row = self._rows[step.pass_name()]
            self._keep(
                graph, (row.name, str(row.phase), row.provider, row.summary), seconds
            )

    def after_phase(self, phase: Phase, graph: Graph) -> None:
        """Keep the layouts, once there are some."""
        if phase == Phase.DISTRIBUTE:
            self.layouts = tuple(self._layouts(graph))

    def _keep(
        self, graph: Graph, told: tuple[str, str, str, str], seconds: float
    ) -> None:
        rows = tuple(
            (self._text(text), -1 if op is None else op.ident, self._place(op))
            for text, op in graph_lines(graph)
        )
        self.stages.append(Stage(*told, round(seconds * 1e3, 3), rows))

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _place(self, op: Op | None) -> int:
        return self._places.number(None if op is None else op.location)

    def _layouts(self, graph: Graph) -> Iterator[ValueLayout]:
        for op in graph.walk():
            placement = graph.facts.get(PLACEMENT, op)
            if placement is None or not isinstance(op.type, RegisterType):
                continue
            # A scalar has one element, which every lane holds.
            if op.type.dims:
                title = f"{op.op_name} {op.type}"
                yield layout_of(op.ident, title, op.type.dims, placement,
                                self._place(op))  # fmt: skip


def layout_of(
    key: int, title: str, dims: tuple[str, ...], placement: Placement, places: int
) -> ValueLayout:
    """The record of a placement."""
    layout = placement.layout
    return ValueLayout(
        key=key,
        title=title,
        places=places,
        lanes=layout.lanes,
        registers=layout.registers,
        dims=tuple(
            (
                dim,
                tuple((d.coeff, d.source, d.div, d.mod) for d in layout.digits(dim)),
            )
            for dim in dims
        ),
        steps=placement.steps,
    )


def record(front: Traced, places: Places) -> tuple[Recorder, WaveError | None]:
    """Run the pipeline and keep its stages, up to the pass that fails if one does."""
    found = Recorder(front, places)
    found.keep_trace(front.traced, front.trace_s)
    context = front.session.plugins.pass_context(front.machine, schedule=front.schedule)
    runner = front.plan.runner(observers=(found,), verify=Verify.NEVER)
    try:
        runner.run(front.traced.clone(), context)
    except WaveError as error:
        return found, error
    return found, None
