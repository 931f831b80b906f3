"""Functions that each device rounds in its own way: exactly, and how far they are off.

They stand in no program that is compared bit by bit: `with_functions` puts them in the
place of other steps, and results are within an error bound.
"""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_testing.programs.infer import Known, infer_types
from wave_testing.programs.kinds import ROUNDED_BINARY, ROUNDED_UNARY, ROUNDINGS

if TYPE_CHECKING:
    from wave_testing.programs.model import Program, Step

    Array = np.ndarray[Any, np.dtype[Any]]

_ERF = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


UNARY: Mapping[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (np.exp, 0),
    "log": (np.log, 0),
    "log2": (np.log2, 0),
    "log10": (np.log10, 0),
    "sqrt": (np.sqrt, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0),
    "cbrt": (np.cbrt, 0),
    "sinh": (np.sinh, 0),
    "sin": (np.sin, 1),
    "cos": (np.cos, 1),
    "tanh": (np.tanh, 1),
    "tanh_approx": (np.tanh, 1),
    "erf": (_ERF, 1.13),
    "sigmoid": (_sigmoid, 0.25),
    "silu": (lambda x: x * _sigmoid(x), 1.1),
    "gelu": (lambda x: x / 2 * (1 + _ERF(x / math.sqrt(2))), 1.13),
    "softsign": (lambda x: x / (1 + np.abs(x / 30)), 1),
}
"""Each function, and its steepest slope; 0 for a monotone one, moved to either side."""

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "div": np.divide,
    "powf": np.power,
    "atan2": np.arctan2,
    "remf": np.fmod,
}

_SLACK = 2.0**-16
"""Absolute error that is always allowed: near their zeros, functions cancel."""

_ROUGH = 2.0**-9
"""That of `tanh_approx`."""

Bounds = tuple["Array", "Array"]
"""A value and the error of its elements."""


def unary_spread(kind: str, operand: Bounds) -> Array:
    """How far the exact function of an operand that is off may be off, and a slack."""
    function, slope = UNARY[kind]
    x, error = operand
    slack = _ROUGH if kind == "tanh_approx" else _SLACK
    if kind in ("sin", "cos"):
        # Devices reduce the argument in its own precision.
        slack = _SLACK * (1 + np.abs(x))
    if slope:
        return slope * error + slack
    moved = [np.abs(function(x + e) - function(x)) for e in (error, -error)]
    return np.maximum(*moved) + slack


def _quotient(x: Bounds, y: Bounds) -> Array:
    rest = np.abs(y[0]) - y[1]
    found = (np.abs(x[0]) * y[1] + np.abs(y[0]) * x[1]) / (np.abs(y[0]) * rest)
    return np.where(rest > 0, found, np.inf)


def _power(x: Bounds, y: Bounds) -> Array:
    """Of positive bases: at the corners, and what the exponent of 2 is rounded."""
    value = np.power(x[0], y[0])
    corners = [
        np.abs(np.power(x[0] + i * x[1], y[0] + j * y[1]) - value)
        for i in (1, -1)
        for j in (1, -1)
    ]
    own = 2.0**-18 * np.abs(y[0] * np.log2(x[0])) * value
    found = np.max(np.broadcast_arrays(*corners), axis=0) + own + _SLACK
    return np.where(x[0] > x[1], found, np.inf)


def _angle(y: Bounds, x: Bounds) -> Array:
    radius, error = np.hypot(x[0], y[0]), x[1] + y[1]
    # At the cut, the sign of a zero decides.
    cut = (x[0] - x[1] <= 0) & (np.abs(y[0]) <= y[1])
    open_ = cut | (error >= radius / 2)
    return np.where(open_, np.inf, 2 * error / radius + _SLACK)


def _remainder(x: Bounds, y: Bounds) -> Array:
    """Exact, of operands that are."""
    return np.where((x[1] + y[1] > 0) | (y[0] == 0), np.inf, 0.0)


BINARY_SPREADS: Mapping[str, Callable[[Bounds, Bounds], Array]] = {
    "div": _quotient,
    "powf": _power,
    "atan2": _angle,
    "remf": _remainder,
}
"""How far an exact function of operands that are off may be off."""

_FLOATS = ("f16", "bf16", "f32", "f64")
_SINGLE = ("neg", "abs", "exp2", "reciprocal", *ROUNDINGS)
_PAIR = ("add", "sub", "mul", "maximum", "minimum")


def with_functions(program: Program, rng: np.random.Generator) -> Program:
    """The program with functions in place of some steps, where no branch depends on it.

    Args:
        program: The program.
        rng: Decides which steps become which functions.
    """
    if any(
        step.kind == "set_symbol" or step.get("register") for step in program.walk()
    ):
        return program
    known = infer_types(program)
    return program.with_steps(_changed(program.steps, known, rng))


def _changed(
    steps: tuple[Step, ...], known: Known, rng: np.random.Generator
) -> tuple[Step, ...]:
    return tuple(
        replace(_function(step, known, rng), body=_changed(step.body, known, rng))
        for step in steps
    )


def _function(step: Step, known: Known, rng: np.random.Generator) -> Step:
    single = step.kind in _SINGLE
    if not single and step.kind not in _PAIR:
        return step
    if known[step.name[0]][1] not in _FLOATS or rng.random() > (0.7 if single else 0.3):
        return step
    kinds = ROUNDED_UNARY if single else ROUNDED_BINARY
    return replace(step, kind=str(rng.choice(kinds)))
