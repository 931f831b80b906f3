"""The symbol engine on the index expressions of matrix instructions."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from measure import Figure, cpu_times, median, report

from wave_core.symbols import Expr, Facts, Tape, floordiv, symbol, xor
from wave_core.symbols.substitute import substitute_all

if TYPE_CHECKING:
    from collections.abc import Iterator

REPEATS = 21
UNROLL = 8


def mfma_indices(prefix: str) -> list[Expr]:
    """72 expressions of a 16x16x16 tile: 9 indices for each of 8 unrolled steps."""
    thread = symbol(f"{prefix}T")
    group_m, group_n = symbol(f"{prefix}WG0"), symbol(f"{prefix}WG1")
    block_m, block_n = symbol(f"{prefix}BLOCK_M"), symbol(f"{prefix}BLOCK_N")
    width, step = symbol(f"{prefix}K"), symbol(f"{prefix}IV")
    lane = thread % 64
    wave = floordiv(thread, 64)
    exprs: list[Expr] = []
    for unroll in range(UNROLL):
        row = group_m * block_m + 16 * unroll + 32 * wave + lane % 16
        other = group_n * block_n + 16 * unroll + lane % 16
        inner = 64 * step + 16 * (unroll % 4) + 4 * (lane // 16 % 4)
        swizzled = xor(inner, 8 * (row % 8))
        linear = row * width + inner
        exprs += [row, other, inner, swizzled, linear]
        exprs += [linear // 8 % 32, other * width + inner]
        exprs += [(row % 64) * 72 + swizzled % 64, floordiv(row, block_m)]
    return exprs


def build_and_substitute(repeat: int) -> tuple[Expr, ...]:
    """Builds all index expressions and replaces two variables in each."""
    prefix = f"r{repeat}_"
    exprs = mfma_indices(prefix)
    lane = symbol(f"{prefix}T")
    step = symbol(f"{prefix}IV")
    return substitute_all(exprs, {lane: 4 * symbol(f"{prefix}U") + 3, step: step + 1})


def simplify_all(repeat: int) -> list[Expr]:
    """Builds and simplifies all 72 expressions for 256 threads."""
    prefix = f"s{repeat}_"
    facts = Facts().with_range(symbol(f"{prefix}T"), 0, 255)
    return [facts.simplify(expr) for expr in mfma_indices(prefix)]


def evaluate_lanes(repeat: int) -> list[list[int]]:
    """Evaluates all 72 expressions for 64 lanes."""
    tape = Tape(mfma_indices("e"))
    return [tape.at([lane + repeat] * len(tape.symbols)) for lane in range(1, 65)]


ROWS = (
    ("build 72", lambda repeat: mfma_indices(f"b{repeat}_"), None),
    ("build 72 and substitute 2 variables", build_and_substitute, 25),
    ("evaluate 72 for 64 lanes (ints)", evaluate_lanes, None),
)
"""Name, work with fresh symbols in every repetition, and the limit in ms."""


def figures() -> Iterator[Figure]:
    """A figure for each row."""
    for name, work, limit in ROWS:
        fresh = count()
        times = cpu_times(lambda work=work, n=fresh: work(next(n)), REPEATS)
        yield median(name, times, "ms", limit)


if __name__ == "__main__":
    report("the expression engine, CPU time", figures())
