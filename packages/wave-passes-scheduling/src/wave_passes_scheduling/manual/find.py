"""Steps that find ops: by tag, type, memory, dimension, place; and lists of them.

As seen from a body, ops in conditionals of it are part of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import PLACEMENT, region_of, resolve
from wave_core.ops.control import Conditional
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.symbols import as_expr
from wave_core.types import AddressSpace
from wave_passes_scheduling.manual import complaints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_core.ir import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.passes.manual import Step
    from wave_core.symbols import Expr
    from wave_passes_scheduling.manual.values import Place


def tagged(
    graph: Graph,
    ops: Iterable[Op],
    step: Step,
    iterations: Sequence[Sequence[Op]],
) -> list[Op]:
    """Those of ``ops`` with a tag, of a type or of one iteration of an unrolled loop.

    Raises:
        UserError: WV0503 where there are none, but for loops without iterations: what
            they hold is not worth keeping.
    """
    tag, kind, _ = step.arguments
    iteration: int | None = step.arguments[2]
    having = [op for op in ops if tag in op.tags]
    found = [op for op in having if kind is None or is_of_type(op, kind)]
    if having and not found and all(map(is_idle, having)):
        return []
    if not found:
        raise complaints.no_such_tag(graph, step, tag, kind, having)
    if iteration is None:
        return found
    own = iterations[iteration] if iteration < len(iterations) else ()
    chosen = [op for op in found if op in own]
    if not chosen:
        what = f"no op with tag `{tag}` is in iteration {iteration} of an unrolled loop"
        notes = [f"iterations in one trip: {len(iterations)}"]
        raise complaints.not_found(step, what, notes)
    return chosen


def is_of_type(op: Op, kind: str) -> bool:
    """Whether the class of an op, or one that it extends, has a name."""
    return any(getattr(cls, "op_name", "") == kind for cls in type(op).__mro__)


def is_idle(op: Op) -> bool:
    """Whether an op is in, or is, a loop that surely has no iteration."""
    for each in (op, *region_of(op).around):
        count = each.attributes.get("count")
        if count is not None and as_expr(count).is_constant:
            return as_expr(count).constant_value <= 0
    return False


def in_space(ops: Sequence[Op], space: str, part: int) -> list[Op]:
    """The reads and writes of one kind of memory, or the others."""
    return [op for op in ops if (_space(op) == space) is (part == 0)]


def _space(op: Op) -> str | None:
    if not isinstance(op, Read | Write):
        return None
    shared = isinstance(resolve(op.memory), Allocate)
    return str(AddressSpace.SHARED if shared else AddressSpace.GLOBAL)


def along_dim(graph: Graph, ops: Sequence[Op], step: Step) -> list[Op]:
    """The ops in one part of a dimension, by where their elements begin.

    Raises:
        UserError: WV0503 where they have no place along it, or too few.
    """
    _, dim, count, part = step.arguments
    origins = [_origin(graph, op, dim) for op in ops]
    places = [_distance(origin, origins[0]) for origin in origins]
    if None in places:
        op = ops[places.index(None)]
        raise complaints.not_found(
            step,
            f"`{op.op_name}` has no place of its own along {dim}",
            [f"the nodes are: {complaints.counted(ops)}"],
        )
    steps = sorted({place for place in places if place is not None})
    if len(steps) < count:
        raise complaints.not_found(
            step, f"along {dim} the nodes have {len(steps)} places, not {count}"
        )
    chosen = set(_part(steps, count, part))
    return [op for op, place in zip(ops, places, strict=True) if place in chosen]


def _part(steps: list[int], count: int, part: int) -> list[int]:
    """One of ``count`` parts in a row; the first ones are one longer if need be."""
    size, longer = divmod(len(steps), count)
    first = part * size + min(part, longer)
    return steps[first : first + size + (part < longer)]


def _origin(graph: Graph, op: Op, dim: str) -> Expr | None:
    """Where the elements of an op begin; of what it takes, if it has none."""
    sources = [op, *op.operands] if isinstance(op, Mma | Write) else [op]
    for each in sources:
        placement = graph.facts.get(PLACEMENT, each)
        origin = None if placement is None else placement.origin_of(dim)
        if origin is not None:
            return origin
    return None


def _distance(one: Expr | None, other: Expr | None) -> int | None:
    if one is None or other is None:
        return None
    apart = one - other
    return apart.constant_value if apart.is_constant else None


def filtered(ops: Sequence[Op], place: Place | None, kind: str | None) -> list[Op]:
    """The ops in a part of a pipelined loop, of a type."""
    return [
        op
        for op in ops
        if (kind is None or is_of_type(op, kind))
        and (place is None or stands_in(op, place))
    ]


def stands_in(op: Op, place: Place) -> bool:
    """Whether an op stands in a part of a pipelined loop, or in an op that does."""
    if place.name != "kernel":
        return any(each in place.ops for each in (op, *region_of(op).around))
    inside = any(each in place.loop[:1] for each in region_of(op).around)
    return inside and op not in place.loop


def picked(ops: Sequence[Op], step: Step) -> list[Op]:
    """Some of a list, by index or slice.

    Raises:
        UserError: WV0503 for an index beyond it.
    """
    index: int | tuple[int | None, ...] = step.arguments[1]
    if isinstance(index, tuple):
        return list(ops[slice(*index)])
    if not -len(ops) <= index < len(ops):
        raise complaints.not_found(
            step, f"there are {len(ops)} nodes, and node {index} is asked for"
        )
    return [ops[index]]


def interleaved(
    base: Sequence[Op], others: Sequence[Sequence[Op]], step: Step
) -> list[Op]:
    """One list with others put between, each at its interval; the rest at the end."""
    every, offsets = step.arguments[2:4]
    after: Sequence[Sequence[int]] = step.arguments[4]
    left = [list(ops) for ops in others]
    waited = [-offset for offset in offsets]
    found: list[Op] = []
    for op in base:
        found.append(op)
        for number, ops in enumerate(left):
            if any(left[other] for other in after[number]):
                continue
            waited[number] += 1
            if ops and waited[number] > 0 and waited[number] % every[number] == 0:
                found.append(ops.pop(0))
    return found + [op for ops in left for op in ops]


def lifted(op: Op, region: Region) -> Op | None:
    """The op of ``region`` that is ``op``, or a conditional that holds it."""
    each: Op | None = op
    while each is not None and each.owner is not region:
        each = _holder(each)
    return each


def side_by_side(ops: Sequence[Op]) -> list[Op] | None:
    """Ops of one body: these, or the innermost conditionals that hold them."""
    found = list(ops)
    while len({op.owner for op in found}) > 1:
        depths = [len(list(region_of(op).around)) for op in found]
        deepest = max(depths)
        lower = [
            _holder(op) if depth == deepest else op
            for op, depth in zip(found, depths, strict=True)
        ]
        found = [op for op in lower if op is not None]
        if len(found) < len(lower):
            return None
    return list(dict.fromkeys(found))


def _holder(op: Op) -> Op | None:
    parent = region_of(op).parent
    return parent if isinstance(parent, Conditional) else None
