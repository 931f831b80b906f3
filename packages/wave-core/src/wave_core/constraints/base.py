"""The base of constraints: conversion of what users write, and the location."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

from wave_core.diagnostics import capture_location, coded_init, user_error
from wave_core.symbols import Expr, SymbolError, as_expr, from_sympy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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

_EXPRESSIONS = ("SurfaceExpr", "SurfaceOption", Expr)
"""Types of fields that are expressions: as they are written, and what they are."""


C = TypeVar("C")

#: Axes of a grid; more are delinearised by nobody.
MAX_AXES = 5


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


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def constraint(cls: type[C]) -> type[C]:
    """Make a class of constraints; a call that does not fit it is a diagnostic."""
    return coded_init(dataclass(frozen=True)(cls))


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
        self._convert()

    def stands_for(self, kernel: Kernel) -> Iterable[Constraint]:
        """The constraints that say the same of ``kernel``; itself, for a built-in one.

        Raises:
            UserError: where the constraint does not hold.
        """
        del kernel
        return (self,)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _convert(self) -> None:
        """Turn the fields that are expressions from what users write into these."""
        obligations = list(self.obligations)
        for row in fields(self):
            if row.type not in _EXPRESSIONS:
                continue
            value = getattr(self, row.name)
            if isinstance(value, bool) and row.name != "expr":
                raise self._unfit(row.name, "an integer, or an expression of symbols")
            if value is not None or row.default is not LEFT_OUT:
                expr = surface_expr(value, obligations, self.location)
                named = row.name != "dim" or expr in expr.free_symbols
                self._require(row.name, named, "the symbol of a dimension")
                self._set(row.name, expr)
        self._set("obligations", tuple(dict.fromkeys(obligations)))

    def _convert_call(self, name: str, argument: Any) -> None:
        """Turn a function that users write into the expression that it gives.

        Raises:
            UserError: WV0327 where it is no function or fails, WV0308 for what it
                gives.
        """
        given: Callable[[Any], Any] | Expr = getattr(self, name)
        if isinstance(given, Expr):
            return
        wanted = "a function of one value that gives an expression"
        self._require(name, callable(given), wanted)
        try:
            value = given(argument)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise self._unfit(name, f"{wanted}; this one fails: {error}") from error
        obligations = list(self.obligations)
        self._set(name, surface_expr(value, obligations, self.location))
        self._set("obligations", tuple(obligations))

    def _require_axis(self, name: str, count: int = MAX_AXES) -> None:
        """The named field is an axis."""
        fits = is_count(getattr(self, name)) and getattr(self, name) < count
        self._require(name, fits, f"an axis: an integer from 0 to {count - 1}")

    def _require(self, name: str, fits: bool, wanted: str) -> None:  # noqa: FBT001 - a condition
        """Refuse the value of a field unless it fits.

        Raises:
            UserError: WV0327.
        """
        if not fits:
            raise self._unfit(name, wanted)

    def _unfit(self, name: str, wanted: str) -> Exception:
        value = getattr(self, name)
        return user_error(
            "WV0327",
            f"`{name}` of {type(self).__name__} is {shortened(value)}",
            at=self.location,
            label="given here",
            help=f"it takes {wanted}",
        )


def is_count(value: object, least: int = 0) -> bool:
    """Whether a value is a plain integer that is not below ``least``."""
    return type(value) is int and value >= least


def shortened(value: object) -> str:
    """A value as users wrote it, at most 60 characters; numbers can be endless."""
    if type(value) is int and value.bit_length() > 190:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _way_to_write(value: object) -> tuple[str, ...]:
    if isinstance(value, float) and value.is_integer():
        return (f"write {value:.0f}, or `//` in place of `/`",)
    if isinstance(value, str) and value.isidentifier():
        return (f"a dimension is a symbol and not its name: `sym.{value}`",)
    return ()


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
    except RecursionError as error:
        raise user_error(
            "WV0308",
            "an index expression is nested too deep to be read",
            at=location,
            help="name a part of it: `set_symbol(sym.PART, part)`",
        ) from error
    except (SymbolError, ZeroDivisionError) as error:
        raise user_error(
            "WV0308",
            f"`{value}` is not an integer expression of symbols",
            at=location,
            notes=(str(error),),
            help=(
                *_way_to_write(value),
                "use symbols, integers, + - * // %, floor, ceiling, Min and Max",
            ),
        ) from error
