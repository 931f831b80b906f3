"""Register values of all lanes, and which of their elements are poison."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_sim_cpu.arrays import Array, Bits


@dataclass(frozen=True, slots=True)
class Poison:
    """Elements without a meaning, and the op that they come from.

    ``code`` is the diagnostic to make if such an element reaches an output;
    ``reason`` says what happened at ``origin``.
    """

    bits: Bits
    origin: Op
    code: str
    reason: str

    def of(self, bits: Bits) -> Poison:
        """Poison of other elements that comes from the same op."""
        return Poison(bits, self.origin, self.code, self.reason)


class Value:
    """A register value of all units and lanes.

    Shapes: ``data`` broadcasts to ``[units, lanes, registers]``. A value may be held
    in another form (a matrix operand) and be put into registers only when asked for;
    forms made from it are remembered. ``product`` is the number of the matrix
    instruction that makes it, where that goes on after it is issued; else -1.
    """

    __slots__ = ("_data", "_forms", "_make", "poison", "product")

    def __init__(
        self,
        data: Array | None,
        poison: Poison | None = None,
        make: Callable[[], Array] | None = None,
    ) -> None:
        assert data is not None or make is not None, "there are registers"
        self._data = data
        self._make = make
        self._forms: dict[Hashable, Array] | None = None
        self.poison = poison
        self.product = -1

    @property
    def data(self) -> Array:
        """The registers."""
        if self._data is None:
            assert self._make is not None, "a value has registers or makes them"
            self._data = self._make()
            self._make = None
        return self._data

    def form(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """The value in another form, made once."""
        if self._forms is None:
            self._forms = {}
        found = self._forms.get(key)
        if found is None:
            found = self._forms[key] = make()
        return found

    def rearranged(self, move: Callable[[Array], Array]) -> Value:
        """The elements that ``move`` makes of these, their poison moved alike.

        ``move`` takes what broadcasts to ``[units, lanes, registers]``.
        """
        poison = self.poison
        if poison is not None:
            poison = poison.of(move(poison.bits))
        return Value(move(self.data), poison)

    def give(self, key: Hashable, form: Array) -> None:
        """Remember a form that is known already."""
        if self._forms is None:
            self._forms = {}
        self._forms[key] = form


def spread(values: Iterable[Value]) -> Poison | None:
    """The poison of what is computed element by element from ``values``."""
    poison: Poison | None = None
    for value in values:
        poison = join(poison, value.poison)
    return poison


def join(first: Poison | None, second: Poison | None) -> Poison | None:
    """Poison in either; the first one's origin is kept."""
    if first is None or second is None:
        return first or second
    return first.of(first.bits | second.bits)


def where(condition: Bits, yes: Value, no: Value) -> Value:
    """``yes`` where the condition holds, else ``no``."""
    value = Value(np.where(condition, yes.data, no.data))
    value.product = max(yes.product, no.product)
    if yes.poison is not None or no.poison is not None:
        left = _masked(yes.poison, condition)
        value.poison = join(left, _masked(no.poison, ~condition))
    return value


def _masked(poison: Poison | None, condition: Bits) -> Poison | None:
    if poison is None:
        return None
    bits = poison.bits & condition
    if not bits.any():
        return None
    return poison.of(bits)
