"""Facts: what may hold for a whole graph, and what passes need and establish."""

from __future__ import annotations

from enum import StrEnum


class Fact(StrEnum):
    """The facts that core knows.

    A fact is a string, so a plugin may add its own; it should prefix them with its
    name, as in ``"memory.swizzled"``.
    """

    CANONICAL = "canonical"
    """Dead and repeated ops are gone, constants are folded."""
    TYPED = "typed"
    """Every value has a type."""
    PLACED = "placed"
    """Every memory that the kernel wants staged has its staging buffer."""
    INDEXED = "indexed"
    """Every value has a layout and every access its coordinates."""
    EXPANDED = "expanded"
    """Every op is one instruction's worth of work for one wave."""
    BOUNDED = "bounded"
    """No access leaves its memory: each is proved inside or masked."""
    SCHEDULED = "scheduled"
    """Every loop has been looked at by a scheduler."""
    ALLOCATED = "allocated"
    """Buffers of shared memory that share bytes have addresses."""
    SYNCHRONIZED = "synchronized"
    """Every dependence through shared memory is covered by a barrier or wait."""


class Analysis(StrEnum):
    """Analyses whose answers are true of one version of a graph."""

    DEPENDENCES = "dependences"
    """Which accesses of LDS depend on which: a pass preserves it that leaves the
    accesses, their order, and the loops around them as they are."""
    REGION_FACTS = "region_facts"
    """Facts about each region: a pass preserves them that leaves the start, step
    and number of iterations of every loop as they are."""
