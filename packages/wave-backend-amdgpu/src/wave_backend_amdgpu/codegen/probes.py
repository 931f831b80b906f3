"""Probes: what finds accesses that leave their memory.

An address mixes the coordinates of an element, so that one which leaves its dimension
mostly lies inside the memory still, on a neighbour. Code with probes loads from an
address that no memory has, in the lanes that access an element outside the dimensions;
the access itself stays what it is. What the prover keeps inside needs no probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wave_core.backends.emission.accesses import by_register
from wave_core.backends.emission.memories import extents
from wave_core.ir import ACCESS, resolve
from wave_core.ops.atomic import Atomic
from wave_core.ops.memory import GatherToLDS, Read, Write
from wave_core.ops.structure import Argument
from wave_core.symbols import (
    Expr,
    constant,
    ge,
    logical_and,
    logical_not,
    logical_or,
    lt,
)

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.ops.base import Op


def has_probe(op: Op) -> bool:
    """Whether an op may leave its memory: it accesses one through a mapping.

    Accesses without a mapping are masked where tiles stick out.
    """
    if isinstance(op, Read | Write | Atomic | GatherToLDS):
        return op.mapping is not None
    return False


def probe(
    op: Read | Write | Atomic | GatherToLDS,
    memory: Op,
    emit: Emitter,
    indices: Sequence[Op] = (),
) -> None:
    """Load from an address of its own in lanes whose element does not exist.

    Args:
        op: The access, which has a row.
        memory: What it accesses.
        emit: Where text goes; nothing does without the option.
        indices: The index registers that coordinates depend on.
    """
    if not (emit.options.probes and has_probe(op)):
        return
    stray = logical_or(*_strays(op, memory, emit, indices))
    if stray.is_constant and not stray.constant_value:
        return
    test = emit.indices.truth(stray)
    number = emit.builder.constant(str(len(emit.probes)), "i64")
    known = resolve(memory)
    where = f"`{known.label}`" if isinstance(known, Argument) else "LDS"
    emit.probes.append(f"`{op.op_name}` of {where}")
    with emit.builder.region() as block:
        place = emit.builder.op(f"llvm.inttoptr {number} : i64 to !llvm.ptr<1>")
        emit.builder.op(f"llvm.load volatile {place} : !llvm.ptr<1> -> i8")
    emit.builder.splice(f"scf.if {test} {{", block, "}")


def _strays(op: Op, memory: Op, emit: Emitter, indices: Sequence[Op]) -> list[Expr]:
    """By register, where an element is accessed that may not exist."""
    access = emit.graph.facts.get(ACCESS, op)
    assert access is not None, "an access that has pieces has coordinates"
    shape = extents(emit.graph, memory.memory_type)
    rows = zip(access.coordinates, shape, strict=True)
    inside = [emit.expr(test) for c, end in rows for test in (ge(c, 0), lt(c, end))]
    mask = emit.expr(constant(1) if access.mask is None else access.mask)
    facts = emit.indices.within_loops()
    found: list[Expr] = []
    for known in by_register(indices, emit, access.registers):
        where = mask.subs(known)
        within = facts.with_assumption(where)
        wanted = [each.subs(known) for each in inside]
        unknown = [each for each in wanted if not within.prove(each)]
        found.append(logical_and(where, logical_not(logical_and(*unknown))))
    return found
