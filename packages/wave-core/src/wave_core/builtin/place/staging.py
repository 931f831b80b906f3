"""Requests to stage an argument in LDS, where no installed pass does that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import set_space
from wave_core.passes import Pass, option
from wave_core.types import AddressSpace, MemoryType

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class ReadWithoutStaging(Pass):
    """Read arguments that ask for staging from global memory, and say so.

    ``SHARED`` on an argument is a wish about speed, not about where it lives. A
    memory plugin replaces this pass by one that grants it.

    Example::

          kernel "k" target "generic" {
        -   %a = argument parameter "a" : mem<M, shared, f32>
        +   %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %x = read %a, [] : reg<M, f32>
            write %x, %b, []
            yield []
          }
    """

    told: bool = option(False, "nothing is said: who asks for this has said why")

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Make the arguments global; warn about each."""
        asking = [
            parameter
            for parameter in graph.parameters
            if isinstance(parameter.type, MemoryType)
            and parameter.type.space is AddressSpace.SHARED
        ]
        for parameter in () if self.told else asking:
            context.collector.warn(
                "WV0408",
                f"`{parameter.label}` asks to be staged in shared memory, and no "
                "pass that runs does that",
                at=parameter.location,
                label="is read from global memory instead",
                help=(
                    "install wave-passes-memory, or declare the argument global",
                    "of the presets, `naive` runs core's own passes alone",
                ),
            )
        if asking:
            set_space(graph, asking, AddressSpace.GLOBAL)
        return bool(asking)
