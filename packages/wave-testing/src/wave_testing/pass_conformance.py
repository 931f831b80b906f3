"""Conformance of passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from wave_core.analysis.dependences.accesses import shared_accesses
from wave_core.compile import Session
from wave_core.ir import ACCESS, LANDING, Graph, first_difference, parse_graph, problems
from wave_core.ops.control import Iterate
from wave_core.passes import (
    Amendment,
    Analysis,
    InstalledPass,
    Pass,
    PassContext,
    PassObserver,
    PassText,
    Pipeline,
    Verify,
)
from wave_testing.corpus import corpus
from wave_testing.programs.execute import TARGET, Execution

KERNELS = tuple(corpus())
_EXPANDED, _INDEXED = "expanded", "indexed"


@dataclass
class Around:
    """One run of a pass.

    Attributes:
        before, after: The graph before the pass and after it.
        changed: Whether the pass says that it changed something.
        lowered: The graph at the end of the pipeline.
    """

    before: Graph
    after: Graph
    changed: bool
    lowered: Graph


class PassConformance:
    """Tests of every pass; a subclass named ``Test...`` names one.

    Each test runs the pass where the pipeline puts it, on each kernel of the corpus.

    Attributes:
        pass_name: The pass.
        options: Values of its options, by name.
        idempotent: Whether it claims to find nothing to do on what it has made.
        plugins: Plugins beside the installed ones: modules by name.
    """

    pass_name: ClassVar[str]
    options: ClassVar[Mapping[str, object]] = {}
    idempotent: ClassVar[bool] = True
    plugins: ClassVar[Mapping[str, object]] = {}

    @pytest.fixture(params=KERNELS)
    def execution(self, request: pytest.FixtureRequest) -> Execution:
        """A kernel of the corpus with inputs."""
        return Execution(corpus()[request.param])

    @pytest.fixture
    def session(self) -> Session:
        """A session that has the pass."""
        return Session(self.plugins)

    @pytest.fixture
    def around(self, session: Session, execution: Execution) -> Around:
        """The kernel lowered by a pipeline with the pass in it."""
        return self.run_around(session, execution)

    def run_around(self, session: Session, execution: Execution) -> Around:
        """Lower a kernel and take copies around the pass."""
        watch = _Watch(self.pass_name)
        wanted = PassText(self.pass_name, tuple(self.options.items()))  # pyright: ignore[reportArgumentType] - values become text
        amendment = Amendment.of_text(Pipeline((wanted,)))
        lowered = execution.lower(
            session, (watch,), verify=Verify.NEVER, amendment=amendment
        )
        before, after = watch.before, watch.after
        if before is None or after is None:
            # The pass said by itself that it has nothing to do.
            return Around(lowered, lowered, changed=False, lowered=lowered)
        return Around(before, after, watch.changed, lowered)

    def spec_of(self, session: Session) -> InstalledPass:
        """The declaration of the pass."""
        rows = [p for p in session.plugins.passes if p.name == self.pass_name]
        assert rows, f"pass `{self.pass_name}` is not installed"
        return rows[0]

    def apply_again(self, around: Around, session: Session) -> tuple[bool, Graph]:
        """Run the pass on what it has made."""
        step = self.load(session)
        graph = around.after.clone()
        context = PassContext(session.target(TARGET))
        changed = step.should_run(graph) and step.apply(graph, context)
        return changed, graph

    def load(self, session: Session) -> Pass:
        """The pass with its options."""
        from wave_core.passes import load_pass  # noqa: PLC0415 - one user

        return load_pass(self.spec_of(session), self.options)

    def test_the_pass_runs(self, session: Session) -> None:
        """Some kernel of the corpus comes to the pass; its text reads back."""
        step = self.load(session)
        assert Pipeline.parse(str(step)).passes == (step.text(),)
        assert self.spec_of(session).name == step.pass_name()

    def test_the_graph_obeys_the_rules(self, around: Around, session: Session) -> None:
        """Structure, types, locations, and every fact that the graph claims."""
        found = problems(around.after, target=session.target(TARGET))
        assert not found, found[0].message

    def test_it_claims_what_it_declares(self, around: Around, session: Session) -> None:
        """Facts: those before, without those it clobbers, with those it provides."""
        spec = self.spec_of(session).spec
        if around.before is around.after:
            return
        kept = (around.before.facts_present - spec.clobbers) | spec.provides
        assert around.after.facts_present == {str(fact) for fact in kept}

    def test_it_preserves_what_it_says(self, around: Around, session: Session) -> None:
        """Answers that outlive the pass are those about the graph after it."""
        for analysis in self.spec_of(session).spec.preserves:
            subject = _SUBJECTS[Analysis(analysis)]
            assert subject(around.after) == subject(around.before), analysis

    def test_every_op_has_a_location(self, around: Around) -> None:
        """Messages can name the user's line."""
        lost = [op.op_name for op in around.after.walk() if op.location is None]
        assert lost == []

    def test_it_says_whether_it_changed_something(self, around: Around) -> None:
        """A pass that says it changed nothing has changed nothing."""
        if not around.changed:
            after = around.after.clone()
            after.facts_present = set(around.before.facts_present)
            assert first_difference(around.before, after) is None

    def test_a_second_run_finds_nothing(self, around: Around, session: Session) -> None:
        """Idempotence, where it is claimed."""
        if self.idempotent:
            changed, again = self.apply_again(around, session)
            assert first_difference(around.after, again) is None
            assert not changed

    def test_it_is_deterministic(
        self, around: Around, session: Session, execution: Execution
    ) -> None:
        """Two runs give the same text."""
        again = self.run_around(session, execution)
        assert str(again.after) == str(around.after)

    def test_the_text_reads_back(self, around: Around, session: Session) -> None:
        """The text form denotes the same graph."""
        ops = session.plugins.op_classes.values()
        parsed = parse_graph(str(around.after), ops)
        assert first_difference(around.after, parsed) is None

    def test_it_keeps_the_meaning(
        self, around: Around, session: Session, execution: Execution
    ) -> None:
        """Right results just after the pass, where it can be run, and at the end."""
        device = _device_for(around.after)
        if device is not None:
            _check(session, execution, around.after, device, checks=())
        _check(session, execution, around.lowered, "sim", checks=True)


def _loops(graph: Graph) -> list[object]:
    """The ops and facts that decide what is known in regions."""
    loops = [op for op in graph.walk() if isinstance(op, Iterate)]
    return [(op.induction, op.count, op.start, op.step) for op in loops]


def _accesses(graph: Graph) -> list[object]:
    """Dependences follow from these, and from loops."""
    facts = graph.facts
    rows = [(a.kind, a.buffer, a.op) for a in shared_accesses(graph)]
    return [
        *_loops(graph),
        *[
            (kind, buffer.attributes, facts.get(ACCESS, op), facts.get(LANDING, op))
            for kind, buffer, op in rows
        ],
    ]


_SUBJECTS = {Analysis.REGION_FACTS: _loops, Analysis.DEPENDENCES: _accesses}


def _device_for(graph: Graph) -> str | None:
    """The device that can run a graph between two passes."""
    names = {op.op_name for op in graph.walk()}
    if _EXPANDED not in graph.facts_present:
        return "sim-logical"
    return None if "reduce" in names else "sim"


def _check(
    session: Session, execution: Execution, graph: Graph, device: str, checks: Any
) -> None:
    wrong, reports = execution.run(session, graph, device, checks)
    assert not wrong, wrong[0]
    assert not reports, reports[0].message


class _Watch(PassObserver):
    """Takes copies around one pass."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.before: Graph | None = None
        self.after: Graph | None = None
        self.changed = False

    def before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """Copy the graph before the pass."""
        del context
        if step.pass_name() == self._name:
            self.before = graph.clone()

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """Copy the graph after the pass."""
        del context
        if step.pass_name() == self._name:
            self.after = graph.clone()
            self.changed = changed
