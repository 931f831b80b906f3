"""How far the results of a program may be off where its numbers are rounded.

A running error analysis (Higham 2002, section 3.3): beside each element goes a bound
of its error, from those of the operands and the rounding of the operation itself.
Where an error decides which of several values follows, all of them are within it.
"""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from wave_testing.programs.dims import Dims
from wave_testing.programs.exact import FLOATS, SIGNIFICANT, is_float, is_unsigned
from wave_testing.programs.functions import (
    BINARY,
    BINARY_SPREADS,
    UNARY,
    unary_spread,
)
from wave_testing.programs.kinds import COMPARISONS, LOGIC, ROUNDINGS, SHIFTS
from wave_testing.programs.reference import Array, Reference, factors, products

if TYPE_CHECKING:
    from wave_testing.programs.model import Program, Step

_MATRIX_UNIT = 2.0**-23
"""Of the sums of matrix instructions, which may cut instead of rounding."""

_BITS = 52
"""Significant bits of the exact results, less one."""

_ULPS = 16
"""Units in the last place that a function of the hardware may be off."""


def error_bounds(program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """For each output by how much its elements may be off; infinity where anything."""
    bounded = _Bounded(program, inputs)
    # Infinite errors take part.
    with np.errstate(all="ignore"):
        bounded.run()
    return {m.name: bounded.stores[m.name].error for m in program.memories}


class _Bounded(Reference):
    """The meaning of a program, with a bound of the error of each element."""

    def error(self, step: Step, dims: Dims, data: Array) -> Array:
        """By the rule of the step's kind; none for constants and indices.

        What a rule leaves open, as infinity times 0, may be anything: no error would
        be above such a number, and so none would be seen.
        """
        rule = ERRORS.get(step.kind)
        if rule is None:
            return np.zeros(())
        found = rule(self, step, dims, data)
        return np.where(np.isnan(found), np.inf, found)

    def operands(self, step: Step, dims: Dims) -> list[tuple[Array, Array]]:
        """The values of an elementwise step in order, each with its error."""
        tiles = [self.tile(name) for name in step.args]
        found = [(tile.over(dims), tile.error_over(dims)) for tile in tiles]
        number = step.get("number")
        if number is not None:
            found.append((np.asarray(number), np.zeros(())))
        return found[::-1] if step.get("reflected") else found

    def rounded(self, step: Step, data: Array, error: Array, times: int = 1) -> Array:
        """``error`` and what rounding the result adds, ``times`` over."""
        dtype = self.dtype(step)
        size = np.abs(data) + error
        if is_unsigned(dtype):
            # The next number may be at the other end.
            return np.where(error > 0, np.inf, 0.0)
        if not is_float(dtype):
            return np.where(size >= 2.0 ** SIGNIFICANT[dtype], np.inf, error)
        bits, smallest, largest = FLOATS[dtype]
        # The exact results of f64 are rounded as well: hence the minimum.
        unit = np.expm1(times * 2.0 ** -min(bits, _BITS))
        own = unit * size + times * 2.0 ** (smallest - 1)
        return np.where(size + own >= 2.0**largest, np.inf, error + own)


Rule = Callable[[_Bounded, "Step", Dims, Array], Array]


def _errors(ref: _Bounded, step: Step, dims: Dims) -> list[Array]:
    return [error for _, error in ref.operands(step, dims)]


def _sum(ref: _Bounded, step: Step, dims: Dims, data: Array) -> Array:
    return ref.rounded(step, data, np.add(*_errors(ref, step, dims)))


def _product(ref: _Bounded, step: Step, dims: Dims, data: Array) -> Array:
    (x, first), (y, second) = ref.operands(step, dims)
    error = np.abs(x) * second + np.abs(y) * first + first * second
    return ref.rounded(step, data, error)


def _largest(ref: _Bounded, step: Step, dims: Dims, _data: Array) -> Array:
    return np.max(np.broadcast_arrays(*_errors(ref, step, dims)), axis=0)


def _function(ref: _Bounded, step: Step, dims: Dims, data: Array) -> Array:
    """A function that is monotone where its operand may be, rounded a few times."""
    ((x, error),) = ref.operands(step, dims)
    function = _MONOTONE[step.kind]
    moved = [np.abs(function(x + e) - function(x)) for e in (error, -error)]
    found = np.maximum(*moved)
    return ref.rounded(step, data, np.where(error < np.abs(x), found, np.inf), _ULPS)


_MONOTONE: Mapping[str, Callable[[Array], Array]] = {
    "exp2": np.exp2,
    "reciprocal": np.reciprocal,
}


def _rough(ref: _Bounded, step: Step, dims: Dims, data: Array) -> Array:
    """A function that devices round in their own ways; anything beyond its domain."""
    operands = ref.operands(step, dims)
    if step.kind in UNARY:
        spread = unary_spread(step.kind, *operands)
    else:
        spread = BINARY_SPREADS[step.kind](*operands)
    found = ref.rounded(step, data, spread, _ULPS)
    return np.where(np.isfinite(data) & np.isfinite(found), found, np.inf)


def _whole(ref: _Bounded, step: Step, dims: Dims, data: Array) -> Array:
    """Rounding to an integer, which may be another one."""
    (error,) = _errors(ref, step, dims)
    return ref.rounded(step, data, np.where(error > 0, error + 1, 0.0))


def _cast(ref: _Bounded, step: Step, dims: Dims, data: Array) -> Array:
    if step.get("dtype") == "bool":
        return _exact_or_any(ref, step, dims, data)
    if not is_float(step.get("dtype")):
        return _whole(ref, step, dims, data)
    return ref.rounded(step, data, *_errors(ref, step, dims))


def _compared(ref: _Bounded, step: Step, dims: Dims, _data: Array) -> Array:
    """Unknown where the operands are nearer to each other than their errors."""
    (x, first), (y, second) = ref.operands(step, dims)
    error = first + second
    # Of two infinities the distance is NaN, and not above their errors either.
    return np.where((error > 0) & ~(np.abs(x - y) > error), np.inf, 0.0)


def _exact_or_any(ref: _Bounded, step: Step, dims: Dims, _data: Array) -> Array:
    return np.where(sum(_errors(ref, step, dims)) > 0, np.inf, 0.0)


def _select(ref: _Bounded, step: Step, dims: Dims, _data: Array) -> Array:
    (condition, open_), (x, first), (y, second) = ref.operands(step, dims)
    either = np.maximum(first, second) + np.abs(x - y)
    return np.where(open_ > 0, either, np.where(condition, first, second))


def _reduce(ref: _Bounded, step: Step, dims: Dims, _data: Array) -> Array:
    axis = step.get("dim")
    count = step.get("sources")
    tiles = [ref.tile(name) for name in step.args]
    parts = [tile.error_over((*dims, axis)) for tile in tiles[:count]]
    totals = [tile.error_over(dims) for tile in tiles[count:]]
    if step.get("combine") != "sum":
        found = [part.max(axis=-1, initial=0.0) for part in parts] + totals
        return np.max(np.broadcast_arrays(*found), axis=0)
    sizes = [np.abs(tile.over((*dims, axis))).sum(-1) for tile in tiles[:count]]
    sizes += [np.abs(tile.over(dims)) for tile in tiles[count:]]
    size = sum(sizes) + abs(step.get("acc") or 0)
    error = sum(part.sum(-1) for part in parts) + sum(totals)
    times = sum(part.shape[-1] for part in parts) + 1
    return ref.rounded(step, size, error, times)


def _scan(ref: _Bounded, step: Step, dims: Dims, _data: Array) -> Array:
    """Every element is off by no more than what all of them add up to."""
    tile, axis = ref.tile(step.args[0]), dims.index(step.get("dim"))
    error = tile.error_over(dims)
    if step.get("combine") != "sum":
        return np.broadcast_to(error.max(axis, initial=0.0, keepdims=True), error.shape)
    size = np.abs(tile.over(dims)).sum(axis, keepdims=True)
    return ref.rounded(step, size, error.sum(axis, keepdims=True), error.shape[axis])


def _total(ref: _Bounded, step: Step, dims: Dims, _data: Array) -> Array:
    tile, over = ref.tile(step.args[0]), step.get("over")
    axes = tuple(range(len(dims), len(dims) + len(over)))
    error = tile.error_over((*dims, *over))
    if step.get("combine") != "sum":
        return error.max(axes, initial=0.0)
    size = np.abs(tile.over((*dims, *over))).sum(axes)
    terms = np.prod([ref.domain(d).size for d in over]) + len(over)
    return ref.rounded(step, size, error.sum(axes), int(terms))


def _in_order(ref: _Bounded, step: Step, _dims: Dims, _data: Array) -> Array:
    """What comes out is off by no more than what is off most; its place by anything."""
    tile = ref.tile(step.args[0])
    axis = tile.dims.index(step.get("dim"))
    extreme = step.kind.startswith("arg")
    worst = tile.error.max(axis, initial=0.0, keepdims=not extreme)
    return np.where(worst > 0, np.inf, 0.0) if step.get("dtype") else worst


def _mma(ref: _Bounded, step: Step, dims: Dims, data: Array) -> Array:
    """The product of magnitudes with errors, less that without."""
    lhs, rhs, acc = factors(ref, step)
    both = [d for d in lhs.dims if d in rhs.dims and d not in dims]

    def product(left: Array, right: Array) -> Array:
        return products(dims, (lhs.dims, left), (rhs.dims, right))

    wide = [np.abs(tile.data) + tile.error for tile in (lhs, rhs)]
    size = product(*wide) + np.abs(acc.data) + acc.error
    spread = product(wide[0], rhs.error) + product(lhs.error, wide[1]) + acc.error
    if not is_float(ref.dtype(step)):
        return ref.rounded(step, data, spread)
    terms = 1 + np.prod([ref.domain(d).size for d in both])
    return spread + 2 * _MATRIX_UNIT * terms * size + terms * 2.0**-126


ERRORS: Mapping[str, Rule] = {
    "cast": _cast,
    "reduce": _reduce,
    "scan": _scan,
    "total": _total,
    **dict.fromkeys(("sort", "topk", "argmax", "argmin"), _in_order),
    **dict.fromkeys(("mma", "scaled"), _mma),
    "mul": _product,
    "select": _select,
    **dict.fromkeys(("add", "sub"), _sum),
    **dict.fromkeys(("maximum", "minimum", "neg", "abs"), _largest),
    **dict.fromkeys(_MONOTONE, _function),
    **dict.fromkeys((*UNARY, *BINARY), _rough),
    **dict.fromkeys(ROUNDINGS, _whole),
    **dict.fromkeys(COMPARISONS, _compared),
    **dict.fromkeys(
        ("floordiv", "mod", "apply", "bitcast", "philox", *SHIFTS, *LOGIC),
        _exact_or_any,
    ),
}
"""How errors of operands and roundings become that of a step, by kind; else 0."""
