"""The seam around passes: what printing, snapshots and plugin hooks hang on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.ir.graph import Graph
    from wave_core.passes.base import Pass
    from wave_core.passes.context import PassContext
    from wave_core.passes.phase import Phase


class Verify(StrEnum):
    """When the graph is checked while a pipeline runs."""

    NEVER = "never"
    """Not at all."""
    ENDS = "ends"
    """Before the first pass and after the last one."""
    EACH = "each"
    """Before the first pass and after every pass."""


class PassObserver:
    """Is told about every pass; the methods do nothing unless overridden."""

    def before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """``step`` is about to run; a pass that is skipped is not told about."""

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """``step`` has run, and the graph passed the checks that are on."""

    def after_phase(self, phase: Phase, graph: Graph) -> None:
        """The last pass of ``phase`` has run; not called for a phase without one."""


@dataclass
class IrPrinter(PassObserver):
    """Prints the graph around passes.

    Attributes:
        after: Passes or phases after which to print.
        sink: Takes a title and the text.
        before: Passes before which to print.
    """

    after: frozenset[str]
    sink: Callable[[str, str], None]
    before: frozenset[str] = frozenset()

    def before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """Print where the pass was asked for."""
        del context
        if step.pass_name() in self.before:
            self.sink(f"before {step}", str(graph))

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """Print where the pass was asked for."""
        del context
        if step.pass_name() in self.after:
            note = "" if changed else " (no change)"
            self.sink(f"after {step}{note}", str(graph))

    def after_phase(self, phase: Phase, graph: Graph) -> None:
        """Print where the phase was asked for."""
        if phase in self.after:
            self.sink(f"after phase {phase}", str(graph))
