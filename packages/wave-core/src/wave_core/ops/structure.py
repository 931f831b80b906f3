"""Ops that give a graph its structure: arguments, results, yields."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from wave_core.ops.base import Op, attribute, operand, variadic
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from wave_core.ir.graph import Region
    from wave_core.types import Type


class Argument(Op, name="argument"):
    """An argument of a region: a kernel parameter, a loop value or a capture.

    ``role`` says which: ``parameter``, ``carried`` (position i of the loop's
    initial values) or ``capture`` (a value of the enclosing region). Shapes and
    dtypes: as declared, or those of the value that it stands for.
    """

    role: str = attribute(help="parameter, carried or capture")
    label: str = attribute(help="its name in the kernel's source")
    declared: Type = attribute(help="its type")

    def infer(self) -> Type:
        """The declared type."""
        return self.declared


class Yield(Op, name="yield", traits={Trait.TERMINATOR}):
    """Ends a region and hands its values to the op that owns it."""

    values: tuple[Op, ...] = variadic(help="what the region yields")


class GetResult(Op, name="get_result", traits={Trait.PURE}):
    """One result of an op with a region.

    Shapes and dtypes: those of the value yielded at ``position``.
    """

    source: Op = operand(help="the op with the region")
    position: int = attribute(default=0, help="which of its results")

    def infer(self) -> Type | None:
        """The type of the yielded value."""
        body = self.source.regions[0]
        terminator = body.terminator
        return None if terminator is None else terminator.operands[self.position].type


def region_of(op: Op) -> Region:
    """The region that holds ``op``."""
    assert op.owner is not None, "the op is in no graph"
    return op.owner


def captured_by(op: Op, place: int) -> Op:
    """One of the outer values that the regions of an op use."""
    return op.slot_part(_captures_slot(type(op)), place)


@cache
def _captures_slot(kind: type[Op]) -> int:
    return [field.name for field in kind.operand_fields].index("captures")


def captures_of(op: Op) -> tuple[Op, ...]:
    """The outer values that the regions of an op use."""
    captures: tuple[Op, ...] = getattr(op, "captures", ())
    return captures
