"""Remembers launches that were found right, so that one like them needs a glance.

All that `prepare` checks follows from four things: what a glance shows of each array
(shape, element type, strides, place), the values of integers, the range of floats, and
addresses. The first two are the key of what is remembered; ranges and addresses are
looked at in each launch, and whether torch records what is computed. Where a glance
leaves a doubt, `prepare` is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from wave_core.compile.launch.scalars import overflows
from wave_core.compile.launch.tensors import tracks_gradients, tracks_tangents
from wave_runtime.arrays import glances
from wave_runtime.errors import RuntimeFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from wave_core.compile.launch.prepare import Prepared
    from wave_core.compile.launch.signature import Signature
    from wave_core.types import DType
    from wave_runtime.arrays import ArrayView
    from wave_runtime.kernel import Seen

KEPT = 64
"""Kinds of launches that a kernel remembers."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The common part of launches that look alike.

    Attributes:
        sizes: The symbols that they bind, by name.
        grid: Workgroups on each axis.
        ordinal: The device that the arrays are on; ``None`` where nothing says it.
        is_empty: Whether there is nothing to run.
        spans: The first byte of each array and the one after its last, counted from
            its address; equal for an empty one.
        unit: Bytes that addresses are multiples of.
        tracked: Whether gradients flow through some array, as long as torch lets them.
    """

    sizes: Mapping[str, int]
    grid: tuple[int, ...]
    ordinal: int | None
    is_empty: bool
    spans: tuple[tuple[int, int], ...]
    unit: int
    tracked: bool

    @classmethod
    def of(cls, prepared: Prepared) -> Accepted:
        """The common part of launches like a checked one."""
        views = prepared.buffers
        return cls(
            prepared.sizes,
            prepared.grid,
            next((v.ordinal for v in views if v.ordinal is not None), None),
            prepared.is_empty,
            tuple(_span(each) for each in views),
            max((each.item_bytes for each in views), default=1),
            any(each.requires_grad for each in views),
        )


def _span(seen: ArrayView) -> tuple[int, int]:
    if not all(seen.shape):
        return 0, 0
    reach = [(n - 1) * step for n, step in zip(seen.shape, seen.strides, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return low, high + seen.item_bytes


class AcceptedLaunches:
    """The launches of one kernel on one device that were found right."""

    def __init__(self, signature: Signature) -> None:
        self._names = tuple(row.name for row in signature.parameters)
        self._tensors = tuple(row.position for row in signature.tensors)
        self._written = tuple(
            place for place, row in enumerate(signature.tensors) if row.is_output
        )
        self._numbers = tuple(
            (row.position, _number_look(row.dtype))
            for row in signature.parameters
            if not row.is_tensor
        )
        self._known: dict[Hashable, Accepted] = {}

    def in_order(
        self, given: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[Any, ...] | None:
        """One argument for each parameter; ``None`` where there are others."""
        if named:
            rest = self._names[len(given) :]
            if set(named) != set(rest):
                return None
            given += tuple(named[name] for name in rest)
        return given if len(given) == len(self._names) else None

    def see(self, arguments: Sequence[Any], stream: int) -> Seen | None:
        """A glance at the arguments; ``None`` where that leaves a doubt.

        Args:
            arguments: One for each parameter, in order.
            stream: The queue of the device that the launch goes to.
        """
        try:
            addresses, looks = glances([arguments[i] for i in self._tensors], stream)
        except RuntimeFailure:
            return None
        looks += [look(arguments[place]) for place, look in self._numbers]
        return None if None in looks else (addresses, tuple(looks))

    def find(self, seen: Seen) -> Accepted | None:
        """The common part of such launches; ``None`` where one is to be checked."""
        addresses, looks = seen
        found = self._known.get(looks)
        if found is None or (found.tracked and tracks_gradients()) or tracks_tangents():
            return None
        return found if self._fit(addresses, found) else None

    def remember(self, seen: Seen, accepted: Accepted) -> None:
        """Keep what was found out about a launch."""
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[seen[1]] = accepted

    def _fit(self, addresses: Sequence[int], found: Accepted) -> bool:
        """Whether addresses are multiples, and what is written shares no memory."""
        for address in addresses:
            if address % found.unit:
                return False
        for place in self._written:
            start, end = found.spans[place]
            start, end = addresses[place] + start, addresses[place] + end
            for other, (low, high) in enumerate(found.spans):
                address = addresses[other]
                if address + low < end and start < address + high and other != place:
                    return False
        return True


def _number_look(dtype: DType) -> Callable[[Any], Hashable]:
    """The part of a number that checks look at; ``None`` where that is not known."""
    return partial(_float_look, dtype) if dtype.is_float else _integer_look


def _float_look(dtype: DType, value: Any) -> Hashable:
    is_number = value.__class__ in (int, float)
    return None if not is_number or overflows(dtype, value) else float


def _integer_look(value: Any) -> Hashable:
    kind = value.__class__
    return (kind, value) if kind in (bool, int) else None
