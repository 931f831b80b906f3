"""Matrix products that were issued and may not be done, as a body is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.ir import region_of, resolve
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.structure import Argument, GetResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ops.base import Op


@dataclass(frozen=True)
class UnderWay:
    """A product that may be under way.

    Attributes:
        product: The op.
        ago: Iterations of the loop around it since it was issued.
        out: Whether that loop has ended.
    """

    product: Mma
    ago: int = 0
    out: bool = False


def later(state: Sequence[UnderWay]) -> tuple[UnderWay, ...]:
    """What is left of an iteration, in the next one."""
    return tuple(replace(each, ago=each.ago + 1) for each in state)


def behind(state: Sequence[UnderWay]) -> tuple[UnderWay, ...]:
    """What is left of a loop, behind it."""
    return tuple(replace(each, out=True) for each in state)


def product_of(value: Op) -> Op:
    """What made a value; for what a loop carries or leaves, in an iteration of it."""
    source = resolve(value)
    if isinstance(source, GetResult) and isinstance(source.source, Iterate):
        return resolve(source.source.body.end.operands[source.position])
    if isinstance(source, Argument) and (place := _place(source)) is not None:
        return resolve(region_of(source).end.operands[place])
    return source


def _place(argument: Argument) -> int | None:
    """Which of the values that a loop carries an argument is."""
    loop = region_of(argument).parent
    if not isinstance(loop, Iterate):
        return None
    place = region_of(argument).arguments.index(argument)
    return place if place < len(loop.inits) else None


def carried_in_place(loop: Iterate, state: Sequence[UnderWay]) -> bool:
    """Whether all that is under way adds to what the loop carries at one place.

    Nothing then has to move registers while a product uses them: the accumulator
    that an iteration begins with is where the one before it ends, and no other op has
    a part in it. Operands are in LDS, since registers of an iteration end with it.
    """
    values = loop.body.end.operands
    pairs = zip(loop.body.arguments, values, strict=False)
    kept: set[Op] = set()
    for argument, value in pairs:
        if values.count(value) == 1:
            kept.update(_chain(argument, value))
    return kept.issuperset(each.product for each in state) and all(
        _reads_lds_alone(each.product) for each in state
    )


def _reads_lds_alone(product: Mma) -> bool:
    """Whether both operands of a product stay in LDS."""
    return all(isinstance(side, SharedTile) for side in (product.lhs, product.rhs))


def _chain(argument: Op, value: Op) -> list[Op]:
    """The products from what an iteration begins with to what it ends with.

    Empty where anything else has a part in that.
    """
    found: list[Op] = []
    source = value
    while isinstance(source, Mma) and len(source.users) == 1:
        found.append(source)
        source = source.acc
    alone = source is argument and len(argument.users) == 1
    return found if alone else []
