"""The phases of compilation: named milestones that core owns, in order."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """A milestone of the pipeline; members are declared in the order they run.

    Between two phases the graph prints, parses back, verifies and can be simulated.
    Adding a phase is a minor change of the plugin API, removing one a major.
    """

    CANONICALIZE = "canonicalize"
    """Bring what was traced into one form."""
    INFER = "infer"
    """Types, iteration arguments, mappings."""
    PLACE = "place"
    """Which memories are staged where."""
    DISTRIBUTE = "distribute"
    """Every value gets a layout, every access a base."""
    EXPAND = "expand"
    """Wave-level ops become instruction-sized pieces."""
    OPTIMIZE = "optimize"
    """Hoisting, fewer and wider accesses, layouts."""
    LEGALIZE = "legalize"
    """Reductions, scans, strided accesses, bounds."""
    SCHEDULE = "schedule"
    """Loops pipelined and reordered."""
    ALLOCATE = "allocate"
    """Buffers of shared memory get addresses."""
    SYNCHRONIZE = "synchronize"
    """Barriers and waits."""

    @property
    def ordinal(self) -> int:
        """The place of the phase in the pipeline, from 0."""
        return PHASES.index(self)


PHASES: tuple[Phase, ...] = tuple(Phase)
"""All phases in the order they run."""
