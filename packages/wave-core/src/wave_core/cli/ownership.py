"""Who owns which element of a wave's tile, from the placement of a value."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir.facts import PLACEMENT
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Write
from wave_core.types import RegisterType

if TYPE_CHECKING:
    import numpy.typing as npt

    from wave_core.ir.facts import Placement
    from wave_core.ir.graph import Graph
    from wave_core.ops.base import Op

#: No lane owns the element.
NOBODY = -1


@dataclass(frozen=True)
class Ownership:
    """The owners of a two-dimensional cut through a tile.

    Attributes:
        title: Which value, and where it comes from.
        dims: Names of the rows' and of the columns' dimension; the first is empty
            for a value of one dimension.
        lane: For each element the first lane that holds it.
        register: For each element the place in that lane's vector.
        copies: For each element, how many lanes hold it.
    """

    title: str
    dims: tuple[str, str]
    lane: npt.NDArray[np.int64]
    register: npt.NDArray[np.int64]
    copies: npt.NDArray[np.int64]

    def to_json(self) -> dict[str, object]:
        """The owners as JSON values."""
        return {
            "title": self.title,
            "dims": list(self.dims),
            "lane": self.lane.tolist(),
            "register": self.register.tolist(),
            "copies": self.copies.tolist(),
        }


def value_title(op: Op) -> str:
    """A value in words: the op, its key, its line."""
    line = f" (line {op.location.line})" if op.location is not None else ""
    return f"{op.op_name} #{op.ident}: {op.type}{line}"


def chosen_values(graph: Graph, ident: int | None) -> list[tuple[str, Op]]:
    """The values to show: the one asked for, else those of the first matrix op.

    A kernel without matrix ops shows what it writes first.
    """
    ops = [op for op in graph.walk() if graph.facts.get(PLACEMENT, op) is not None]
    if ident is not None:
        return [(value_title(op), op) for op in ops if op.ident == ident]
    for op in graph.walk():
        if isinstance(op, Mma):
            named = (("lhs", op.lhs), ("rhs", op.rhs), ("acc", op))
            found = [(f"{role}: {each.type}", each) for role, each in named]
            return [(title, each) for title, each in found if each in ops]
    for op in graph.walk():
        if isinstance(op, Write) and op.value in ops:
            return [(f"written: {op.value.type}", op.value)]
    return [(value_title(op), op) for op in ops[:1]]


def ownership(graph: Graph, op: Op, title: str) -> Ownership | None:
    """The owners of the elements of a value; ``None`` where it has no placement."""
    placement = graph.facts.get(PLACEMENT, op)
    if placement is None or not isinstance(op.type, RegisterType):
        return None
    rows, columns = _shown_dims(op.type.dims, placement)
    hold: dict[str, npt.NDArray[np.int64]] = {
        dim: _indices(placement, dim) for dim in (rows, columns) if dim
    }
    across = hold[columns]
    down = hold[rows] if rows else np.zeros_like(across)
    elsewhere = _beyond_the_cut(placement, {rows, columns})
    owners: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for step, owner, slot in product(*map(range, across.shape)):
        if not elsewhere[step, owner, slot]:
            at = int(down[step, owner, slot]), int(across[step, owner, slot])
            owners[at].setdefault(owner, step * across.shape[2] + slot)
    shape = (int(down.max()) + 1, int(across.max()) + 1)
    lane = np.full(shape, NOBODY, dtype=np.int64)
    register, copies = np.zeros((2, *shape), dtype=np.int64)
    for at, held in owners.items():
        lane[at] = min(held)
        register[at] = held[min(held)]
        copies[at] = len(held)
    return Ownership(title, (rows, columns), lane, register, copies)


def _shown_dims(dims: tuple[str, ...], placement: Placement) -> tuple[str, str]:
    """The two innermost dimensions along which the tile has more than one element."""
    long = [dim for dim in dims if int(_indices(placement, dim).max()) > 0]
    shown = (long or list(dims))[-2:]
    return ("", *shown)[-2], shown[-1]


def _indices(placement: Placement, dim: str) -> npt.NDArray[np.int64]:
    """Index along ``dim``: by step, lane and register."""
    layout = placement.layout
    steps = list(product(*(range(count) for _, count, _ in placement.steps)))
    base = layout.offsets(dim)
    extents = [extent if name == dim else 0 for name, _, extent in placement.steps]
    starts = [sum(k * e for k, e in zip(step, extents, strict=True)) for step in steps]
    return np.stack([base + start for start in starts])


def _beyond_the_cut(placement: Placement, shown: set[str]) -> npt.NDArray[np.bool_]:
    """Elements that are not at index 0 of the dimensions that are not shown."""
    names = {*placement.layout.dims, *(name for name, _, _ in placement.steps)}
    other = [_indices(placement, dim) != 0 for dim in sorted(names - shown)]
    if not other:
        reference = _indices(placement, next(iter(shown - {""})))
        return np.zeros(reference.shape, dtype=np.bool_)
    return np.logical_or.reduce(other)
