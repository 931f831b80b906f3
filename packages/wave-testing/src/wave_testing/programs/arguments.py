"""Arguments of a program: fresh random inputs, poisoned outputs, odd strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.types import DTYPES
from wave_testing.programs.exact import is_float

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_testing.programs.model import MemorySpec, Program
    from wave_testing.programs.reference import Reference

    Array = np.ndarray[Any, np.dtype[Any]]

SENTINEL = -99
"""What integer outputs hold before the launch."""


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
    if memory.fill == "permutation":
        numbers = rng.permutation(shape[0])
    elif memory.fill == "index":
        numbers = rng.integers(0, memory.bound, shape)
    else:
        numbers = rng.integers(-memory.bound, memory.bound + 1, shape)
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
    """What an output holds before the launch."""
    return float("nan") if is_float(dtype) else SENTINEL


def _storage(shape: tuple[int, ...], memory: MemorySpec) -> Array:
    dtype = DTYPES[memory.dtype].numpy()
    if not memory.strided:
        return np.zeros(shape, dtype)
    # Every second column of an array whose axes are stored in reverse.
    wide = np.zeros((*reversed(shape[:-1]), 2 * shape[-1]), dtype)
    order = (*reversed(range(len(shape) - 1)), len(shape) - 1)
    return wide.transpose(order)[..., ::2]


def differences(
    program: Program, arguments: list[Any], reference: Reference
) -> list[str]:
    """What is wrong with each output, in words; nothing where all is right."""
    found: list[str] = []
    for memory, array in zip(program.memories, arguments, strict=False):
        if not memory.is_output:
            continue
        store = reference.stores[memory.name]
        wide = array.astype(store.data.dtype) if array.size else store.data
        before = store.data if memory.updated else poison_of(memory.dtype)
        wanted = np.where(store.written, store.data, before)
        both = np.isnan(wanted) & np.isnan(wide) if wanted.dtype.kind == "f" else False
        wrong = np.argwhere((wide != wanted) & ~np.asarray(both))
        if wrong.size:
            at = tuple(int(i) for i in wrong[0])
            found.append(
                f"{memory.name}[{', '.join(map(str, at))}] is {wide[at]}, should be "
                f"{wanted[at]}; {len(wrong)} of {wide.size} elements are wrong"
            )
    return found
