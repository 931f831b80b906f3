"""Constants move to where they are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import Region, clone_op, replace_uses, resolve, walk
from wave_core.ops.constant import Splat
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class SinkSplats(Pass):
    """Copy each splat that a region captures into the region.

    A splat costs nothing, and inside a loop its tile may be another one; so each
    use gets the layout that suits it. The captures that are left without users go
    with the dead code.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<N, global, f32>
            %s = register {shape = [N], dtype = !f32, value = 2.0} : reg<N, f32>
            %l = iterate [], [%a, %s] {axis = N, induction = $IV:N, count = `4`} body {
              %m = argument capture "a" : mem<N, global, f32>
              %t = argument capture "register" : reg<N, f32>
        -     write %t, %m, []
        +     %0 = register {shape = [N], dtype = !f32, value = 2.0} : reg<N, f32>
        +     write %0, %m, []
              yield []
            }
            yield []
          }
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:  # noqa: ARG002
        """Sink the captured splats of ``graph``."""
        changed = False
        for op in list(walk(graph.body)):
            for region in op.regions:
                changed |= _sink(region)
        return changed


def _sink(region: Region) -> bool:
    changed = False
    for argument in region.arguments:
        source = resolve(argument)
        if argument.role == "capture" and isinstance(source, Splat) and argument.users:
            copy = clone_op(source, {}, region)
            region.prepend(copy)
            replace_uses(argument, copy)
            changed = True
    return changed
