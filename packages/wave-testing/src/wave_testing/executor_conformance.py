"""Conformance of executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pytest

from wave_core.compile import Session
from wave_core.compile.devices import find_device
from wave_testing.corpus import copy, corpus
from wave_testing.programs.execute import Execution

if TYPE_CHECKING:
    from wave_core.ir import Graph

KERNELS = tuple(corpus())


class ExecutorConformance:
    """Tests of everything that runs kernels; a subclass names one.

    Attributes:
        device: The executor, as ``device=`` takes it.
        plugins: Plugins beside the installed ones: modules by name.
    """

    device: ClassVar[str]
    plugins: ClassVar[Mapping[str, object]] = {}

    @pytest.fixture
    def session(self) -> Session:
        """A session that has the executor."""
        return Session(self.plugins)

    def lowered(self, session: Session, execution: Execution) -> Graph:
        """The kernel as far as the executor wants it."""
        spec = find_device(session, self.device, execution.target).spec
        graph = execution.trace()
        execution.run_passes(session, graph, stop_after=spec.stop_after)
        missing = spec.requires - graph.facts_present
        assert not missing, f"`{self.device}` needs {', '.join(missing)}"
        return graph

    def run(self, session: Session, execution: Execution) -> list[str]:
        """Run a kernel once; what is wrong."""
        graph = self.lowered(session, execution)
        wrong, reports = execution.run(session, graph, self.device)
        return [*wrong, *(r.message for r in reports)]

    @pytest.mark.parametrize("name", KERNELS)
    def test_results_are_right(self, session: Session, name: str) -> None:
        """Outputs are written in place, inputs are left alone."""
        assert self.run(session, Execution(corpus()[name])) == []

    @pytest.mark.parametrize("name", KERNELS)
    def test_a_second_launch_is_right_too(self, session: Session, name: str) -> None:
        """Nothing is left over from the launch before."""
        execution = Execution(corpus()[name])
        graph = self.lowered(session, execution)
        text = str(graph)
        for _ in range(2):
            wrong, _ = execution.run(session, graph, self.device)
            assert wrong == []
        assert str(graph) == text, "the executor changed the graph"

    def test_an_empty_grid_launches_nothing(self, session: Session) -> None:
        """No workgroup, no access."""
        program = copy()
        dims = (replace(program.dims[0], extent=0), program.dims[1])
        assert self.run(session, Execution(replace(program, dims=dims))) == []

    def test_strides_are_followed(self, session: Session) -> None:
        """Views of larger arrays are read and written as what they are."""
        program = copy()
        memories = tuple(replace(m, strided=True) for m in program.memories)
        execution = Execution(replace(program, memories=memories))
        assert self.run(session, execution) == []
