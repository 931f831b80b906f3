"""Compiles a program and compares every phase with exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import numpy as np

from wave_core.compile import Session
from wave_core.diagnostics import InternalError
from wave_core.diagnostics import Severity
from wave_core.diagnostics import UserError
from wave_core.ir import first_difference
from wave_core.ir import parse_graph
from wave_core.passes import PassContext
from wave_core.passes import PassObserver
from wave_core.passes import Phase
from wave_core.passes import Verify
from wave_core.plugin.plan import plan_pipeline
from wave_core.plugin.results import PipelineRequest
from wave_testing.programs.arguments import differences
from wave_testing.programs.arguments import make_arguments
from wave_testing.programs.arguments import make_inputs
from wave_testing.programs.kernel import program_kernel
from wave_testing.programs.reference import Reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.ir import Graph
    from wave_core.passes import Pass
    from wave_core.passes.base import GraphLike
    from wave_core.targets import Target
    from wave_testing.programs.model import Program

    Array = np.ndarray[Any, np.dtype[Any]]

TILE_PHASES = (Phase.CANONICALIZE, Phase.INFER, Phase.DISTRIBUTE)
LANE_PHASES = (Phase.LEGALIZE, Phase.SYNCHRONIZE)
NO_RACES = ("bounds", "poison", "alignment")
"""Checks before the barriers are there."""


@dataclass
class Outcome:
    """How a program did.

    Attributes:
        phases: Phases that were simulated and found right.
        ops: Ops of the lowered graph.
    """

    phases: list[str] = field(default_factory=list[str])
    ops: int = 0


class Discarded(Exception):  # noqa: N818 - an outcome, not an error
    """The compiler refuses the program with a coded diagnostic.

    Attributes:
        code: Which one.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


def _refused(error: UserError) -> Discarded:
    first = error.diagnostics[0]
    return Discarded(str(first.code), first.message)


class ProgramFailure(AssertionError):
    """A program was compiled or executed wrongly.

    Attributes:
        program: The program.
        phase: Where it showed.
        symptom: What showed, without numbers that vary from run to run.
    """

    def __init__(self, program: Program, phase: str, symptom: str, details: str) -> None:
        super().__init__(f"{phase}: {symptom}: {details}\n{program}")
        self.program = program
        self.phase = phase
        self.symptom = symptom


@cache
def _session() -> Session:
    return Session()


def check_program(program: Program, *, seed: int | None = None) -> Outcome:
    """Compile the program, and compare every phase with the reference.

    Args:
        program: The program.
        seed: Of the inputs; the program's own by default.

    Raises:
        ProgramFailure: where anything is wrong.
        Discarded: where the compiler refuses the program with a coded error.
    """
    return _Check(program, program.seed if seed is None else seed).run()


class _Check:
    """One program being checked."""

    def __init__(self, program: Program, seed: int) -> None:
        self.program = program
        self.outcome = Outcome()
        self.session = _session()
        self.inputs = make_inputs(program, np.random.default_rng(seed))
        self.reference = Reference(program, self.inputs)
        self.reference.run()

    def run(self) -> Outcome:
        """Trace, lower, and compare on the way."""
        target = self.session.target("generic")
        graph = self._traced()
        request = PipelineRequest(target.name, graph.name, "naive")
        plan = plan_pipeline(self.session.plugins, request)
        runner = plan.runner((_Observer(self, target),), Verify.EACH)
        try:
            runner.run(cast("GraphLike", graph), PassContext(target))
        except UserError as error:
            raise _refused(error) from error
        except InternalError as error:
            where = error.pass_name or "pipeline"
            raise self.failure(where, "internal error", error) from error
        self.outcome.ops = sum(1 for _ in graph.walk())
        return self.outcome

    def _traced(self) -> Graph:
        bindings = {d.name: d.extent for d in self.program.dims if not d.dynamic}
        try:
            graph = program_kernel(self.program).trace(bindings)
        except UserError as error:
            raise _refused(error) from error
        except Exception as error:
            raise self.failure("trace", type(error).__name__, error) from error
        self.round_trip(graph, "trace")
        return graph

    def failure(self, phase: str, symptom: str, details: object) -> ProgramFailure:
        """What to raise."""
        return ProgramFailure(self.program, phase, symptom, str(details))

    def round_trip(self, graph: Graph, after: str) -> None:
        """See that the text form denotes the same graph."""
        text = str(graph)
        try:
            parsed = parse_graph(text)
        except Exception as error:
            raise self.failure(after, "text does not parse", error) from error
        found = first_difference(graph, parsed)
        if found is not None:
            raise self.failure(after, "text denotes another graph", found)

    def simulate(self, graph: Graph, phase: str, device: str, checks: Any) -> None:
        """Run a graph and compare its outputs."""
        arguments = make_arguments(self.program, self.inputs)
        options = {"target": self.session.target("generic"), "checks": checks}
        if device == "sim":
            options["poison_outputs"] = True
        executor = self.session.plugins.load_executor(device)
        try:
            result = executor.run(graph, arguments, self.symbols(), options)
        except Exception as error:
            symptom = f"simulation fails with {type(error).__name__}"
            raise self.failure(phase, symptom, error) from error
        found = getattr(result, "reports", ())
        reports = [r for r in found if r.severity is Severity.ERROR]
        if reports:
            codes = ", ".join(sorted({str(r.code) for r in reports}))
            raise self.failure(phase, f"reports {codes}", reports[0].message)
        wrong = differences(self.program, arguments, self.reference)
        if wrong:
            raise self.failure(phase, "wrong result", "; ".join(wrong))
        self.outcome.phases.append(phase)

    def symbols(self) -> Mapping[str, int]:
        """Values of the symbols that come with the launch."""
        found = {d.name: d.extent for d in self.program.dims if d.dynamic}
        found |= {s.name: s.value for s in self.program.scalars if s.bind}
        return found


class _Observer(PassObserver):
    """Compares after every pass and every phase."""

    def __init__(self, check: _Check, target: Target) -> None:
        self._check = check
        self._target = target

    def after_pass(
        self, step: Pass, graph: GraphLike, context: PassContext, *, changed: bool
    ) -> None:
        """The text form, after each pass."""
        del context, changed
        self._check.round_trip(cast("Graph", graph), step.pass_name())

    def after_phase(self, phase: Phase, graph: GraphLike) -> None:
        """A simulation, where the phase has one."""
        if phase in TILE_PHASES:
            self._check.simulate(cast("Graph", graph), phase, "sim-logical", True)  # noqa: FBT003
        if phase is Phase.LEGALIZE:
            self._check.simulate(cast("Graph", graph), phase, "sim", NO_RACES)
        if phase is Phase.SYNCHRONIZE:
            self._check.simulate(cast("Graph", graph), phase, "sim", True)  # noqa: FBT003
