"""A plugin that makes every argument of a kernel ask for staging in LDS."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

from wave_core.ir import regions
from wave_core.ir import resolve
from wave_core.ir import set_attributes
from wave_core.passes import Pass
from wave_core.plugin import PassSpec
from wave_core.plugin import Phase
from wave_core.plugin import hookimpl
from wave_core.types import AddressSpace
from wave_core.types import MemoryType

REQUIRES_API = (1, 0)


@hookimpl
def wave_register_passes():
    yield PassSpec("ask-for-staging", Phase.CANONICALIZE, "asking:AskForStaging")


@dataclass(frozen=True)
class AskForStaging(Pass):
    """Declare all memories of the kernel to be in ``SHARED``."""

    def apply(self, graph, context):
        del context
        for region in regions(graph.body):
            for argument in region.arguments:
                kind = argument.type
                if not isinstance(kind, MemoryType):
                    continue
                if resolve(argument) in graph.parameters:
                    declared = replace(kind, space=AddressSpace.SHARED)
                    set_attributes(argument, declared=declared)
        return True
