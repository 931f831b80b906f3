"""A plugin with passes that each do one thing wrong."""

from __future__ import annotations

from dataclasses import dataclass

from wave_core.ir import clone_op, erase, insert_after, set_attributes, set_operands
from wave_core.ops.arithmetic import Sub
from wave_core.ops.memory import Read, Write
from wave_core.passes import Fact, Pass, PassSpec, Phase
from wave_core.plugin import hookimpl


def first(graph, kind):
    return next((op for op in graph.walk() if isinstance(op, kind)), None)


@dataclass(frozen=True)
class SwapSubtractions(Pass):
    """Turns ``a - b`` into ``b - a``."""

    def apply(self, graph, context):
        op = first(graph, Sub)
        if op is not None:
            set_operands(op, (op.rhs, op.lhs))
        return op is not None


@dataclass(frozen=True)
class DropWrites(Pass):
    """Drops the first write."""

    def apply(self, graph, context):
        op = first(graph, Write)
        if op is not None:
            erase(op)
        return op is not None


@dataclass(frozen=True)
class RepeatReads(Pass):
    """Adds one more read each time: right, and never done."""

    def apply(self, graph, context):
        op = first(graph, Read)
        if op is not None:
            copy = clone_op(op, {}, op.owner)
            insert_after(op, copy)
        return op is not None


@dataclass(frozen=True)
class HideChanges(Pass):
    """Writes an attribute and says that nothing changed."""

    def apply(self, graph, context):
        op = first(graph, Read)
        if op is not None:
            set_attributes(op, elements_per_thread=1)
        return False


@dataclass(frozen=True)
class LoseLocations(Pass):
    """Forgets where ops come from."""

    def apply(self, graph, context):
        for op in graph.walk():
            op.location = None
        return True


@dataclass(frozen=True)
class ClaimTooMuch(Pass):
    """Claims layouts that it does not make."""

    def apply(self, graph, context):
        graph.facts_present.add(Fact.INDEXED)
        return True


COUNTER = iter(range(1, 1_000))


@dataclass(frozen=True)
class CountRuns(Pass):
    """Leaves the number of the run in the graph."""

    def apply(self, graph, context):
        op = first(graph, Read)
        set_attributes(op, elements_per_thread=next(COUNTER))
        return True


BROKEN = (
    *(SwapSubtractions, DropWrites, RepeatReads, HideChanges),
    *(LoseLocations, ClaimTooMuch, CountRuns),
)


REQUIRES_API = (1, 0)


@hookimpl
def wave_register_passes():
    # After the passes that would mend what these break.
    return [
        PassSpec(
            cls.pass_name(),
            Phase.CANONICALIZE,
            f"{__name__}:{cls.__name__}",
            after=("eliminate-dead-code",),
            enabled=False,
        )
        for cls in BROKEN
    ]
