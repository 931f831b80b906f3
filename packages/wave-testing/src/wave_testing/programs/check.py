"""Compiles a program and compares every phase with exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from wave_core.compile import Session
from wave_core.diagnostics import InternalError, UserError
from wave_core.ir import Graph, first_difference, parse_graph
from wave_core.passes import Amendment, Pass, PassContext, PassObserver, Phase, Pipeline
from wave_testing.coverage import coverage_problems
from wave_testing.programs.execute import TARGET, Execution
from wave_testing.programs.store import for_target

if TYPE_CHECKING:
    from wave_testing.programs.model import Program

SIMULATED: dict[Phase, tuple[str, Any]] = {
    Phase.CANONICALIZE: ("sim-logical", True),
    Phase.INFER: ("sim-logical", True),
    Phase.DISTRIBUTE: ("sim-logical", True),
    # Before the barriers are there, accesses of shared memory race.
    Phase.LEGALIZE: ("sim", ("bounds", "poison", "alignment")),
    Phase.SYNCHRONIZE: ("sim", True),
}
"""The executor and the checks after each phase that can be executed."""


@dataclass
class Outcome:
    """How a program did.

    Attributes:
        phases: Phases that were simulated and found right.
        ops: Ops of the lowered graph.
        changed: Passes that changed the graph.
    """

    phases: list[str] = field(default_factory=list[str])
    ops: int = 0
    changed: set[str] = field(default_factory=set[str])


class Discarded(Exception):  # noqa: N818 - an outcome, not an error
    """The compiler refuses the program with a coded diagnostic.

    Attributes:
        code: Which one.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code

    @classmethod
    def of(cls, error: UserError) -> Discarded:
        """The refusal that the first diagnostic of ``error`` states."""
        first = error.diagnostics[0]
        return cls(str(first.code), first.message)


class ProgramFailure(AssertionError):  # noqa: N818 - an outcome, as `Discarded`
    """A program was compiled or executed wrongly.

    Attributes:
        program: The program.
        phase: Where it showed: a phase or a pass.
        symptom: What showed, without details that a smaller program would change.
    """

    def __init__(
        self, program: Program, phase: str, symptom: str, details: object
    ) -> None:
        super().__init__(f"{phase}: {symptom}: {details}\n{program}")
        self.program = program
        self.phase = phase
        self.symptom = symptom


@cache
def default_session() -> Session:
    """A session with all installed plugins."""
    return Session()


def check_program(
    program: Program,
    *,
    seed: int | None = None,
    session: Session | None = None,
    passes: str = "",
    target: str = TARGET,
) -> Outcome:
    """Compile the program, and compare every phase with the reference.

    Args:
        program: The program.
        seed: Of the inputs; the program's own by default.
        session: Whose passes to run; all that are installed by default.
        passes: Passes to run beside those of core, as text, with commas.
        target: What it is compiled for, by name.

    Raises:
        ProgramFailure: where anything is wrong.
        Discarded: where the compiler refuses the program with a coded error.
    """
    known = session or default_session()
    program = for_target(program, known.target(target))
    return _Check(Execution(program, seed, target), known, passes).run()


class _Check(PassObserver):
    """One program being checked: compares after every pass and every phase."""

    def __init__(self, execution: Execution, session: Session, passes: str) -> None:
        self._execution = execution
        self._amendment = Amendment.of_text(Pipeline.parse(passes)) if passes else None
        self._session = session
        self._outcome = Outcome()

    def run(self) -> Outcome:
        """Trace, lower, and compare on the way."""
        graph = self._traced()
        try:
            self._execution.run_passes(
                self._session, graph, (self,), amendment=self._amendment
            )
        except UserError as error:
            raise Discarded.of(error) from error
        except InternalError as error:
            where = error.pass_name or "pipeline"
            raise self._failure(where, "internal error", error) from error
        self._outcome.ops = sum(1 for _ in graph.walk())
        return self._outcome

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """The text form, after each pass that changes something."""
        del context
        if changed:
            self._outcome.changed.add(step.pass_name())
            self._round_trip(graph, step.pass_name())

    def after_phase(self, phase: Phase, graph: Graph) -> None:
        """The coverage theorem, and a simulation where the phase has one."""
        if phase is Phase.DISTRIBUTE:
            target = self._session.target(self._execution.target)
            found = coverage_problems(graph, target, self._execution.symbols())
            if found:
                raise self._failure(phase, "coverage", found[0])
        if phase in SIMULATED:
            self._simulate(graph, phase)

    def _traced(self) -> Graph:
        try:
            graph = self._execution.trace()
        except UserError as error:
            raise Discarded.of(error) from error
        except Exception as error:
            raise self._failure("trace", type(error).__name__, error) from error
        self._round_trip(graph, "trace")
        return graph

    def _round_trip(self, graph: Graph, after: str) -> None:
        """See that the text form denotes the same graph."""
        try:
            parsed = parse_graph(str(graph), self._session.plugins.op_classes.values())
        except Exception as error:
            raise self._failure(after, "text does not parse", error) from error
        found = first_difference(graph, parsed)
        if found is not None:
            raise self._failure(after, "text denotes another graph", found)

    def _simulate(self, graph: Graph, phase: Phase) -> None:
        device, checks = SIMULATED[phase]
        try:
            wrong, reports = self._execution.run(self._session, graph, device, checks)
        except Exception as error:
            symptom = f"simulation fails with {type(error).__name__}"
            raise self._failure(phase, symptom, error) from error
        if reports:
            codes = ", ".join(sorted({str(r.code) for r in reports}))
            raise self._failure(phase, f"reports {codes}", reports[0].message)
        if wrong:
            raise self._failure(phase, "wrong result", "; ".join(wrong))
        self._outcome.phases.append(phase)

    def _failure(self, phase: str, symptom: str, details: object) -> ProgramFailure:
        return ProgramFailure(self._execution.program, phase, symptom, details)
