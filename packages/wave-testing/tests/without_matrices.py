"""A plugin with a target that multiplies no matrices."""

from __future__ import annotations

from dataclasses import replace

from wave_core.plugin import TargetSpec, hookimpl
from wave_core.targets import generic_target

REQUIRES_API = (1, 0)


@hookimpl
def wave_register_targets():
    yield TargetSpec("plain", "without_matrices:plain", "no matrix instructions")


def plain():
    """The target."""
    return replace(generic_target(), name="plain", matrix_instructions=())
