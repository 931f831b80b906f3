"""Replacing elements that do not exist by a value that does no harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import PLACEMENT
from wave_core.ops.compare import Select
from wave_core.ops.constant import LaneExpr, Splat
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.builtin.distribute.placements import Ids
    from wave_core.builtin.expand.expander import Expander
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ops.base import Op


def masked(
    expander: Expander,
    user: Op,
    value: Op,
    ids: Ids,
    dims: Iterable[str],
    filler: float,
    scope: Scope,
) -> Op:
    """Piece ``ids`` of ``value`` with ``filler`` where elements do not exist.

    The piece itself where all its elements are proved to exist along ``dims``.
    """
    piece = expander.piece(value, ids, scope)
    placement = expander.piece_placement(value, ids, scope)
    condition = expander.existence.mask(placement, dims, scope)
    if condition is None:
        return piece
    kind = piece.register_type
    facts = expander.graph.facts
    exists = expander.emit(user, LaneExpr(condition, kind.shape, DTYPES["bool"]), scope)
    fill = expander.emit(user, Splat(kind.shape, kind.dtype, filler), scope)
    chosen = expander.emit(user, Select(exists, piece, fill), scope)
    for op in (exists, fill, chosen):
        facts.put(PLACEMENT, op, placement)
    return chosen
