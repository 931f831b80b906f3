"""A plugin for tests: every argument of a kernel asks for staging in LDS.

``Session({"staging": staging})`` has it as the pass ``ask-for-staging``, which runs
where it is named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wave_core.ir import Graph, set_space
from wave_core.passes import Pass, PassContext
from wave_core.plugin import PassSpec, Phase, hookimpl
from wave_core.types import AddressSpace

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
        set_space(graph, graph.parameters, AddressSpace.SHARED)
        return True
