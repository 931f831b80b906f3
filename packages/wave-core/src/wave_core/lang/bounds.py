"""``bounds=`` of an access: which elements of a memory it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.symbols import ge, logical_and, lt, parse_expr
from wave_core.trace.context import active
from wave_core.types import (
    AccessMapping,
    MemoryType,
    beyond_mapping,
    dim_name,
    iterator_symbol,
)

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.symbols import Expr

_MOST = 2**63 - 1
"""The largest number that an index is compared with."""


def bounded(
    mapping: AccessMapping | None, memory: Any, bounds: Any, location: Location
) -> AccessMapping | None:
    """The mapping of an access with the condition that ``bounds`` mean.

    ``bounds`` has an end for some dims: elements exist whose coordinate along a dim
    of the memory, or index along another dim of the register, is from 0 up to the
    end, which does not belong to them. In an end, the symbol of a dim is its size.

    Raises:
        UserError: WV0418 for bounds that are no dictionary of dims, WV0308.
    """
    found = getattr(getattr(memory, "op", None), "type", None)
    if bounds is None or not isinstance(found, MemoryType):
        return mapping
    ends: Mapping[Any, Any] = bounds
    if not isinstance(bounds, Mapping):
        raise _unfit(f"`bounds` is {bounds!r}", found, location)
    if not ends:
        return mapping
    if mapping is None:
        iterators = tuple(iterator_symbol(i) for i in range(len(found.dims)))
        mapping = AccessMapping(found.dims, iterators)
    tracer = active("bounds")
    places = _places(mapping, found)
    # Within a while loop along a dim its symbol is still its size here.
    sizes = {s for dim in map(parse_expr, places) for s in dim.free_symbols}
    conditions = [] if mapping.exists is None else [mapping.exists]
    for dim, given in ends.items():
        name = dim_name(tracer.expression(dim, location))
        if name not in places:
            raise _unfit(f"`bounds` names `{dim}`", found, location)
        end = tracer.expression(given, location)
        if not end.free_symbols <= sizes:
            end = tracer.number(given, location, mapped=True)
            _check_end(end, mapping, found, location)
        if end.is_constant and abs(end.constant_value) > _MOST:
            raise _unfit(f"`bounds` ends `{dim}` beyond 64 bits", found, location)
        conditions += [ge(places[name], 0), lt(places[name], end)]
    return replace(mapping, exists=logical_and(*conditions))


def _check_end(
    end: Expr, mapping: AccessMapping, memory: MemoryType, location: Location
) -> None:
    """Refuse iterators and index registers that the access does not have."""
    counts = len(mapping.register_dims), len(mapping.dynamic_dims)
    for name in beyond_mapping([end], *counts):
        raise _unfit(f"`bounds` uses `{name}`", memory, location)


def _places(mapping: AccessMapping, memory: MemoryType) -> dict[str, Expr]:
    """What is bounded along each dim of the register or the memory."""
    walked = {dim: iterator_symbol(i) for i, dim in enumerate(mapping.register_dims)}
    return walked | dict(zip(memory.dims, mapping.coordinates, strict=True))


def _unfit(what: str, memory: MemoryType, at: Location) -> Exception:
    dims = ", ".join(memory.dims)
    return user_error(
        "WV0418",
        what,
        at=at,
        label=f"accesses a memory with dims [{dims}]",
        help=f"give ends for dims of the memory: `bounds={{{memory.dims[-1]}: "
        f"{memory.dims[-1]}}}`",
    )
