"""Constraints about symbols: aliases, assumptions, iterator bindings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from wave_core.constraints.base import (
    Constraint,
    SurfaceExpr,
    constraint,
    surface_expr,
)
from wave_core.constraints.distribution import (
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.symbols import Expr, symbol, sympy_symbol

_ARGUMENT = symbol("$ALIAS_ARG")


@constraint
class SymbolicAlias(Constraint):
    """``source = source_to_target(target)``: ``source`` follows ``target``.

    Workgroup, wave and tiling constraints of ``target`` hold for ``source`` with
    the function applied to their tiles.
    """

    source: SurfaceExpr
    target: SurfaceExpr
    source_to_target: Callable[[Any], Any] | Expr

    def __post_init__(self) -> None:
        super().__post_init__()
        self._convert_call("source_to_target", sympy_symbol(_ARGUMENT))

    def apply(self, value: Expr) -> Expr:
        """The alias of a quantity of ``target``."""
        assert isinstance(self.source_to_target, Expr), "converted on construction"
        return self.source_to_target.subs({_ARGUMENT: value})


@constraint
class Assumption(Constraint):
    """A fact about symbols that the compiler may use; checked at launch."""

    expr: SurfaceExpr

    def __post_init__(self) -> None:
        super().__post_init__()
        relation = "a relation of symbols, such as `M > 0`"
        self._require("expr", self.expr.is_boolean, relation)


@constraint
class IteratorBindings(Constraint):
    """Names for the iterators of ``source=``/``target=`` accesses."""

    bindings: Mapping[Any, Any] | tuple[tuple[Expr, Expr], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.bindings
        wanted = "a dictionary of symbols, such as {i: M, j: N}"
        self._require("bindings", isinstance(given, (Mapping, tuple)), wanted)
        if isinstance(self.bindings, Mapping):
            obligations: list[Expr] = []
            rows = tuple(
                (
                    surface_expr(iterator, obligations, self.location),
                    surface_expr(dim, obligations, self.location),
                )
                for iterator, dim in self.bindings.items()
            )
            self._require("bindings", all(it.name for it, _ in rows), wanted)
            self._set("bindings", rows)


def with_aliases(constraints: Sequence[Constraint]) -> list[Constraint]:
    """The constraints, and those that aliases add for their source dimensions."""
    rows = list(constraints)
    for alias in (c for c in constraints if isinstance(c, SymbolicAlias)):
        for row in constraints:
            if (
                isinstance(row, WorkgroupConstraint | WaveConstraint | TilingConstraint)
                and row.dim is alias.target
                and row.tile_size is not None
            ):
                sizes_grid = isinstance(row, WorkgroupConstraint)
                shared = {"primary": False} if sizes_grid else {}
                tile = alias.apply(row.tile_size)
                rows.append(replace(row, dim=alias.source, tile_size=tile, **shared))
    return rows


def in_terms_of(values: Mapping[Expr, Expr], row: Constraint) -> Constraint:
    """A constraint with symbols replaced by expressions, such as those of a place."""
    parts = {each.name: getattr(row, each.name) for each in fields(row)}
    exprs = {name: part for name, part in parts.items() if isinstance(part, Expr)}
    changed = {name: expr.subs(values) for name, expr in exprs.items()}
    changed = {n: expr for n, expr in changed.items() if expr is not exprs[n]}
    return replace(row, **changed) if changed else row
