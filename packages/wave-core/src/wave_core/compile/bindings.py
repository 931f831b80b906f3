"""Bindings of symbols: to integers, address spaces, expressions of symbols."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from wave_core.constraints import device_symbol, surface_expr, workgroup_symbol
from wave_core.constraints.base import MAX_AXES
from wave_core.diagnostics import user_error
from wave_core.symbols import Expr, symbol
from wave_core.types import AddressSpace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import Location

Bound = int | AddressSpace | Expr
"""A value of ``subs`` once it is understood."""

PLACES = frozenset(
    symbol_of_axis(axis)
    for symbol_of_axis in (workgroup_symbol, device_symbol)
    for axis in range(MAX_AXES)
)
"""The symbols of places on grids, which a launch gives their values."""

_SPACES = {
    "shared": AddressSpace.SHARED,
    "shared_memory": AddressSpace.SHARED,
    "shared_address_space": AddressSpace.SHARED,
    "global": AddressSpace.GLOBAL,
    "global_memory": AddressSpace.GLOBAL,
    "global_address_space": AddressSpace.GLOBAL,
}


def symbol_of(key: Any, at: Location | None = None) -> Expr:
    """The symbol that a user's key means: a symbol of the language, or its name.

    Raises:
        UserError: WV0822 where it is no symbol.
    """
    if isinstance(key, str):
        found = symbol(key) if key.isprintable() and key else None
    else:
        expr = surface_expr(key, [], at)
        found = expr if expr.name else None
    if found is None:
        raise _not_bindable(
            f"`{key}` is not a symbol", at, "bind symbols: `subs={M: 512}`"
        )
    return found


def bound_value(key: Expr, value: Any, at: Location | None = None) -> Bound:
    """The value that a user binds ``key`` to.

    Raises:
        UserError: WV0822 where it is neither an integer, an address space nor an
            expression of symbols.
    """
    if isinstance(value, AddressSpace):
        return _checked_space(key, value, at)
    if isinstance(value, str):
        return _from_text(key, value, at)
    if isinstance(value, bool | float):
        raise _unfit(key, value, at)
    try:
        return _checked_size(key, operator.index(value), at)
    except TypeError:
        pass
    if not (isinstance(value, Expr) or hasattr(value, "free_symbols")):
        raise _unfit(key, value, at)
    expr = surface_expr(value, [], at)
    if expr.is_constant:
        return _checked_size(key, expr.constant_value, at)
    space = _SPACES.get(expr.name.lstrip("$").lower())
    return expr if space is None else space


def _from_text(key: Expr, text: str, at: Location | None) -> Bound:
    space = _SPACES.get(text.strip().lower())
    if space is not None:
        return space
    try:
        return _checked_size(key, int(text, 0), at)
    except ValueError:
        raise _unfit(key, text, at) from None


def _checked_size(key: Expr, value: int, at: Location | None) -> int:
    if value < 0 and key.nonnegative:
        raise _not_bindable(
            f"`{key}` is bound to {value}, and it is a size",
            at,
            "give it a value that is not negative",
        )
    return value


def _checked_space(key: Expr, space: AddressSpace, at: Location | None) -> AddressSpace:
    if space is AddressSpace.REGISTER:
        raise _not_bindable(
            f"`{key}` is bound to the address space of registers",
            at,
            "a memory is in `AddressSpace.GLOBAL` or asks for `AddressSpace.SHARED`",
        )
    return space


def _unfit(key: Expr, value: object, at: Location | None) -> Exception:
    kind = type(value).__name__
    return _not_bindable(
        f"`{key}` is bound to {value!r}, of type {kind}",
        at,
        "bind a symbol to an integer, an AddressSpace or an expression of symbols",
    )


def _not_bindable(message: str, at: Location | None, help_text: str) -> Exception:
    return user_error("WV0822", message, at=at, label="bound here", help=help_text)


def resolve_bindings(
    subs: Mapping[Expr, Bound], at: Location | None = None
) -> dict[Expr, Bound]:
    """Every binding as a plain value, expressions followed to their symbols.

    What depends on the place of a workgroup or device stays an expression of that.

    Raises:
        UserError: WV0822 for an expression of unbound symbols, or one that depends
            on itself.
    """
    done = {key: value for key, value in subs.items() if not isinstance(value, Expr)}
    left = {key: value for key, value in subs.items() if isinstance(value, Expr)}
    while left:
        known = {k: v for k, v in done.items() if not isinstance(v, AddressSpace)}
        solved = {
            key: found
            for key, value in left.items()
            if (found := _solved(key, value, done, known, at)) is not None
        }
        if not solved:
            raise _unsolved(left, subs, at)
        done |= solved
        left = {key: value for key, value in left.items() if key not in solved}
    return {key: done[key] for key in subs}


def _solved(
    key: Expr,
    value: Expr,
    done: Mapping[Expr, Bound],
    known: Mapping[Expr, int | Expr],
    at: Location | None,
) -> Bound | None:
    """The number of a binding; ``None`` while symbols in it have no value."""
    space = done.get(value)
    if isinstance(space, AddressSpace):
        return space
    bound = value.subs(known)
    if bound.is_constant:
        return _checked_size(key, bound.constant_value, at)
    return bound if bound.free_symbols <= PLACES else None


def _unsolved(
    left: Mapping[Expr, Expr], subs: Mapping[Expr, Bound], at: Location | None
) -> Exception:
    missing = {s for value in left.values() for s in value.free_symbols} - set(subs)
    rows = ", ".join(f"`{key}` = `{value}`" for key, value in left.items())
    if missing:
        names = ", ".join(sorted(f"`{name}`" for name in missing))
        return _not_bindable(
            f"{rows} needs {names}, which nothing binds",
            at,
            f"bind {names} in `subs` too",
        )
    return _not_bindable(
        f"the bindings {rows} depend on each other",
        at,
        "bind one of them to an integer",
    )
