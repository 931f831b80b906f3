"""A plugin for tests: every argument of a kernel asks for staging in LDS.

``Session({"staging": staging})`` has it as the pass ``ask-for-staging``, which runs
where it is named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.ir import regions, resolve, set_attributes
from wave_core.passes import Pass
from wave_core.plugin import PassSpec, Phase, hookimpl
from wave_core.types import AddressSpace, MemoryType

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext

REQUIRES_API = (1, 0)


@hookimpl
def wave_register_passes() -> Iterable[PassSpec]:
    """The pass of this plugin."""
    path = "wave_testing.staging:AskForStaging"
    yield PassSpec("ask-for-staging", Phase.CANONICALIZE, path, enabled=False)


@dataclass(frozen=True)
class AskForStaging(Pass):
    """Declare all memories of the kernel to be in ``SHARED``."""

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Change the declarations."""
        del context
        parameters = set(graph.parameters)
        for region in regions(graph.body):
            for argument in region.arguments:
                kind = argument.type
                if isinstance(kind, MemoryType) and resolve(argument) in parameters:
                    declared = replace(kind, space=AddressSpace.SHARED)
                    set_attributes(argument, declared=declared)
        return True
