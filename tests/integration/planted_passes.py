"""Passes that break a kernel, one way each, brought by a plugin named ``planted``."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass

from wave_core.ir import erase, set_attributes
from wave_core.ops.constant import Splat
from wave_core.ops.memory import Write
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.passes import Pass
from wave_core.plugin import PassSpec, hookimpl


@dataclass(frozen=True)
class ChangeConstants(Pass):
    """Adds one to every constant tile."""

    def apply(self, graph, context):
        found = [op for op in graph.walk() if isinstance(op, Splat)]
        for op in found:
            set_attributes(op, value=op.value + 1.0)
        return bool(found)


@dataclass(frozen=True)
class DropBarriers(Pass):
    """Erases the barriers, which hides from values and not from the checks."""

    def apply(self, graph, context):
        found = [op for op in graph.walk() if isinstance(op, SharedMemoryBarrier)]
        for op in found:
            erase(op)
        return bool(found)


@dataclass(frozen=True)
class Crash(Pass):
    """Fails."""

    def apply(self, graph, context):
        raise ZeroDivisionError("planted")


@dataclass(frozen=True)
class DropWrites(Pass):
    """Erases the writes, so that outputs stay unwritten."""

    def apply(self, graph, context):
        for op in [op for op in graph.walk() if isinstance(op, Write)]:
            erase(op)
        return True


def plugin(name, phase, **place):
    """A plugin with the pass ``name``, such as ``drop-writes``, in ``phase``."""
    target = "".join(word.capitalize() for word in name.split("-"))
    module = types.ModuleType("planted")
    module.REQUIRES_API = (1, 0)
    sys.modules.setdefault("planted_passes", sys.modules[__name__])

    @hookimpl
    def wave_register_passes():
        yield PassSpec(name, phase, f"planted_passes:{target}", **place)

    module.wave_register_passes = wave_register_passes
    return module
