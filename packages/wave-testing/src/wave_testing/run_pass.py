"""One pass on one text: what golden tests of passes are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import Graph, parse_graph, print_graph, verify
from wave_core.passes import InstalledPass, Pass, Pipeline, load_pass

if TYPE_CHECKING:
    from wave_core.compile import Session


class PassRunner:
    """Runs one pass at a time on IR given as text."""

    def __init__(self, session: Session) -> None:
        """Look up passes, ops and targets in ``session``."""
        self._session = session

    def __call__(self, step: Pass | str, text: str, *, target: str = "generic") -> str:
        """The IR after the pass, verified, as text.

        Args:
            step: A pass, or its text: ``"eliminate-dead-code"``, with options
                ``"minimize-loads{max-bits=64}"``.
            text: The IR before.
            target: The name of the machine.

        Raises:
            WaveError: what the pass raises, and what the verifier finds.
        """
        graph = self.parse(text)
        self.apply(step, graph, target=target)
        return print_graph(graph)

    def parse(self, text: str) -> Graph:
        """The graph of a text; the ops of all plugins are known."""
        return parse_graph(text, self._session.plugins.op_classes.values())

    def apply(self, step: Pass | str, graph: Graph, *, target: str = "generic") -> bool:
        """Run a pass on a graph, as the pipeline would; whether it changed anything."""
        machine = self._session.target(target)
        one = self.load(step)
        context = self._session.plugins.pass_context(machine)
        changed = one.should_run(graph) and one.apply(graph, context)
        row = self.installed(one.pass_name())
        if row is not None:
            graph.facts_present -= row.spec.clobbers
            graph.facts_present |= row.spec.provides
        verify(graph, target=machine, pass_name=one.pass_name())
        return changed

    def load(self, step: Pass | str) -> Pass:
        """A pass from its text.

        Raises:
            LookupError: where no pass of that name is installed.
        """
        if isinstance(step, Pass):
            return step
        (wanted,) = Pipeline.parse(step).passes
        row = self.installed(wanted.name)
        if row is None:
            names = ", ".join(each.name for each in self._session.plugins.passes)
            raise LookupError(f"no pass `{wanted.name}`; installed: {names}")
        return load_pass(row, dict(wanted.options))

    def installed(self, name: str) -> InstalledPass | None:
        """The declaration of a pass, if it is installed."""
        rows = self._session.plugins.passes
        return next((row for row in rows if row.name == name), None)
