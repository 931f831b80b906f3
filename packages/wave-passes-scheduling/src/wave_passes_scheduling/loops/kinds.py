"""Classes of operations, by the part of the machine that they occupy."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from wave_core.ir import resolve, walk
from wave_core.ops.control import Conditional, Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.reduce import Shuffle
from wave_core.ops.traits import EffectKind, Trait

if TYPE_CHECKING:
    from wave_core.ops.base import Op


class OpKind(StrEnum):
    """Kinds of operations in a schedule; the value is the name in files."""

    READ_GLOBAL = "ReadGlobal"
    WRITE_GLOBAL = "WriteGlobal"
    READ_SHARED = "ReadShared"
    WRITE_SHARED = "WriteShared"
    GLOBAL_TO_SHARED = "GlobalToShared"
    MMA = "MMA"
    VALU = "VALU"
    SHUFFLE = "Shuffle"
    NESTED = "Nested"
    """A loop, or a conditional with accesses of several kinds, as one piece."""
    ORDERED = "Ordered"
    """A barrier, wait or priority that the author placed."""
    NOOP = "NoOp"
    """Registers are renamed; no instruction."""


RESOURCES = (
    "GLOBAL_MEMORY_UNITS",
    "SHARED_MEMORY_UNITS",
    "MMA_UNITS",
    "VALU_UNITS",
    "SHUFFLE_UNITS",
)
"""The resources of a schedule, in the order of the file format."""

OCCUPIES: dict[OpKind, tuple[int, ...]] = {
    OpKind.READ_GLOBAL: (0,),
    OpKind.WRITE_GLOBAL: (0,),
    OpKind.READ_SHARED: (1,),
    OpKind.WRITE_SHARED: (1,),
    OpKind.GLOBAL_TO_SHARED: (0, 1),
    OpKind.MMA: (2,),
    OpKind.VALU: (3,),
    OpKind.SHUFFLE: (4,),
    OpKind.NESTED: (0, 1, 2, 3, 4),
    OpKind.ORDERED: (),
    OpKind.NOOP: (),
}
"""The resources of each kind, as indices of `RESOURCES`."""

_ACCESSES = {
    (True, False): OpKind.READ_GLOBAL,
    (False, False): OpKind.WRITE_GLOBAL,
    (True, True): OpKind.READ_SHARED,
    (False, True): OpKind.WRITE_SHARED,
}
"""By whether it reads, and whether LDS."""

_FREE = frozenset(
    {
        "assemble",
        "broadcast",
        "get_result",
        "lane_expr",
        "permute",
        "reshape",
        "scalar",
        "splat",
    }
)


def kind_of(op: Op) -> OpKind:
    """The kind of an op of a lowered loop body in a schedule."""
    if isinstance(op, Iterate):
        return OpKind.NESTED
    if isinstance(op, Conditional):
        return _of_body(op)
    if isinstance(op, Mma):
        return OpKind.MMA
    if isinstance(op, Shuffle):
        return OpKind.SHUFFLE
    if isinstance(op, Read | Write):
        return _ACCESSES[isinstance(op, Read), _shared(op.memory)]
    if any(effect.kind is EffectKind.DMA_WRITE for effect in op.effects()):
        return OpKind.GLOBAL_TO_SHARED
    if op.has(Trait.PURE):
        return OpKind.NOOP if op.op_name in _FREE else OpKind.VALU
    return OpKind.ORDERED


def _of_body(op: Conditional) -> OpKind:
    """The one kind of accesses that a conditional has, if it has no other."""
    inner = [i for region in op.regions for i in walk(region)]
    found = {kind_of(i) for i in inner if not i.has(Trait.PURE) and not _ends(i)}
    only = found.pop() if len(found) == 1 else OpKind.NESTED
    return only if only in _ACCESSES.values() else OpKind.NESTED


def _ends(op: Op) -> bool:
    return op.has(Trait.TERMINATOR)


def _shared(memory: Op) -> bool:
    return isinstance(resolve(memory), Allocate)
