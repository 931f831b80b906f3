"""Strategies for hypothesis: expressions, layouts, constraint sets, programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from wave_core.symbols import Digit, Expr, Layout, as_expr, maximum, minimum, symbol
from wave_testing.programs.generate import random_program
from wave_testing.programs.kernel import constraints, program_kernel
from wave_testing.programs.literal import read, step, write
from wave_testing.programs.model import Dim, MemorySpec, Program, Step

if TYPE_CHECKING:
    from wave_core.lang import LaunchableWave

LANES = 64
_NAMES = ("x", "y", "z")


def expressions(
    names: tuple[str, ...] = _NAMES, *, most: int = 20
) -> st.SearchStrategy[Expr]:
    """Integer expressions of symbols, with divisions by positive constants.

    Args:
        names: The symbols; they may be given any value that is not negative.
        most: The largest constant.
    """
    leaves = st.one_of(
        st.sampled_from(names).map(symbol),
        st.integers(-most, most).map(as_expr),
    )
    return st.recursive(leaves, lambda inner: _combined(inner, most), max_leaves=12)


def _combined(inner: st.SearchStrategy[Expr], most: int) -> st.SearchStrategy[Expr]:
    divisors = st.integers(1, most)
    return st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        st.tuples(inner, st.integers(-4, 4)).map(lambda p: p[0] * p[1]),
        st.tuples(inner, divisors).map(lambda p: p[0] // p[1]),
        st.tuples(inner, divisors).map(lambda p: p[0] % p[1]),
        st.tuples(inner, inner).map(lambda p: minimum(*p)),
        st.tuples(inner, inner).map(lambda p: maximum(*p)),
    )


@st.composite
def layouts(
    draw: st.DrawFn, dims: tuple[str, ...] = ("M", "N"), *, lanes: int = LANES
) -> Layout:
    """Layouts in which every slot holds another element, or a declared copy of one.

    The lanes and the registers are cut into digits; each goes to a dimension or, as
    replication, to none.
    """
    table: dict[str, list[Digit]] = {dim: [] for dim in dims}
    extents = dict.fromkeys(dims, 1)
    registers = draw(st.sampled_from((1, 2, 4, 8)))
    for source, size in (("reg", registers), ("lane", lanes)):
        position = 1
        while position < size:
            count = min(draw(st.sampled_from((2, 4, 8, 64))), size // position)
            dim = draw(st.sampled_from((*dims, None)))
            if dim is not None:
                digit = Digit(extents[dim], source, position, count)  # pyright: ignore[reportArgumentType] - a Source
                table[dim].append(digit)
                extents[dim] *= count
            position *= count
    return Layout.make(lanes, registers, table)


@dataclass(frozen=True)
class ConstraintSet:
    """Dimensions with their constraints, and a kernel that copies a tile of them.

    Attributes:
        program: The copy, as a program.
    """

    program: Program

    @property
    def constraints(self) -> list[Any]:
        """The constraints, the hardware's first."""
        return constraints(self.program)

    @property
    def bindings(self) -> dict[str, int]:
        """The size of each dimension."""
        return {dim.name: dim.extent for dim in self.program.dims}

    @property
    def kernel(self) -> LaunchableWave:
        """A kernel with these constraints that copies a whole tensor."""
        return program_kernel(self.program)


@st.composite
def constraint_sets(draw: st.DrawFn, *, most_axes: int = 4) -> ConstraintSet:
    """Random distributions of one to four dimensions over workgroups, waves, loops."""
    axes = draw(st.integers(1, most_axes))
    waves = 8
    dims: list[Dim] = []
    for axis in range(axes):
        dim = draw(_grid_dims("MNBH"[axis], axis, waves, 129 if axis < 2 else 8))
        waves //= dim.shared
        dims.append(dim)
    if draw(st.booleans()):
        most = 40 if axes < 3 else 8
        extent, tile = draw(st.integers(1, most)), draw(st.integers(1, most))
        dims.append(Dim("K", extent, loop=tile))
    bits = draw(st.sampled_from((32, 64, 128)))
    hardware = (("max_bits_per_load", bits),)
    return ConstraintSet(_copy(tuple(dims), hardware, draw(st.booleans())))


@st.composite
def _grid_dims(draw: st.DrawFn, name: str, axis: int, waves: int, most: int) -> Dim:
    # Tiles of four large dimensions have more elements than fit the memory.
    tiles = [n for n in (1, 2, 3, 4, 5, 8, 16, 24, 32, 64) if n <= most]
    tile = draw(st.sampled_from(tiles))
    shares = [n for n in (0, 1, 2, 4) if n <= waves and tile % max(n, 1) == 0]
    vector = draw(st.sampled_from((None, None, None, 0, 1, tile)))
    extent = draw(st.integers(1, min(most, 16 * tile)))
    shared = draw(st.sampled_from(shares))
    return Dim(name, extent, axis=axis, tile=tile, waves=shared, vector=vector)


def _copy(
    dims: tuple[Dim, ...],
    hardware: tuple[tuple[str, Any], ...],
    reverse: bool,  # noqa: FBT001 - drawn
) -> Program:
    """Copies a tensor over all dims, within a loop over those that have one."""
    names = tuple(dim.name for dim in dims)
    memories = (
        MemorySpec("a", names[::-1] if reverse else names, "f16", "small", 4),
        MemorySpec("b", names, "f16"),
    )
    steps = (
        read("x", "a", *names),
        step("permute", "y", "x", shape=names),
        write("y", "b", *names),
    )
    for dim in dims:
        if dim.loop is not None:
            steps = (Step("iterate", (), (), (("axis", dim.name),), steps),)
    return Program(0, dims, memories, (), steps, hardware)


def programs() -> st.SearchStrategy[Program]:
    """Random programs; each is one number to hypothesis, so it does not shrink them.

    `wave_testing.programs.shrink` does.
    """
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: random_program(np.random.default_rng(seed), seed))
