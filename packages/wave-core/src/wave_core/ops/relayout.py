"""The op that moves a value from one layout to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ops.base import Op, operand
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from typing import Any

    from wave_core.types import Type


class Relayout(Op, name="relayout", traits={Trait.PURE}):
    """The same tile in another layout (its placement row says which).

    Inserted where a use needs a layout that the value does not have; expansion
    renames registers where it can and goes through LDS where it must. Shapes and
    dtypes: those of the value.
    """

    value: Op = operand(help="the register")

    def infer(self) -> Type | None:
        """The type of the operand."""
        return self.value.type

    def evaluate(self, *operands: Any) -> Any:
        """The value itself."""
        return operands[0]
