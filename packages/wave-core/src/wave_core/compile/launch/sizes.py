"""Finds the sizes of a launch: dynamic dimensions from the shapes of the arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.symbols.node import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.compile.launch.report import LaunchReport
    from wave_core.compile.launch.signature import Parameter, Signature
    from wave_core.symbols import Expr
    from wave_runtime.arrays import ArrayView


@dataclass(frozen=True)
class _Extent:
    """One dimension of one argument: what the kernel says and what was given."""

    parameter: Parameter
    position: int
    wanted: Expr
    given: int

    @property
    def dimension(self) -> str:
        """The dimension as the author wrote it."""
        assert self.parameter.shape is not None, "only tensors have extents"
        return str(self.parameter.shape[self.position])


@dataclass(frozen=True)
class Solution:
    """The value of a symbol, if an extent determines it.

    ``exact`` is false where other values would give the same extent, as for
    ``K // 2``.
    """

    symbol: Expr
    value: int
    exact: bool = True


def solve(expr: Expr, value: int) -> Solution | None:
    """The value of the only symbol of ``expr`` for which it is ``value``.

    Inverts sums, multiples and whole quotients: ``2*K``, ``K + 1``, ``K // 32``.
    """
    if expr.kind is Kind.SYMBOL:
        return Solution(expr, value)
    if expr.kind is Kind.FLOORDIV:
        return _solve_quotient(expr, value)
    constant, terms = expr.linear()
    if len(terms) != 1 or expr.kind is not Kind.SUM:
        return None
    term, factor = terms[0]
    quotient, rest = divmod(value - constant, factor)
    return None if rest else solve(term, quotient)


def _solve_quotient(expr: Expr, value: int) -> Solution | None:
    dividend, divisor = expr.args
    constant, _ = dividend.linear()
    if not divisor.is_constant or divisor.constant_value < 1 or constant:
        return None
    inner = solve(dividend, value * divisor.constant_value)
    return None if inner is None else Solution(inner.symbol, inner.value, exact=False)


def solvable(signature: Signature, known: Iterable[Expr]) -> set[Expr]:
    """Symbols that the shapes of arguments determine, whatever the shapes are."""
    found = set(known)
    exprs = [extent for row in signature.tensors for extent in row.extents]
    while True:
        # Any number stands for a symbol that is known.
        values = dict.fromkeys(found, 1)
        fresh = {
            symbol
            for expr in exprs
            for symbol in expr.free_symbols - found
            if _determines(expr.subs(values), symbol)
        }
        if not fresh:
            return found
        found |= fresh


def _determines(expr: Expr, symbol: Expr) -> bool:
    if expr.free_symbols != frozenset({symbol}):
        return False
    if expr.kind is Kind.FLOORDIV:
        constant, _ = expr.args[0].linear()
        plain = expr.args[1].is_constant and not constant
        return plain and _determines(expr.args[0], symbol)
    _, terms = expr.linear()
    if len(terms) != 1:
        return False
    return terms[0][0] is symbol or _determines(terms[0][0], symbol)


def find_sizes(
    report: LaunchReport,
    buffers: Mapping[str, ArrayView],
    known: Mapping[Expr, int],
) -> dict[Expr, int]:
    """Symbols that the launch gives a value, checked against every argument.

    Args:
        report: Takes the mistakes.
        buffers: The arrays by name of their parameter.
        known: Symbols that scalar arguments bind.
    """
    extents = [
        _Extent(parameter, position, wanted, size)
        for parameter in report.signature.tensors
        if parameter.name in buffers
        for position, (wanted, size) in enumerate(
            zip(parameter.extents, buffers[parameter.name].shape, strict=True)
        )
    ]
    sizes, source = _bind(extents, known)
    for extent in extents:
        _check(report, extent, sizes, source)
    return sizes


def _bind(
    extents: list[_Extent], known: Mapping[Expr, int]
) -> tuple[dict[Expr, int], dict[Expr, _Extent]]:
    """Solve extents until none gives a new symbol; exact ones come first."""
    sizes = dict(known)
    source: dict[Expr, _Extent] = {}
    found = True
    while found:
        found = _next(extents, sizes)
        if found:
            solution, extent = found
            sizes[solution.symbol] = solution.value
            source[solution.symbol] = extent
    return sizes, source


def _next(
    extents: list[_Extent], sizes: Mapping[Expr, int]
) -> tuple[Solution, _Extent] | None:
    inexact = None
    for extent in extents:
        left = extent.wanted.subs(sizes)
        solution = None if left.is_constant else solve(left, extent.given)
        if solution is None or solution.value < 0:
            continue
        if solution.exact:
            return solution, extent
        inexact = inexact or (solution, extent)
    return inexact


def _check(
    report: LaunchReport,
    extent: _Extent,
    sizes: Mapping[Expr, int],
    source: Mapping[Expr, _Extent],
) -> None:
    parameter = extent.parameter
    wanted = extent.wanted.subs(sizes)
    if report.is_bad(parameter) or not wanted.is_constant:
        if not wanted.is_constant and not report.is_bad(parameter):
            _report_unsolved(report, extent, wanted)
        return
    if wanted.constant_value == extent.given:
        return
    what = (
        f"{extent.given} long in dimension {extent.position}; "
        f"`{extent.dimension}` is {wanted}"
    )
    others = [
        source[s] for s in sorted(extent.wanted.free_symbols, key=str) if s in source
    ]
    others = [other for other in others if other.parameter is not parameter]
    if not extent.wanted.free_symbols:
        advice = (
            "pass an argument of that size, or compile with another value of "
            f"`{extent.dimension}`"
        )
        report.argument("WV0707", parameter, what, advice)
        return
    notes = [
        f"`{other.parameter.name}` is {other.given} long in dimension "
        f"{other.position}, which is `{other.dimension}`"
        for other in others
    ]
    first = others[0].parameter if others else None
    advice = "arguments must agree on the sizes they share"
    report.argument("WV0716", parameter, what, advice, notes, first)


def _report_unsolved(report: LaunchReport, extent: _Extent, wanted: Expr) -> None:
    names = ", ".join(f"`{s}`" for s in sorted(wanted.free_symbols, key=str))
    report.argument(
        "WV0717",
        extent.parameter,
        f"{extent.given} long in dimension {extent.position}, `{extent.dimension}`, "
        f"which does not give a value of {names}",
        f"bind {names} in WaveCompileOptions(subs={{...}}), or pass a tensor whose "
        "size is the symbol itself",
    )
