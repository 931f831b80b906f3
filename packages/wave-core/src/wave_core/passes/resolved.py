"""A pipeline in its order, with the reason for the place of each pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.passes.phase import PHASES
from wave_core.passes.selection import unknown_name
from wave_core.passes.spec import InstalledPass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ResolvedPass(InstalledPass):
    """A pass in its place, and why it stands there."""

    reasons: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """All reasons in one line; "by name" where nothing else decides."""
        return "; ".join(self.reasons) or "by name"


@dataclass(frozen=True)
class ResolvedPipeline:
    """The passes in the order they run.

    Attributes:
        passes: First to last.
        facts: What holds at the end: each fact, and the pass that provided it last.
        replaced: Passes that do not run, each with the one that runs in its place.
        disabled: Passes that are installed and were asked not to run.
    """

    passes: tuple[ResolvedPass, ...]
    facts: Mapping[str, str]
    replaced: Mapping[str, str]
    disabled: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the passes, first to last."""
        return tuple(entry.name for entry in self.passes)

    def until(self, stop_after: str | None = None) -> tuple[ResolvedPass, ...]:
        """The passes up to and including a phase or a pass; all by default.

        Raises:
            UserError: WV0801 for an unknown phase or pass.
        """
        if stop_after is None:
            return self.passes
        if stop_after in PHASES:
            last = PHASES.index(stop_after)
            return tuple(each for each in self.passes if each.phase.ordinal <= last)
        name = self.replaced.get(stop_after, stop_after)
        if name not in self.names:
            raise unknown_name("phase or pass", name, (*PHASES, *self.names))
        return self.passes[: self.names.index(name) + 1]

    def facts_after(self, stop_after: str | None = None) -> frozenset[str]:
        """Facts that hold after a phase or a pass; raises as `until`."""
        held: set[str] = set()
        for each in self.until(stop_after):
            held -= each.spec.breaks
            held |= each.spec.provides
        return frozenset(held)
