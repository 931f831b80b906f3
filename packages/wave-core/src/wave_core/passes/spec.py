"""The declaration of a pass: all that the pipeline knows before loading its class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import plugin_error
from wave_core.passes.fact import Analysis
from wave_core.passes.phase import Phase

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

OPTIONAL_MARK = "?"
"""Ends a reference to a pass that need not be installed."""

DISABLE_VARIABLE = "WAVE_DISABLE_PLUGINS"
"""Environment variable: plugins or distributions not to load, by commas, or `all`."""

CORE = "core"
"""The plugin that is always there; there is no doing without it."""

_TUPLES = ("after", "before", "replaces")
_SETS = ("requires", "provides", "clobbers", "preserves")


@dataclass(frozen=True)
class PassSpec:
    """One pass of the pipeline.

    Attributes:
        name: A kebab-case verb phrase: ``hoist-loop-invariants``. The class is named
            the same in camel case, ``HoistLoopInvariants``.
        phase: The milestone that the pass belongs to.
        target: ``"module:Class"``; imported when the pass runs.
        after: Passes that come first; ``"name?"`` means "if installed".
        before: Passes that come later; ``"name?"`` means "if installed".
        requires: Facts that must hold when the pass starts.
        provides: Facts that hold when it has run.
        clobbers: Facts that it may break. One that it provides too is broken and
            mended within the pass.
        preserves: Analyses whose answers stay true though the pass changed the graph;
            others are made again.
        replaces: Passes that do not run where this one does. What names one of them
            means this pass.
        summary: One line for ``wave pipeline``.
        enabled: Whether the pass runs unless something asks for the contrary.
        essential: Whether without it a valid kernel would be compiled wrongly or not
            at all. Such a pass can be replaced, and not disabled.

    Raises:
        PluginError: WV0809 where a field is malformed.
    """

    name: str
    phase: Phase
    target: str
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    requires: AbstractSet[str] = frozenset()
    provides: AbstractSet[str] = frozenset()
    clobbers: AbstractSet[str] = frozenset()
    preserves: AbstractSet[str] = frozenset()
    replaces: tuple[str, ...] = ()
    summary: str = ""
    enabled: bool = True
    essential: bool = False

    def __post_init__(self) -> None:
        """Check the shape of each field; what others declare is checked later."""
        if not _NAME.fullmatch(self.name):
            raise _malformed(self.name, "the name is not kebab-case")
        if not _TARGET.fullmatch(self.target):
            raise _malformed(self.name, f'target "{self.target}" is not module:Class')
        for key in (*_TUPLES, *_SETS):
            if isinstance(getattr(self, key), str):
                raise _malformed(self.name, f"`{key}` is a string, not a collection")
        if self.essential and not self.enabled:
            raise _malformed(self.name, "it is essential and not enabled")
        object.__setattr__(self, "phase", _phase(self.name, self.phase))
        for key in _TUPLES:
            object.__setattr__(self, key, tuple(getattr(self, key)))
        for key in _SETS:
            object.__setattr__(self, key, frozenset(getattr(self, key)))
        unknown = sorted(self.preserves - frozenset(Analysis))
        if unknown:
            raise _malformed(self.name, f"there is no analysis `{unknown[0]}`")

    @property
    def establishes(self) -> AbstractSet[str]:
        """Facts that hold because of the pass; it need not find them."""
        return self.provides - self.clobbers

    @property
    def breaks(self) -> AbstractSet[str]:
        """Facts that may not hold after the pass."""
        return self.clobbers - self.provides


def _phase(name: str, phase: str) -> Phase:
    try:
        return Phase(phase)
    except ValueError:
        raise _malformed(name, f"there is no phase `{phase}`") from None


def _malformed(name: str, what: str) -> Exception:
    return plugin_error("WV0809", f"the declaration of pass `{name}`: {what}")


@dataclass(frozen=True)
class InstalledPass:
    """A declared pass and the plugin that brought it."""

    spec: PassSpec
    provider: str

    @property
    def name(self) -> str:
        """The name of the pass."""
        return self.spec.name

    @property
    def phase(self) -> Phase:
        """The phase of the pass."""
        return self.spec.phase
