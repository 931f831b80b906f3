"""Expansion of reductions: gather the pieces along the reduced dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.builtin.distribute.placements import ids_of, project, restrict
from wave_core.ops.reduce import Reduce, identity_value
from wave_core.passes.tile_rules import expands

if TYPE_CHECKING:
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ops.base import Op


@expands(Reduce)
def expand_reduce(expander: Expander, op: Reduce, scope: Scope) -> None:
    """One reduction for each piece of the result, over all pieces along the dim."""
    kind = op.register_type
    filler, dims = identity_value(op.kind, kind.dtype), (str(op.dim),)
    gathered: dict[tuple[int, ...], list[Op]] = {}
    for value in op.sources:
        whole = expander.placement(value)
        part = project(whole, kind.dims)
        for ids in ids_of(whole):
            piece = expander.masked_piece(op, value, ids, dims, filler, scope)
            gathered.setdefault(restrict(ids, whole, part), []).append(piece)
    for ids in ids_of(expander.placement(op)):
        init = None if op.init is None else expander.operand(op, ids, op.init, scope)
        new = Reduce(tuple(gathered[ids]), init, op.kind, op.dim, op.block)
        expander.define(op, ids, expander.emit(op, new, scope), scope)
