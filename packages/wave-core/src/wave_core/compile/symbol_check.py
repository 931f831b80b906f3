"""Checks that every symbol of a kernel will have a value."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, cast

from wave_core.compile.launch.sizes import solvable
from wave_core.constraints import Assumption, IteratorBindings, SymbolicAlias
from wave_core.diagnostics import UserError, make_diagnostic
from wave_core.ops.control import While, symbols_set_by
from wave_core.passes.options import did_you_mean
from wave_core.symbols import Expr, SymbolError
from wave_core.trace.operands import names_thread
from wave_core.types import AccessMapping, AddressSpace, MemoryType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wave_core.compile.bindings import Bound
    from wave_core.compile.launch.signature import Signature
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Diagnostic, Location
    from wave_core.ir.graph import Graph

Use = tuple["Expr", "Location | None", str]
"""A symbol, where it is used, and what for."""

_SPACE = "an address space"
_NAMING = ("induction_var", "wave_id")
"""Fields of constraints with symbols that have values of their own."""


def alias_bindings(
    constraints: Iterable[Constraint], bound: Mapping[Expr, Bound]
) -> dict[Expr, Bound]:
    """``bound`` and the symbols that follow from it through aliases."""
    found = dict(bound)
    for alias in constraints:
        if isinstance(alias, SymbolicAlias) and alias.source not in found:
            numbers = {k: v for k, v in found.items() if isinstance(v, int)}
            value = alias.apply(alias.target).subs(numbers)
            if value.is_constant:
                found[alias.source] = value.constant_value
    return found


def check_symbols(
    graph: Graph, signature: Signature, options: WaveCompileOptions
) -> None:
    """Refuse symbols that neither ``subs`` nor the arguments give a value.

    Raises:
        UserError: WV0301, WV0717, WV0822; one diagnostic for each symbol; WV0308
            where the values of symbols divide by zero.
    """
    bound = {*options.bindings, *graph.bindings}
    given = {row.symbol for row in signature.parameters if not row.is_tensor}
    given |= {s for op in graph.walk() for s in symbols_set_by(op)}
    given |= _counted(graph)
    rows = (row for row in graph.constraints if isinstance(row, SymbolicAlias))
    aliases = {row.source: row.target for row in rows}
    dynamic = set(options.dynamic_symbols)
    open_sizes = solvable(signature, given)
    found: dict[Expr, Diagnostic] = {}
    for symbol, at, what in _uses(graph, signature):
        if isinstance(options.bindings.get(symbol), AddressSpace) and what != _SPACE:
            found[symbol] = _space_for_size(symbol, at, what, options)
        if names_thread(symbol):
            found[symbol] = _thread(at, what)
        known = symbol in bound or symbol in given or symbol.name.startswith("$")
        if known or symbol in found or aliases.get(symbol) in bound | dynamic | given:
            continue
        if symbol not in dynamic:
            found[symbol] = _unbound(symbol, at, what, options, symbol in open_sizes)
        elif symbol not in open_sizes:
            found[symbol] = _undetermined(symbol, at, what)
    errors = [*_twice(options), *found.values(), *_divided_by_zero(graph)]
    if errors:
        raise UserError(errors)


def _counted(graph: Graph) -> set[Expr]:
    """The axes of while loops; a loop gives them their values."""
    loops = [op for op in graph.walk() if isinstance(op, While)]
    return {loop.axis for loop in loops if loop.axis is not None}


def _uses(graph: Graph, signature: Signature) -> Iterator[Use]:
    for argument in graph.parameters:
        kind = argument.type
        if isinstance(kind, MemoryType) and not isinstance(kind.space, AddressSpace):
            yield kind.space, argument.location, _SPACE
    for row in signature.tensors:
        dims = row.shape or ()
        yield from _symbols(dims, row.location, f"a dimension of `{row.name}`")
    for constraint in graph.constraints:
        if isinstance(constraint, IteratorBindings | Assumption | SymbolicAlias):
            continue
        rows = (row.name for row in fields(constraint) if row.name not in _NAMING)
        values = [getattr(constraint, name) for name in rows]
        yield from _symbols(values, constraint.location, "this constraint")
    for op in graph.walk():
        yield from _symbols(op.attributes.values(), op.location, f"`{op.op_name}`")


def _divided_by_zero(graph: Graph) -> Iterator[Diagnostic]:
    """What has no value at the sizes that are known."""
    for op in graph.walk():
        for expr in _expressions(op.attributes.values()):
            try:
                expr.subs(graph.bindings)
            except SymbolError as error:
                yield make_diagnostic(
                    "WV0308",
                    f"`{expr}` has no value: {error}",
                    op.location,
                    f"`{op.op_name}` uses it",
                    help="bind symbols so that nothing is divided by zero",
                )


def _symbols(values: Iterable[object], at: Location | None, what: str) -> Iterator[Use]:
    """The symbols in the expressions of fields, in a stable order."""
    found = {symbol for expr in _expressions(values) for symbol in expr.free_symbols}
    yield from ((symbol, at, what) for symbol in sorted(found, key=str))


def _expressions(values: Iterable[object]) -> Iterator[Expr]:
    for value in values:
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, AccessMapping):
            yield from value.expressions
        elif isinstance(value, tuple):
            yield from _expressions(cast("tuple[object, ...]", value))


def _unbound(
    symbol: Expr,
    at: Location | None,
    what: str,
    options: WaveCompileOptions,
    may_stay_open: bool,  # noqa: FBT001 - called here only
) -> Diagnostic:
    known = [str(key) for key in options.bindings]
    hints = tuple(
        hint.replace("did you mean", "`subs` binds a similar name:").rstrip("?")
        for hint in did_you_mean(str(symbol), known)
    )
    return make_diagnostic(
        "WV0301",
        f"symbol `{symbol}` has no value",
        at,
        f"{what} uses it",
        [(options.location, "these options do not bind it")],
        help=(
            *hints,
            f"bind it: WaveCompileOptions(subs={{{symbol}: ...}})",
            *(
                [f"or take it from each launch: dynamic_symbols=[{symbol}]"]
                if may_stay_open
                else []
            ),
        ),
        symbol=str(symbol),
    )


def _space_for_size(
    symbol: Expr, at: Location | None, what: str, options: WaveCompileOptions
) -> Diagnostic:
    return make_diagnostic(
        "WV0822",
        f"size `{symbol}` is bound to an address space",
        options.location,
        "in these options",
        [(at, f"{what} uses it")],
        help=f"bind it to an integer: WaveCompileOptions(subs={{{symbol}: 512}})",
    )


def _thread(at: Location | None, what: str) -> Diagnostic:
    return make_diagnostic(
        "WV0156",
        "an expression here has one value for all threads",
        at,
        f"{what} uses the number of a thread",
        help="waves are placed by `WaveConstraint(dim, tile)`",
    )


def _undetermined(symbol: Expr, at: Location | None, what: str) -> Diagnostic:
    return make_diagnostic(
        "WV0717",
        f"dynamic symbol `{symbol}` is the size of no argument",
        at,
        f"{what} uses it",
        help=(
            f"bind it: WaveCompileOptions(subs={{{symbol}: ...}})",
            f"or add a parameter `{symbol}: SymbolBind[i32]`",
        ),
        symbol=str(symbol),
    )


def _twice(options: WaveCompileOptions) -> Iterator[Diagnostic]:
    for symbol in options.dynamic_symbols:
        if symbol in options.bindings:
            yield make_diagnostic(
                "WV0822",
                f"`{symbol}` is bound in `subs` and dynamic",
                options.location,
                "in these options",
                help="take it out of one of the two",
            )
