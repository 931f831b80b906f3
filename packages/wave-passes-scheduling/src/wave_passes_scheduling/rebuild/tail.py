"""The last iterations of a loop set apart: only there masks may hide something.

Where they begin is said by what hides values. Accesses then lose those of their own
masks that hide nothing before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    clone_op,
    erase,
    region_of,
    replace_uses,
    resolve,
    set_attributes,
    set_operands,
    walk,
)
from wave_core.ir.dead_code import is_removable
from wave_core.ops.compare import Select
from wave_core.ops.structure import Argument
from wave_core.symbols import as_expr, maximum, minimum
from wave_passes_scheduling.rebuild.certain import Certainty
from wave_passes_scheduling.rebuild.guard import FEW
from wave_passes_scheduling.rebuild.shift import results_of, retire

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.symbols import Expr, Facts

WORTH = 7
"""How many iterations have to come before each of the last, which do not overlap.

Attention on an H100, rates against the whole loop: 16 before each 1.08, 7 before each
1.03 and 0.97, 3 before each 0.95.
"""

USUAL = 4096
"""A size that comes with the launch is reckoned with as this."""


@dataclass(frozen=True)
class Tail:
    """A loop as it was, masks included, for the iterations that need them.

    Attributes:
        loop: A copy that stands nowhere yet.
        twins: Ops of the loop without masks, and what they are in the copy.
        masks: Those of accesses that have lost some of them in the other loop.
    """

    loop: Iterate
    twins: Mapping[Op, Op]
    masks: Mapping[Op, Expr | None]

    def follow(self, graph: Graph) -> None:
        """Let the copy use buffers as the other loop does by now."""
        for op, twin in self.twins.items():
            graph.facts.copied(op, graph.facts, twin)
            if op in self.masks:
                access = graph.facts.known(ACCESS, twin)
                row = replace(access, mask=self.masks[op])
                graph.facts.put(ACCESS, twin, row)
            if isinstance(op, Argument):
                set_attributes(twin, declared=op.type)

    def place(self, anchor: Iterate, inits: Sequence[Op], done: Expr) -> Iterate:
        """Put the loop before ``anchor``, to go on when ``done`` iterations are."""
        self._insert(anchor, inits)
        begun = as_expr(self.loop.start) + done
        assert self.loop.count is not None, "loops are numbered"
        count = as_expr(self.loop.count) - done
        set_attributes(self.loop, start=begun, count=count)
        return self.loop

    def stand_for(self, loop: Iterate) -> None:
        """Put the whole loop back."""
        self._insert(loop, loop.inits)
        retire(loop, results_of(self.loop, loop))

    def _insert(self, loop: Iterate, inits: Sequence[Op]) -> None:
        """Put the copy before ``loop``, whose captures are those that there are by now.

        What stood nowhere was nobody's user when other loops gave way to their forms.
        """
        region_of(loop).insert_before(loop, self.loop)
        captures = loop.captures[: len(self.loop.captures)]
        set_operands(self.loop, (tuple(inits), captures))


def cut_off_tail(graph: Graph, loop: Iterate, geometry: Geometry) -> Tail | None:
    """Take masks out of a loop that hide nothing but in its last iterations.

    ``None`` where there are none, or the loop has few iterations; then all is as it
    was. Otherwise the loop does the iterations before those alone.
    """
    if loop.induction is None or loop.count is None or loop.step != 1:
        return None
    known = Certainty(graph, geometry, loop.induction)
    selects = [
        op
        for op in loop.body.ops
        if isinstance(op, Select) and _same_registers(graph, op, op.on_true)
    ]
    ends = {op: known.until(op.condition) for op in selects}
    found = {op: end for op, end in ends.items() if end is not None}
    if not found:
        return None
    end = minimum(*found.values())
    before = minimum(maximum(end - loop.start, 0), loop.count)
    first, whole = (_usually(each, geometry.facts) for each in (before, loop.count))
    if first < WORTH * (whole - first):
        return None
    copy = clone_op(loop, {}, region_of(loop))
    copy.tags |= {FEW}
    twins = dict(zip(_within(loop), _within(copy), strict=True))
    for op in found:
        replace_uses(op, op.on_true)
        _erase_unused(op)
    left = {op: twin for op, twin in twins.items() if op.owner is not None}
    set_attributes(loop, count=before)
    return Tail(copy, left, _unmask(graph, loop, known, end))


def _unmask(
    graph: Graph, loop: Iterate, known: Certainty, end: Expr
) -> dict[Op, Expr | None]:
    """Take out of accesses what hides nothing before an iteration; their masks."""
    masks: dict[Op, Expr | None] = {}
    for op in loop.body.ops:
        access = graph.facts.get(ACCESS, op)
        if access is None or access.mask is None:
            continue
        bare, until = known.of_access(access)
        if until is not None and minimum(end, until) is end:
            masks[op] = access.mask
            graph.facts.put(ACCESS, op, bare)
    return masks


def _same_registers(graph: Graph, op: Op, value: Op) -> bool:
    """Whether a value can stand for ``op``: it may have one register for several."""
    held = [graph.facts.known(PLACEMENT, each) for each in (op, resolve(value))]
    return op.type == value.type and len({each.layout for each in held}) == 1


def _usually(count: Expr, facts: Facts) -> int:
    """A count in the workgroup in the middle."""
    places: dict[Expr, int] = {}
    for name in count.free_symbols:
        least, most = facts.bounds(name).lo, facts.bounds(name).hi
        if least is None or most is None:
            places[name] = USUAL
        else:
            places[name] = (least + most) // 2
    return count.subs(places).constant_value


def _within(loop: Iterate) -> list[Op]:
    """The arguments and ops of a loop's body; those of loops inside it have none."""
    return [*loop.body.arguments, *walk(loop.body)]


def _erase_unused(op: Op) -> None:
    """Erase an op that nobody uses, and then those that only it used."""
    left = [op]
    while left:
        op = left.pop()
        if op.owner is not None and not op.users and is_removable(op):
            operands = op.operands
            erase(op)
            left += operands
