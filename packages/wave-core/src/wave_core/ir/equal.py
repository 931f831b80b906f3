"""Whether two graphs say the same, and where they first differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir.printer import value_names
from wave_core.ir.values import same_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op, Slot


def first_difference(
    left: Graph, right: Graph, *, locations: bool = False
) -> str | None:
    """The first difference in program order; ``None`` if there is none.

    Compared are ops, facts and header. Names and keys of ops do not matter; locations
    only where asked for.
    """
    return next(_Comparison(left, right, locations=locations).differences(), None)


class _Comparison:
    def __init__(self, left: Graph, right: Graph, *, locations: bool) -> None:
        self._graphs = (left, right)
        self._names = (value_names(left), value_names(right))
        self._locations = locations
        self._partner: dict[Op, Op] = {}

    def differences(self) -> Iterator[str]:
        left, right = self._graphs
        for what in ("name", "target", "bindings", "dynamic_symbols", "constraints"):
            yield from _unlike(what, getattr(left, what), getattr(right, what))
        yield from _unlike("facts", left.facts_present, right.facts_present)
        yield from self._regions(left.body, right.body, "the kernel's body")

    def _regions(self, left: Region, right: Region, where: str) -> Iterator[str]:
        mine: list[Op] = [*left.arguments, *left.ops]
        others: list[Op] = [*right.arguments, *right.ops]
        for a, b in zip(mine, others, strict=False):
            yield from self._ops(a, b)
        if len(mine) != len(others):
            longer = mine if len(mine) > len(others) else others
            extra = longer[min(len(mine), len(others))]
            side = "left" if longer is mine else "right"
            yield f"{where}: only the {side} graph has `{extra.op_name}` next"

    def _ops(self, left: Op, right: Op) -> Iterator[str]:
        self._partner[left] = right
        what = self._label(left)
        if type(left) is not type(right):
            yield f"{what}: `{left.op_name}` and `{right.op_name}`"
            return
        yield from self._slots(left, right)
        for name, value in left.attributes.items():
            other = right.attributes.get(name)
            yield from _unlike(f"{what}, attribute {name}", value, other)
        yield from _unlike(f"{what}, type", left.type, right.type)
        yield from _unlike(f"{what}, tags", left.tags, right.tags)
        mine, others = self._graphs
        yield from _unlike(
            f"{what}, facts", mine.facts.rows(left), others.facts.rows(right)
        )
        if self._locations and left.location != right.location:
            yield f"{what}, location: {left.location} and {right.location}"
        for inner, other in zip(left.regions, right.regions, strict=True):
            yield from self._regions(inner, other, f"the region of {what}")

    def _slots(self, left: Op, right: Op) -> Iterator[str]:
        for field, mine, other in zip(
            left.operand_fields, left.slots, right.slots, strict=True
        ):
            if self._slot(mine) != other:
                what = f"{self._label(left)}, operand {field.name}"
                yield f"{what}: {self._text(0, mine)} and {self._text(1, other)}"

    def _slot(self, value: Slot) -> object:
        if isinstance(value, tuple):
            return tuple([self._partner.get(v) for v in value])
        return None if value is None else self._partner.get(value, self)

    def _label(self, op: Op) -> str:
        name = self._names[0].get(op)
        return f"{name} = {op.op_name}" if name else op.op_name

    def _text(self, side: int, value: Slot) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join([self._text(side, item) for item in value])}]"
        return "none" if value is None else self._names[side].get(value, "none")


def _unlike(what: str, left: object, right: object) -> Iterator[str]:
    if left is right:
        return
    exact = not isinstance(left, (dict, set, frozenset))
    if not (same_value(left, right) if exact else left == right):
        yield f"{what}: {left} and {right}"
