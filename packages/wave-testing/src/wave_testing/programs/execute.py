"""Runs graphs of one program on executors and compares with its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.compile.devices import find_device
from wave_core.diagnostics import Severity
from wave_core.executors import LaunchRequest, LaunchSettings
from wave_core.passes import Amendment, PassContext, PassObserver, Verify
from wave_core.plugin.plan import plan_pipeline
from wave_core.plugin.results import PipelineRequest
from wave_testing.programs.arguments import differences, make_arguments, make_inputs
from wave_testing.programs.bounds import error_bounds
from wave_testing.programs.kernel import bindings, program_kernel
from wave_testing.programs.kinds import ROUNDED
from wave_testing.programs.reference import Reference

if TYPE_CHECKING:
    from wave_core.compile import Session
    from wave_core.ir import Graph
    from wave_testing.programs.model import Program

TARGET = "generic"


class Execution:
    """One program with inputs, and what it should give on them.

    Attributes:
        program: The program.
        target: What it is compiled for.
        reference: Its meaning on these inputs.
    """

    def __init__(
        self, program: Program, seed: int | None = None, target: str = TARGET
    ) -> None:
        """Make inputs from ``seed``, the program's own by default."""
        self.program = program
        self.target = target
        rng = np.random.default_rng(program.seed if seed is None else seed)
        self._inputs = make_inputs(program, rng)
        self.reference = Reference(program, self._inputs)
        self.reference.run()

    def symbols(self) -> Mapping[str, int]:
        """Values of the symbols that come with the launch."""
        found = {d.name: d.extent for d in self.program.dims if d.dynamic}
        found |= {s.name: s.value for s in self.program.scalars if s.bind}
        return found

    def arguments(self, *, strided: bool = True) -> list[Any]:
        """One argument for each parameter, outputs poisoned; fresh each time.

        ``strided`` says whether views of larger arrays may be among them.
        """
        memories = self.program.memories
        if not strided:
            memories = tuple(replace(each, strided=False) for each in memories)
        return make_arguments(replace(self.program, memories=memories), self._inputs)

    def wrong(self, arguments: list[Any]) -> list[str]:
        """Mistakes in the outputs; what is rounded may be off by its bounds."""
        real = any(memory.fill == "real" for memory in self.program.memories)
        real = real or any(step.kind in ROUNDED for step in self.program.walk())
        bounds = error_bounds(self.program, self._inputs) if real else None
        return differences(self.program, arguments, self.reference, bounds)

    def trace(self) -> Graph:
        """The program's kernel, traced."""
        return program_kernel(self.program).trace(bindings(self.program))

    def lower(
        self,
        session: Session,
        observers: Sequence[PassObserver] = (),
        *,
        verify: Verify = Verify.EACH,
        amendment: Amendment | None = None,
    ) -> Graph:
        """The kernel after all passes of the session."""
        graph = self.trace()
        self.run_passes(session, graph, observers, verify=verify, amendment=amendment)
        return graph

    def run_passes(
        self,
        session: Session,
        graph: Graph,
        observers: Sequence[PassObserver] = (),
        *,
        verify: Verify = Verify.EACH,
        amendment: Amendment | None = None,
        stop_after: str | None = None,
    ) -> None:
        """Run the passes of the session on a graph, in place."""
        target = session.target(self.target)
        request = PipelineRequest(target.name, graph.name, "naive")
        asked = () if amendment is None else (("test", amendment),)
        plan = plan_pipeline(session.plugins, request, asked)
        runner = plan.runner(observers, verify)
        runner.run(graph, PassContext(target), stop_after)

    def run(
        self,
        session: Session,
        graph: Graph,
        device: str,
        checks: Any = True,  # noqa: FBT002 - an option
    ) -> tuple[list[str], tuple[Any, ...]]:
        """Run a graph; what is wrong with its outputs, and errors reported."""
        found = find_device(session, device, self.target)
        arguments = self.arguments(strided=found.spec.strided)
        before = [array.copy() for array in arguments]
        poisoned = frozenset(m.name for m in self.program.memories if not m.fill)
        settings = LaunchSettings(checks=checks, poison_outputs=poisoned)
        request = LaunchRequest.of(
            graph, session.target(self.target), arguments, self.symbols(), settings
        )
        result = session.plugins.load_executor(found.key).launch(request)
        reports = tuple(
            r for r in getattr(result, "reports", ()) if r.severity is Severity.ERROR
        )
        wrong = self.wrong(arguments)
        wrong += self._changed_inputs(before, arguments)
        return wrong, reports

    def _changed_inputs(self, before: list[Any], after: list[Any]) -> list[str]:
        return [
            f"input {memory.name} was changed"
            for memory, old, new in zip(
                self.program.memories, before, after, strict=False
            )
            if not memory.is_output and not np.array_equal(old, new)
        ]
