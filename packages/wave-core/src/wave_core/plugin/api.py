"""The marker of hooks, the API version, and where a plugin module is found.

A plugin is a module named by an entry point::

    [project.entry-points."wave_core.plugins"]
    example = "wave_example_pass.plugin"

It is imported with every session, so it imports neither torch, sympy, numpy nor the
compiler; it names its classes by import path instead.
"""

from __future__ import annotations

import pluggy

from wave_core.passes.spec import CORE, DISABLE_VARIABLE

__all__ = [
    "API_VERSION",
    "CORE",
    "DISABLE_VARIABLE",
    "ENTRY_POINT_GROUP",
    "PROJECT",
    "hookimpl",
    "hookspec",
    "is_compatible",
]

PROJECT = "wave"
"""The pluggy project that hooks belong to."""

ENTRY_POINT_GROUP = "wave_core.plugins"
"""Where installed distributions announce their plugin modules."""

API_VERSION = (1, 9)
"""Version of hooks, result types and pass interface: (major, minor).

A plugin states the version it was written for as ``REQUIRES_API``. It works with the
same major and a minor that is not newer. Adding a hook, a phase or a field with a
default raises the minor; removing or changing one raises the major.
"""

hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks the functions of a plugin module that implement hooks."""

hookspec = pluggy.HookspecMarker(PROJECT)
"""Marks the declarations in `hookspecs`."""


def is_compatible(required: tuple[int, int]) -> bool:
    """Whether a plugin written for API ``required`` works here."""
    return required[0] == API_VERSION[0] and required[1] <= API_VERSION[1]
