"""Random expressions, each with the plain Python function it was built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from wave_core.symbols import (
    Expr,
    SymbolError,
    ceildiv,
    constant,
    eq,
    floordiv,
    ge,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    mod,
    select,
    symbol,
    xor,
)
from wave_core.symbols.logic import absolute, gt, ne

SYMBOLS = (symbol("x", False), symbol("y", False), symbol("p"), symbol("q"))
CONSTANTS = (0, 1, -1, 2, 3, 4, 5, 7, 8, 16, -4, -3, 64, 37, -29)
DIVISORS = (2, 3, 4, 4, 5, 6, 8, 16, 16, 64, -2, -3, -8)

Row = list[int]


@dataclass(frozen=True)
class Recipe:
    """An expression and the oracle: its unsimplified meaning over a row of values."""

    oracle: Callable[[Row], int]
    expr: Expr


def _select(condition, yes, no):
    return yes if condition else no


# Name -> (weight, arguments, meaning on Python integers, builder).
OPERATIONS = {
    "add": (3, 2, lambda a, b: a + b, lambda a, b: a + b),
    "sub": (2, 2, lambda a, b: a - b, lambda a, b: a - b),
    "mul": (1, 2, lambda a, b: a * b, lambda a, b: a * b),
    "floordiv": (2, 2, lambda a, b: a // b, floordiv),
    "mod": (2, 2, lambda a, b: a % b, mod),
    "ceildiv": (1, 2, lambda a, b: -(-a // b), ceildiv),
    "min": (1, 2, min, minimum),
    "max": (1, 2, max, maximum),
    "xor": (1, 2, lambda a, b: a ^ b, xor),
    "lt": (1, 2, lambda a, b: int(a < b), lt),
    "le": (1, 2, lambda a, b: int(a <= b), le),
    "gt": (1, 2, lambda a, b: int(a > b), gt),
    "ge": (1, 2, lambda a, b: int(a >= b), ge),
    "eq": (1, 2, lambda a, b: int(a == b), eq),
    "ne": (1, 2, lambda a, b: int(a != b), ne),
    "and": (1, 2, lambda a, b: int(a != 0 and b != 0), logical_and),
    "or": (1, 2, lambda a, b: int(a != 0 or b != 0), logical_or),
    "not": (1, 1, lambda a: int(not a), logical_not),
    "neg": (1, 1, lambda a: -a, lambda a: -a),
    "abs": (1, 1, abs, absolute),
    "select": (1, 3, _select, select),
    "floordiv_by": (4, 0, lambda a, c: a // c, lambda a, c: a // c),
    "mod_by": (4, 0, lambda a, c: a % c, lambda a, c: a % c),
    "mul_by": (1, 0, lambda a, c: a * c, lambda a, c: a * c),
    "add_to": (1, 0, lambda a, c: a + c, lambda a, c: c + a),
}
NAMES = [name for name, row in OPERATIONS.items() for _ in range(row[0])]


class RecipeSource:
    """Draws recipes and the rows of values to try them on."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def choose(self, items):
        return items[int(self.rng.integers(len(items)))]

    def leaf(self) -> Recipe:
        if self.rng.random() < 0.35:
            value = self.choose(CONSTANTS)
            return Recipe(lambda _: value, constant(value))
        slot = int(self.rng.integers(len(SYMBOLS)))
        return Recipe(lambda row: row[slot], SYMBOLS[slot])

    def recipe(self, depth: int) -> Recipe:
        if depth == 0 or self.rng.random() < 0.1:
            return self.leaf()
        _, count, meaning, build = OPERATIONS[self.choose(NAMES)]
        a = self.recipe(depth - 1)
        f = a.oracle
        if count == 0:
            c = self.choose(DIVISORS)
            return Recipe(lambda row: meaning(f(row), c), build(a.expr, c))
        if count == 1:
            return Recipe(lambda row: meaning(f(row)), build(a.expr))
        b = self.recipe(depth - 1)
        g = b.oracle
        if count == 2:
            return Recipe(lambda row: meaning(f(row), g(row)), build(a.expr, b.expr))
        c = self.recipe(depth - 1)
        h = c.oracle
        return Recipe(
            lambda row: meaning(f(row), g(row), h(row)),
            build(a.expr, b.expr, c.expr),
        )

    def draw(self, deepest: int = 5) -> Recipe:
        """A recipe that does not divide by the constant zero."""
        while True:
            try:
                return self.recipe(int(self.rng.integers(1, deepest + 1)))
            except SymbolError as error:
                if "zero" not in str(error):
                    raise

    def rows(self, count: int) -> list[Row]:
        """Values for `SYMBOLS`, the last two of which are never negative."""
        size = self.choose((3, 20, 1000))
        rows = self.rng.integers(-size, size + 1, (count, len(SYMBOLS)))
        rows[:, 2:] = abs(rows[:, 2:])
        return rows.tolist()


@pytest.fixture(scope="session")
def recipes():
    """Makes a source of random recipes from a seed."""
    return RecipeSource
