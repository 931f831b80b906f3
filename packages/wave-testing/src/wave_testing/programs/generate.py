"""Random programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wave_testing.programs import atomics, bits, control, moves, selections
from wave_testing.programs.accesses import copied, read, update, write
from wave_testing.programs.builder import Builder
from wave_testing.programs.exact import Info
from wave_testing.programs.model import Program, ScalarSpec
from wave_testing.programs.prune import pruned
from wave_testing.programs.space import Space

if TYPE_CHECKING:
    import numpy as np

    Move = Callable[[Builder], str | None]


def random_program(rng: np.random.Generator, seed: int = 0) -> Program:
    """A program that writes at least one output.

    Args:
        rng: Where all chances come from.
        seed: What ``rng`` was seeded with, for messages.
    """
    return first_made(_attempt, rng, seed, 20)


def first_made(
    attempt: Callable[[np.random.Generator, int], Program | None],
    rng: np.random.Generator,
    seed: int,
    most: int,
) -> Program:
    """The first program that ``attempt`` makes, in at most so many attempts."""
    made = (attempt(rng, seed) for _ in range(most))
    program = next((each for each in made if each is not None), None)
    if program is None:
        raise RuntimeError(f"no program in {most} attempts, seed {seed}")
    return program


def _attempt(rng: np.random.Generator, seed: int) -> Program | None:
    space = Space.random(rng)
    build = Builder(rng, space)
    _scalars(build)
    read(build)
    if space.chance(0.3):
        control.iterate(build, lambda n: _moves(build, n))
    _moves(build, int(rng.integers(3, 24)))
    if not _outputs(build):
        return None
    return pruned(build.program(seed, tagged=0.5))


def _scalars(build: Builder) -> None:
    if build.space.chance(0.3):
        _scalar(build, "a", build.space.pick(("f32", "f16", "i32")), bind=False)
    if build.space.chance(0.3):
        _scalar(build, "b", build.space.pick(("i32", "i64")), bind=True)


def _scalar(build: Builder, name: str, dtype: str, *, bind: bool) -> None:
    value = int(build.rng.integers(0 if bind else -3, 5))
    build.scalars.append(ScalarSpec(name, dtype, value, bind))
    build.scopes[0].values[name] = Info((), dtype, max(1, abs(value)))
    if bind:
        build.symbols[name] = value


_WEIGHTS: tuple[tuple[Move, int], ...] = (
    (read, 14),
    (moves.binary, 14),
    (moves.unary, 12),
    (moves.divide, 6),
    (moves.logic, 4),
    (moves.choose, 7),
    (moves.cast, 7),
    (moves.broadcast, 6),
    (moves.permute, 5),
    (moves.splat, 3),
    (moves.self_index, 3),
    (moves.apply, 6),
    (moves.reduce, 9),
    (moves.scan, 4),
    (selections.extreme, 2),
    (selections.pick, 5),
    (selections.sort, 2),
    (selections.total, 3),
    (moves.extract, 3),
    (moves.mma, 8),
    (moves.stage, 5),
    (copied, 3),
    (update, 4),
    (atomics.atomic, 3),
    (atomics.exchange, 2),
    (bits.bitcast, 4),
    (bits.philox, 2),
    (selections.cut_out, 3),
    (moves.hint, 2),
    (moves.set_symbol, 3),
)


def _moves(build: Builder, count: int) -> None:
    """Add some random steps to the body that is being built."""
    total = sum(weight for _, weight in _WEIGHTS)
    for _ in range(count):
        chance = float(build.rng.random())
        if chance < 0.12:
            control.iterate(build, lambda n: _moves(build, n))
        elif chance < 0.15:
            control.conditional(build, lambda n: _moves(build, n))
        else:
            _move(build, float(build.rng.random()) * total)


def _move(build: Builder, at: float) -> None:
    for move, weight in _WEIGHTS:
        at -= weight
        if at < 0:
            move(build)
            return


def _outputs(build: Builder) -> bool:
    """Write up to three values, the last ones first."""
    values = list(build.scopes[0].values)
    wrote = any(memory.is_output for memory in build.memories)
    left = int(build.rng.choice([1, 1, 2, 3]))
    for name in reversed(values):
        if left and _output(build, name):
            wrote, left = True, left - 1
    return wrote


def _output(build: Builder, name: str) -> bool:
    info = build.info(name)
    spread = [d.name for d in build.space.dims.values() if d.groups != 1]
    missing = tuple(d for d in spread if d not in info.dims)
    if not info.dims and not missing:
        missing = (build.space.pick(build.dims),)
    if missing:
        dims = build.shuffled((*info.dims, *missing))
        wider = build.emit("broadcast", info.over(dims), (name,), shape=dims)
        if wider is None:
            return False
        name = wider
    return write(build, name)
