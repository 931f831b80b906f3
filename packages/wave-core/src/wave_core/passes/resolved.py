"""A pipeline in its order, with the reason for the place of each pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.passes.phase import Phase
    from wave_core.passes.spec import PassSpec


@dataclass(frozen=True)
class ResolvedPass:
    """A pass in its place, and why it stands there."""

    spec: PassSpec
    provider: str
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the pass."""
        return self.spec.name

    @property
    def phase(self) -> Phase:
        """The phase of the pass."""
        return self.spec.phase

    @property
    def reason(self) -> str:
        """All reasons in one line; "by name" where nothing else decides."""
        return "; ".join(self.reasons) or "by name"


@dataclass(frozen=True)
class ResolvedPipeline:
    """The passes in the order they run.

    Attributes:
        passes: First to last.
        facts: What holds at the end: each fact, and the pass that established it.
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
