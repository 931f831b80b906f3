"""Arguments of a program: fresh random inputs, poisoned outputs, odd strides."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wave_core.types import DTYPES
from wave_testing.programs.exact import FLOATS, is_float, is_unsigned

if TYPE_CHECKING:
    from wave_testing.programs.model import MemorySpec, Program
    from wave_testing.programs.reference import Reference

    Array = np.ndarray[Any, np.dtype[Any]]

SENTINEL = -99
"""The elements of integer outputs before the launch."""

CANARY = 0xA5
"""Every byte around an argument, and between its elements."""

MARGIN = 256
"""Bytes before and behind an argument."""

SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0)
"""Some of the elements of ``special`` inputs."""


def make_inputs(program: Program, rng: np.random.Generator) -> dict[str, Array]:
    """Random contents of the inputs, by name."""
    return {
        memory.name: _contents(memory, program.extents(memory.dims), rng)
        for memory in program.memories
        if memory.fill
    }


def _contents(
    memory: MemorySpec, shape: tuple[int, ...], rng: np.random.Generator
) -> Array:
    if memory.fill == "real":
        numbers = rng.choice((-1, 1), shape) * rng.uniform(0.25, 1, shape)
    elif memory.fill == "special":
        numbers = rng.integers(-memory.bound, memory.bound + 1, shape).astype(float)
        chosen = rng.random(shape) < 0.01
        numbers[chosen] = rng.choice(SPECIAL, int(chosen.sum()))
    elif memory.fill == "tiny":
        unit = 2.0 ** FLOATS[memory.dtype][1]
        numbers = unit * rng.integers(-memory.bound, memory.bound + 1, shape)
    elif memory.fill == "bits":
        numbers = rng.integers(-128, 128, shape)
    elif memory.fill == "scale":
        numbers = 2.0 ** rng.integers(0, 3, shape)
    elif memory.fill == "permutation":
        numbers = rng.permutation(shape[0])
    elif memory.fill == "index":
        numbers = rng.integers(0, memory.bound, shape)
    else:
        numbers = rng.integers(-memory.bound, memory.bound + 1, shape)
    if is_unsigned(memory.dtype):
        numbers = np.abs(numbers)
    return numbers.astype(DTYPES[memory.dtype].numpy())


def make_arguments(program: Program, inputs: Mapping[str, Array]) -> list[Any]:
    """One argument for each parameter: inputs laid out, outputs allocated."""
    found: list[Any] = []
    for memory in program.memories:
        shape = program.extents(memory.dims)
        array = _storage(shape, memory)
        array[...] = inputs.get(memory.name, poison_of(memory.dtype))
        found.append(array)
    scalars = [np.asarray(s.value, DTYPES[s.dtype].numpy()) for s in program.scalars]
    return [*found, *scalars]


def poison_of(dtype: str) -> float:
    """The elements of an output before the launch."""
    if is_float(dtype):
        return float("nan")
    return abs(SENTINEL) if is_unsigned(dtype) else SENTINEL


def _storage(shape: tuple[int, ...], memory: MemorySpec) -> Array:
    """An array amid canaries; strided, every second column of reversed axes."""
    dtype = np.dtype(DTYPES[memory.dtype].numpy())
    wide = (*reversed(shape[:-1]), 2 * shape[-1]) if memory.strided else shape
    size = prod(wide) * dtype.itemsize
    around = np.full(size + 2 * MARGIN, CANARY, np.uint8)
    array = around[MARGIN : MARGIN + size].view(dtype).reshape(wide)
    if not memory.strided:
        return array
    return array.transpose(*reversed(range(len(shape) - 1)), len(shape) - 1)[..., ::2]


def stray_writes(program: Program, arguments: list[Any]) -> list[str]:
    """Which arguments have canaries that were written."""
    found: list[str] = []
    for memory, array in zip(program.memories, arguments, strict=False):
        around = array
        while around.base is not None:
            around = around.base
        inside = np.zeros(around.nbytes, np.bool_)
        start = array.__array_interface__["data"][0] - around.ctypes.data
        own = (*array.shape, array.itemsize), (*array.strides, 1)
        as_strided(inside[start:], *own)[...] = True
        if (around.view(np.uint8)[~inside] != CANARY).any():
            found.append(f"bytes around `{memory.name}` were written")
    return found


def differences(
    program: Program,
    arguments: list[Any],
    reference: Reference,
    bounds: Mapping[str, Array] | None = None,
) -> list[str]:
    """Mistakes in each output, in words; nothing where all is right.

    ``bounds`` say by how much the elements of an output may be off; by default they
    are equal.
    """
    found: list[str] = []
    for memory, array in zip(program.memories, arguments, strict=False):
        if not memory.is_output:
            continue
        store = reference.stores[memory.name]
        wide = array.astype(store.data.dtype) if array.size else store.data
        before = store.data if memory.updated else poison_of(memory.dtype)
        wanted = np.where(store.written, store.data, before)
        both = np.isnan(wanted) & np.isnan(wide) if wanted.dtype.kind == "f" else False
        off = wide != wanted
        if bounds is not None:
            with np.errstate(invalid="ignore"):
                near = np.abs(wide - wanted) <= bounds[memory.name]
            off &= ~(near | np.isinf(bounds[memory.name]))
        wrong = np.argwhere(off & ~np.asarray(both))
        if wrong.size:
            at = tuple(int(i) for i in wrong[0])
            found.append(
                f"{memory.name}[{', '.join(map(str, at))}] is {wide[at]}, should be "
                f"{wanted[at]}; {len(wrong)} of {wide.size} elements are wrong"
            )
    return found
