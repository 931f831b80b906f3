"""IndexMapping in the IR: which memory element each register element touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.symbols import symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.symbols import Expr


def iterator_symbol(position: int) -> Expr:
    """The symbol of mapping iterator ``position``."""
    return symbol(f"$index{position}")


def dynamic_symbol(position: int) -> Expr:
    """The symbol that stands for the value of index register ``position``."""
    return symbol(f"$dynamic_val{position}", nonnegative=False)


def is_of_mapping(name: str) -> bool:
    """Whether a symbol is an iterator, or the value of an index register."""
    return name.startswith(("$index", "$dynamic_val"))


def beyond_mapping(exprs: Iterable[Expr], iterators: int, registers: int) -> list[str]:
    """The iterators and index registers in expressions beyond so many, in order."""
    known = {
        *map(iterator_symbol, range(iterators)),
        *map(dynamic_symbol, range(registers)),
    }
    used = {symbol for expr in exprs for symbol in expr.free_symbols} - known
    return sorted(filter(is_of_mapping, (each.name for each in used)))


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
    exists: Expr | None = None
    """The condition, over the same, under which there is an element; none: always."""

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The coordinates, and the condition if there is one."""
        return (
            self.coordinates
            if self.exists is None
            else (*self.coordinates, self.exists)
        )

    def walks(self, dim: str) -> bool:
        """Whether a coordinate of the memory is the index along ``dim`` itself."""
        return iterator_symbol(self.register_dims.index(dim)) in self.coordinates

    def apply(
        self, index: Mapping[str, Expr], dynamic: tuple[Expr, ...] = ()
    ) -> tuple[Expr, ...]:
        """The memory coordinates of the element at ``index``."""
        values = self._values(index, dynamic)
        return tuple(coordinate.subs(values) for coordinate in self.coordinates)

    def condition(
        self, index: Mapping[str, Expr], dynamic: tuple[Expr, ...] = ()
    ) -> Expr | None:
        """Whether there is an element at ``index``; ``None`` is always."""
        if self.exists is None:
            return None
        return self.exists.subs(self._values(index, dynamic))

    def _values(
        self, index: Mapping[str, Expr], dynamic: tuple[Expr, ...]
    ) -> dict[Expr, Expr]:
        values: dict[Expr, Expr] = {
            iterator_symbol(i): index[dim] for i, dim in enumerate(self.register_dims)
        }
        return values | {dynamic_symbol(i): value for i, value in enumerate(dynamic)}
