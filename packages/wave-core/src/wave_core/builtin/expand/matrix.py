"""Expansion of matrix ops: one instruction for each step in M, N, K and batch."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from wave_core.analysis.matrix import instruction_of, matrix_roles
from wave_core.builtin.distribute.placements import ids_of
from wave_core.ir import resolve
from wave_core.ops.compare import Cast
from wave_core.ops.matrix import Mma, ScaledMma
from wave_core.ops.memory import Read
from wave_core.ops.shape import Bitcast, Broadcast, Permute, Relayout, Squeeze
from wave_core.passes.tile_rules import expands
from wave_core.types import dim_name

if TYPE_CHECKING:
    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ops.base import Op, Slot


@expands(Mma)
def expand_mma(expander: Expander, op: Mma, scope: Scope) -> None:
    """For each piece of the result a chain of instructions over the K steps."""
    roles = matrix_roles(op)
    row = instruction_of(op, expander.geometry, expander.target)
    contracted = (*roles.outer_k, roles.k)
    operands = [
        _Operand(expander, op, value, contracted, scope) for value in (op.lhs, op.rhs)
    ]
    blocks, scales = _scales(expander, op, scope)
    counts = [_steps(expander, op, dim) for dim in contracted]
    for ids in ids_of(expander.placement(op)):
        acc = expander.operand(op, ids, op.acc, scope)
        numbers = _numbers(expander, op, ids)
        for position in product(*(range(count) for count in counts)):
            at = numbers | dict(zip(contracted, position, strict=True))
            lhs, rhs = (operand.piece(at) for operand in operands)
            slots: tuple[Slot, ...] = (lhs, rhs, acc)
            if scales:
                at |= {blocks: at[roles.k]}
                slots = (*slots, tuple(scale.piece(at) for scale in scales))
            acc = expander.emit(
                op, type(op).build(slots, {"mma_type": row.name}), scope
            )
            expander.place(op, ids, acc, scope)
        expander.define(op, ids, acc, scope)


def _numbers(expander: Expander, op: Op, ids: Ids) -> dict[str, int]:
    steps = expander.placement(op).steps
    return {step[0]: number for step, number in zip(steps, ids, strict=True)}


def _steps(expander: Expander, op: Mma, dim: str) -> int:
    for value in (op.lhs, op.rhs):
        for name, count, _ in expander.placement(value).steps:
            if name == dim:
                return count
    return 1


def _scales(expander: Expander, op: Mma, scope: Scope) -> tuple[str, list[_Operand]]:
    """The dimension of blocks along K, and the scales; 1 where no block exists."""
    if not isinstance(op, ScaledMma):
        return "", []
    blocks = dim_name(op.block()[0])
    of_blocks = (blocks,)
    return blocks, [
        _Operand(expander, op, scale, of_blocks, scope, 1) for scale in op.scales
    ]


class _Operand:
    """The pieces of an operand, ``filler`` where contracted elements do not exist."""

    def __init__(
        self,
        expander: Expander,
        op: Mma,
        value: Op,
        contracted: tuple[str, ...],
        scope: Scope,
        filler: float = 0,
    ) -> None:
        self._expander = expander
        self._filler = filler
        self._op = op
        self._value = value
        self._scope = scope
        self._placement = expander.placement(value)
        self._masked_dims = [
            dim
            for dim in contracted
            if not expander.existence.covers_exactly(self._placement, dim, scope)
            and not zero_outside(value, dim)
        ]
        self._masked: dict[Ids, Op] = {}

    def piece(self, numbers: dict[str, int]) -> Op:
        """The piece at the given step numbers."""
        ids = tuple(numbers[step[0]] for step in self._placement.steps)
        if not self._masked_dims:
            return self._expander.piece(self._value, ids, self._scope)
        if ids not in self._masked:
            self._masked[ids] = self._expander.masked_piece(
                self._op, self._value, ids, self._masked_dims, self._filler, self._scope
            )
        return self._masked[ids]


def zero_outside(value: Op, dim: str) -> bool:
    """Whether elements of ``value`` that do not exist along ``dim`` are zero.

    True for reads, which give zero there, and for what only moves or converts them.
    """
    value = resolve(value)
    if dim not in value.register_type.dims:
        return False
    if isinstance(value, Read):
        return True
    if isinstance(value, Bitcast):
        # Bits that are all zero are the number zero of every type but a scale's.
        own = value.value.register_type.dims
        dims = zip(value.register_type.dims, own, strict=True)
        return zero_outside(value.value, dict(dims)[dim])
    if isinstance(value, Cast | Permute | Broadcast | Relayout | Squeeze):
        return zero_outside(value.operands[0], dim)
    return False
