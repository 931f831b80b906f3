"""Ops that go along a dimension, on whole tiles."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_core.ops.elementwise import convert
from wave_sim_cpu.logical.control_rules import run_body
from wave_sim_cpu.logical.memory_rules import shape_of
from wave_sim_cpu.logical.tile_rules import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ops.scan import Along, Scan, Sort
    from wave_sim_cpu.arrays import Array, Bits
    from wave_sim_cpu.logical.state import State

Row: TypeAlias = "tuple[Array, ...]"
"""One element along the dim of each source, in all units."""


def scan(op: Scan, state: State) -> None:
    """Combine the elements that exist in the order of their indices."""
    sources = [_in_all_units(whole(state, value), state) for value in op.sources]
    axis = 1 + shape_of(op.sources[0]).index(op.dim)
    rank = sources[0].ndim
    exists = state.exists(op.dim, rank, axis)
    found = [np.zeros_like(source) for source in sources]
    total = _start(op, rank)
    started = np.full((), bool(op.identity))
    for wave, place in _order(op, state):
        here = [slice(None)] * rank
        here[axis] = slice(place, place + 1)
        at = tuple(here)
        row = tuple(_of_wave(op, source[at], wave, state) for source in sources)
        before = total
        both = run_body(op, (*total, *row), state)
        counts = np.ones((), bool)
        if exists is not None:
            bits = np.broadcast_to(exists, (state.units.count, *exists.shape[1:]))
            counts = _of_wave(op, bits[at], wave, state)
        total = tuple(
            np.where(counts, np.where(started, b, r), t)
            for b, r, t in zip(both, row, total, strict=True)
        )
        started = started | counts
        own = _is_wave(op, wave, rank, state)
        for result, value in zip(found, before if op.exclusive else total, strict=True):
            result[at] = np.where(own, value, result[at])
    state.results[op.ident] = tuple(found)


def sort(op: Sort, state: State) -> None:
    """Neighbours put in order, as often as there are elements.

    Shapes: the sorted axis is halved into those at even and at odd places.
    """
    axis = 1 + shape_of(op.sources[0]).index(op.dim)
    found = [_in_all_units(whole(state, value), state) for value in op.sources]
    exists = state.exists(op.dim, found[0].ndim, axis)
    if exists is not None:
        filled = zip(found, _start(op, found[0].ndim), strict=True)
        found = [np.where(exists, data, filler) for data, filler in filled]
    size = found[0].shape[axis]
    found = [np.moveaxis(data, axis, -1).copy() for data in found]
    for iteration in range(size):
        first = slice(iteration % 2, size - 1, 2)
        second = slice(iteration % 2 + 1, size, 2)
        pairs = [data[..., at] for at in (first, second) for data in found]
        both = run_body(op, tuple(np.moveaxis(p, -1, axis) for p in pairs), state)
        new = [np.moveaxis(np.asarray(b), axis, -1) for b in both]
        for position, data in enumerate(found):
            data[..., first] = new[position]
            data[..., second] = new[position + len(found)]
    state.results[op.ident] = tuple(np.moveaxis(data, -1, axis) for data in found)


def _in_all_units(data: Array, state: State) -> Array:
    return np.broadcast_to(data, (state.units.count, *data.shape[1:]))


def _start(op: Along, rank: int) -> Row:
    """The identities, or anything where they are not known."""
    numbers = op.identity or (0,) * len(op.sources)
    return tuple(
        convert(number, source.register_type.dtype).reshape((1,) * rank)
        for number, source in zip(numbers, op.sources, strict=True)
    )


def _order(op: Scan, state: State) -> Iterator[tuple[int, int]]:
    """The waves that share the dim, and the places in the tile of each."""
    axis = state.launch.geometry.split_among_waves(str(op.dim))
    waves = range(1 if axis is None else state.units.waves[axis])
    places = range(state.tile(op.dim))
    if op.reverse:
        return product(reversed(waves), reversed(places))
    return product(waves, places)


def _of_wave(op: Scan, data: Array, wave: int, state: State) -> Array:
    """For each unit what wave number ``wave`` along the dim has."""
    axis = state.launch.geometry.split_among_waves(str(op.dim))
    if axis is None:
        return data
    units = state.units
    apart = data.reshape(units.workgroups, *units.waves[::-1], *data.shape[1:])
    chosen = apart.take([wave], len(units.waves) - axis)
    return np.broadcast_to(chosen, apart.shape).reshape(data.shape)


def _is_wave(op: Scan, wave: int, rank: int, state: State) -> Bits:
    """The units that are wave number ``wave`` along the dim."""
    axis = state.launch.geometry.split_among_waves(str(op.dim))
    if axis is None:
        return np.ones((1,) * rank, bool)
    stride = int(np.prod(state.units.waves[:axis], dtype=np.int64))
    number = state.units.wave // stride % state.units.waves[axis]
    return (number == wave).reshape(-1, *(1,) * (rank - 1))
