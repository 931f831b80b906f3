"""One pass on one kernel: the graph before it, after it, and at the end."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from typing import cast

from wave_core.passes import PassContext
from wave_core.passes import Verify
from wave_core.passes.selection import Amendment
from wave_core.plugin.plan import plan_pipeline
from wave_core.plugin.results import PipelineRequest
from wave_testing.conformance.simulate import arguments_of
from wave_testing.conformance.simulate import outputs_of
from wave_testing.conformance.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import numpy as np

    from wave_core.compile import Session
    from wave_core.compile.kernels import KernelCase
    from wave_core.ir import Graph
    from wave_core.passes.base import GraphLike
    from wave_core.passes.resolved import ResolvedPass

    Array = np.ndarray[Any, np.dtype[Any]]


class Trial:
    """One pass, with options, on one kernel.

    Attributes:
        session: Whose plugins take part.
        case: The kernel.
        changed: Whether the pass reports a change; known once ``after`` is.
    """

    def __init__(
        self,
        session: Session,
        case: KernelCase,
        pass_name: str,
        options: Mapping[str, object],
    ) -> None:
        """Put the pipeline together; the pass is enabled if it is not by default.

        Raises:
            UserError: WV0801 for a pass that is not installed.
        """
        self.session = session
        self.case = case
        self.changed = False
        self._target = session.target(case.options.target)
        request = PipelineRequest(self._target.name, case.kernel.name)
        wish = Amendment((pass_name,), options={pass_name: options})
        self._plan = plan_pipeline(session.plugins, request, user=wish)
        names = self._plan.pipeline.names
        assert pass_name in names, f"`{pass_name}` is replaced by another pass"
        self._place = names.index(pass_name)

    @property
    def entry(self) -> ResolvedPass:
        """The pass in its place."""
        return self._plan.pipeline.passes[self._place]

    @cached_property
    def before(self) -> Graph:
        """The graph that the pass gets. Do not change it: see `fresh`."""
        return self.fresh()

    @cached_property
    def after(self) -> Graph:
        """The graph that the pass leaves. Do not change it."""
        graph = self.before.clone()
        self.changed = self.apply(graph)
        return graph

    def fresh(self) -> Graph:
        """Trace the kernel and lower it up to the pass."""
        options = self.case.options
        graph = self.case.kernel.trace(options.bindings, target=self._target.name)
        self._run(graph, slice(0, self._place))
        return graph

    def apply(self, graph: Graph) -> bool:
        """Run the pass on ``graph`` and check the graph; whether it says it changed.

        Raises:
            InternalError: WV9902, WV9903, WV9907 where the graph breaks a rule, or
                lacks a fact that the pass provides or does not declare to clobber.
        """
        return self._run(graph, slice(self._place, self._place + 1))

    def finish(self, graph: Graph) -> None:
        """Run what comes after the pass."""
        self._run(graph, slice(self._place + 1, None))

    def outputs(self, graph: Graph) -> list[Array]:
        """What ``graph`` computes, on inputs that are the same each time."""
        arguments = arguments_of(self.case)
        simulate(self.session, graph, arguments)
        return outputs_of(self.case, arguments)

    def _run(self, graph: Graph, which: slice) -> bool:
        pipeline = replace(
            self._plan.pipeline, passes=self._plan.pipeline.passes[which]
        )
        runner = replace(self._plan.runner((), Verify.EACH), pipeline=pipeline)
        report = runner.run(cast("GraphLike", graph), PassContext(self._target))
        return any(run.changed for run in report.passes)
