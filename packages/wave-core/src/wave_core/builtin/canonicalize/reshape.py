"""Reshapes say how vectors are cut; layouts settle that by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ir import erase, replace, replace_uses
from wave_core.ops.shape import Permute, Reshape
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class SettleReshapes(Pass):
    """Drop reshapes that keep the tile as it is.

    A reshape of one whole tile asks for other vectors of the same elements; which
    vectors a use gets follows from its layout. What joins or cuts tiles is refused:
    the size of a tile follows from the constraints.

    Example::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
            %b = argument parameter "b" : mem<M, global, f32>
            %x = read %a, [] : reg<M, f32>
        -   %y = reshape [%x] {shape = [M]} : reg<M, f32>
        -   write %y, %b, []
        +   write %x, %b, []
            yield []
          }

    Raises:
        UserError: WV0212 for a reshape that joins or cuts tiles.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:  # noqa: ARG002
        """Replace the reshapes of ``graph`` by their operands."""
        found = [op for op in graph.walk() if isinstance(op, Reshape)]
        for op in found:
            _settle(op)
        return bool(found)


def _settle(op: Reshape) -> None:
    if len(op.values) > 1 or op.num_slices > 1:
        raise user_error(
            "WV0212",
            "`reshape` that joins or cuts tiles does not fit the kernel's constraints",
            at=op.location,
            label="changes how many elements the tile has",
            help=(
                "loop over the dimension with a TilingConstraint to work on pieces",
                "use several accumulators instead of joining tiles",
            ),
        )
    value = op.operands[0]
    if value.type == op.type:
        replace_uses(op, value)
        erase(op)
    else:
        replace(op, Permute(value, op.shape))
