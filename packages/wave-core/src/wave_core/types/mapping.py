"""IndexMapping in the IR: which memory element each register element touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.symbols import symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.symbols import Expr


def iterator_symbol(position: int) -> Expr:
    """The symbol of mapping iterator ``position``."""
    return symbol(f"$index{position}")


def dynamic_symbol(position: int) -> Expr:
    """The symbol that stands for the value of index register ``position``."""
    return symbol(f"$dynamic_val{position}", nonnegative=False)


@dataclass(frozen=True, slots=True)
class AccessMapping:
    """From the dimensions of a register to the coordinates of a memory.

    ``register_dims[i]`` is the register dimension that iterator ``i`` walks, or
    ``None`` for an iterator that walks none. ``coordinates`` has one expression
    for each memory dimension, over the iterators and dynamic values.
    """

    register_dims: tuple[str, ...]
    coordinates: tuple[Expr, ...]
    dynamic_dims: tuple[tuple[str, ...], ...] = ()
    """For each index register the register dimensions that index it."""

    def apply(
        self, index: Mapping[str, Expr], dynamic: tuple[Expr, ...] = ()
    ) -> tuple[Expr, ...]:
        """The memory coordinates of the element at ``index``."""
        values: dict[Expr, Expr] = {
            iterator_symbol(i): index[dim] for i, dim in enumerate(self.register_dims)
        }
        values |= {dynamic_symbol(i): value for i, value in enumerate(dynamic)}
        return tuple(coordinate.subs(values) for coordinate in self.coordinates)
