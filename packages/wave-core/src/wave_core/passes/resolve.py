"""The order of the passes, as a function of the set of passes that are installed.

Phases come one after the other. Within a phase ``after``, ``before`` and the facts
that passes need, provide and clobber are edges; what they leave open, the name
decides. Nothing depends on who registered first.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from wave_core.passes import conflicts
from wave_core.passes.pass_set import PassSet
from wave_core.passes.resolved import ResolvedPass, ResolvedPipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wave_core.passes.selection import Selection
    from wave_core.passes.spec import InstalledPass


class _Edge(NamedTuple):
    """``first`` runs before ``second``; each has its reason printed beside it."""

    first: str
    second: str
    reason: str
    reason_of_first: str = ""

    def reason_of(self, name: str) -> str:
        """The reason that the edge gives for the place of ``name``, or nothing."""
        beside_first = self.reason_of_first if name == self.first else ""
        return self.reason if name == self.second else beside_first


def resolve(
    installed: Iterable[InstalledPass], disabled: Iterable[str] = ()
) -> ResolvedPipeline:
    """Order the installed passes, leaving out those that are disabled.

    Raises:
        PluginError: WV0805 cycle, WV0806 order against the phases, WV0807 unknown
            pass, WV0808 unmet fact, WV0810 fact provided twice, WV0811 contradicting
            replacements, WV0812 pass declared twice.
    """
    passes = PassSet.of(installed, disabled)
    edges = [*_order_edges(passes), *_fact_edges(passes)]
    ordered: list[ResolvedPass] = []
    for name in _sorted(passes, edges):
        spec, provider = passes.active[name].spec, passes.active[name].provider
        reasons = dict.fromkeys(filter(None, (edge.reason_of(name) for edge in edges)))
        ordered.append(ResolvedPass(spec, provider, tuple(reasons)))
    facts = _facts_at_end(ordered, passes)
    return ResolvedPipeline(tuple(ordered), facts, passes.replaced, passes.disabled)


def _order_edges(passes: PassSet) -> Iterator[_Edge]:
    """Edges from ``after`` and ``before``."""
    for name, this in passes.active.items():
        for other in passes.named(this, this.spec.after):
            if conflicts.same_phase(passes.active[other], this, this, "after"):
                yield _Edge(other, name, f"after {other}")
        for other in passes.named(this, this.spec.before):
            if conflicts.same_phase(this, passes.active[other], this, "before"):
                yield _Edge(name, other, f"after {name}", f"before {other}")


def _fact_edges(passes: PassSet) -> Iterator[_Edge]:
    """A pass follows who provides a fact, or else precedes who breaks it."""
    for name, this in passes.active.items():
        peers = {n: p.spec for n, p in passes.in_phase(this.spec.phase) if n != name}
        for fact in sorted(this.spec.requires):
            makers = [n for n, spec in peers.items() if fact in spec.establishes]
            breakers = [n for n, spec in peers.items() if fact in spec.breaks]
            for other in makers:
                yield _Edge(other, name, f"needs {fact} of {other}")
            for other in () if makers else breakers:
                yield _Edge(name, other, f"breaks {fact}, which {name} needs")


def _sorted(passes: PassSet, edges: Iterable[_Edge]) -> list[str]:
    """The order; of the passes that could come next, by phase, then by name."""
    sorter = TopologicalSorter(dict.fromkeys(passes.active, ()))
    for edge in edges:
        sorter.add(edge.second, edge.first)
    try:
        sorter.prepare()
    except CycleError as error:
        reasons = {(edge.first, edge.second): edge.reason for edge in edges}
        raise conflicts.cycle(error.args[1], reasons, passes) from None
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, (passes.active[name].spec.phase.ordinal, name))
        order.append(heappop(ready)[1])
        sorter.done(order[-1])
    return order


def _facts_at_end(order: list[ResolvedPass], passes: PassSet) -> dict[str, str]:
    """Facts after the last pass, and since which; checks every pass's needs."""
    held: dict[str, str] = {}
    broken: dict[str, str] = {}
    for this in order:
        for fact in sorted(this.spec.requires - held.keys()):
            raise conflicts.unmet_fact(this, fact, broken.get(fact), passes)
        for fact in sorted(this.spec.establishes & held.keys()):
            raise conflicts.provided_twice(held[fact], this.name, fact, passes)
        broken.update(dict.fromkeys(this.spec.breaks, this.name))
        for fact in this.spec.breaks:
            held.pop(fact, None)
        held.update(dict.fromkeys(this.spec.provides, this.name))
    return dict(sorted(held.items()))


def check_essential(installed: Iterable[InstalledPass], selection: Selection) -> None:
    """See that every essential pass runs, or one that replaces it.

    Raises:
        UserError: WV0828 for the first that does not, in order of name.
    """
    passes = PassSet.of(installed, selection.disabled)
    for name in sorted(selection.disabled_by.keys() - passes.replaced.keys()):
        if passes.known[name].spec.essential:
            raise conflicts.essential_disabled(
                passes.known[name], selection.disabled_by[name]
            )


def check_consumer(
    consumer: str,
    requires: Iterable[str],
    pipeline: ResolvedPipeline,
    installed: Iterable[InstalledPass],
    stop_after: str | None = None,
) -> None:
    """See that what a backend or an executor needs holds where it takes over.

    Args:
        consumer: Who needs it, for the message: ``"executor `sim`"``.
        requires: The facts.
        pipeline: The passes that run.
        installed: All that are installed, to say what would help.
        stop_after: The phase or pass after which it takes over; the last by default.

    Raises:
        UserError: WV0813 where a fact is missing, WV0801 for an unknown
            ``stop_after``.
    """
    for fact in sorted(set(requires) - pipeline.facts_after(stop_after)):
        passes = PassSet.of(installed, pipeline.disabled)
        raise conflicts.missing_at_end(consumer, fact, passes, stop_after)
