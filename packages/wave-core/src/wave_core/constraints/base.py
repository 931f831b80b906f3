"""What all constraints share: conversion of what users write, and the location."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from wave_core.diagnostics import capture_location, user_error
from wave_core.symbols import Expr, SymbolError, as_expr, from_sympy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.diagnostics import Location
    from wave_core.targets import Target

    class SurfaceExpr:
        """A field that takes what users write and gives an expression."""

        def __get__(self, instance: object, owner: type) -> Expr: ...

        def __set__(self, instance: object, value: Any) -> None: ...

    class SurfaceOption:
        """As `SurfaceExpr`, where the field may be left out."""

        def __get__(self, instance: object, owner: type) -> Expr | None: ...

        def __set__(self, instance: object, value: Any) -> None: ...

else:
    SurfaceExpr = Expr
    SurfaceOption = Expr


LEFT_OUT: Any = None
"""The default of a `SurfaceOption`."""


@dataclass(frozen=True)
class Kernel:
    """The kernel that a constraint is about, as far as constraints may ask.

    Attributes:
        constraints: All that its author wrote.
        bindings: The values of bound symbols.
        target: The machine.
    """

    constraints: tuple[Constraint, ...]
    bindings: Mapping[Expr, int]
    target: Target

    def bind(self, expr: Expr) -> Expr:
        """``expr`` with the known symbols replaced by their values."""
        return expr.subs(self.bindings)


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """A statement about how a dimension spreads over the machine.

    The compiler understands `BUILTIN_CONSTRAINTS`. A plugin's class registers itself
    and says in `stands_for` what it means in terms of these.

    Attributes:
        location: Where the user wrote the constraint.
        obligations: Conditions that must hold once symbols are bound, such as
            ``BLOCK_M % 2 == 0`` for a tile written ``BLOCK_M / 2``.
    """

    location: Location | None = field(default=None, compare=False, repr=False)
    obligations: tuple[Expr, ...] = ()

    def __new__(cls, *_args: Any, **_fields: Any) -> Self:
        """Note the author's line here, below all ``__init__`` of plugins' classes."""
        made = super().__new__(cls)
        made._set("_written", capture_location())
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy is written where the original is."""
        self.__dict__.clear()
        self.__dict__.update(state)

    def __post_init__(self) -> None:
        written = self.__dict__.pop("_written")
        if self.location is None:
            self._set("location", written)

    def stands_for(self, kernel: Kernel) -> Iterable[Constraint]:
        """The constraints that say the same of ``kernel``; itself, for a built-in one.

        Raises:
            UserError: where the constraint does not hold.
        """
        del kernel
        return (self,)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _convert(self, *names: str) -> None:
        """Turn the named fields from what users write into expressions."""
        obligations = list(self.obligations)
        for name in names:
            value = getattr(self, name)
            if value is not None:
                self._set(name, surface_expr(value, obligations, self.location))
        self._set("obligations", tuple(dict.fromkeys(obligations)))


def surface_expr(
    value: Any, obligations: list[Expr], location: Location | None = None
) -> Expr:
    """An expression from an int, a sympy expression or an expression.

    Raises:
        UserError: WV0308 where the value is not an integer expression.
    """
    if isinstance(value, (int, Expr)) and not isinstance(value, bool):
        return as_expr(value)
    try:
        return from_sympy(value, obligations=obligations)
    except SymbolError as error:
        raise user_error(
            "WV0308",
            f"`{value}` is not an integer expression of symbols",
            at=location,
            notes=(str(error),),
            help=("use symbols, integers, + - * // %, floor, ceiling, Min and Max",),
        ) from error
