"""What judges random programs sees what is wrong: by how much, and where."""

from __future__ import annotations

import numpy as np
import pytest

from wave_testing.programs import random_matrix_program, with_real_numbers
from wave_testing.programs.arguments import stray_writes
from wave_testing.programs.bounds import error_bounds
from wave_testing.programs.exact import FLOATS
from wave_testing.programs.execute import Execution
from wave_testing.programs.literal import read, splat, step, write
from wave_testing.programs.model import Dim, MemorySpec, Program

SIZES = (40, 24, 100)


def product(strided=False):
    m, n, k = SIZES
    return Program(
        seed=1,
        dims=(Dim("M", m, axis=0, tile=16), Dim("N", n, axis=1, tile=16), Dim("K", k)),
        memories=(
            MemorySpec("a", ("M", "K"), "f16", "real", 1),
            MemorySpec("b", ("N", "K"), "f16", "real", 1),
            MemorySpec("c", ("M", "N"), "f32", strided=strided),
        ),
        steps=(
            read("x", "a", "M", "K"),
            read("y", "b", "N", "K"),
            splat("z", "f32", 0.0, "M", "N"),
            step("mma", "p", "x", "y", "z", instruction=None),
            write("p", "c", "M", "N"),
        ),
    )


def launched(program, error):
    """The arguments with an output that is off by ``error`` of its magnitudes."""
    execution = Execution(program)
    a, b, c = execution.arguments()
    wide = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    c[...] = exact + error * wide
    return execution, [a, b, c]


def test_a_bound_is_for_roundings_and_no_more():
    program = product()
    for error, right in ((0.0, True), (2.0**-18, True), (2.0**-14, False)):
        execution, arguments = launched(program, error)
        assert (execution.wrong(arguments) == []) is right


@pytest.mark.parametrize("strided", [False, True])
def test_a_write_beside_the_elements_is_seen(strided):
    program = product(strided)
    _, arguments = launched(program, 0.0)
    assert stray_writes(program, arguments) == []
    around = arguments[2]
    while around.base is not None:
        around = around.base
    at = 256 + (4 if strided else -1)
    around[at] = 0
    assert stray_writes(program, arguments) == ["bytes around `c` were written"]


def test_exact_results_rounded_once_are_within_the_bounds():
    found = [
        with_real_numbers(random_matrix_program(np.random.default_rng(n), n))
        for n in range(20)
    ]
    real = [p for p in found if any(m.fill == "real" for m in p.memories)]
    assert len(real) > 5
    for program in real:
        execution = Execution(program)
        arguments = execution.arguments()
        for memory, array in zip(program.memories, arguments, strict=False):
            if memory.is_output:
                store = execution.reference.stores[memory.name]
                array[...] = np.where(store.written, store.data, array)
        assert execution.wrong(arguments) == []


@pytest.mark.parametrize(("off", "right"), [(0.5, True), (1.2, False)])
@pytest.mark.parametrize("dtype", ["f8e4m3fn", "f8e5m2"])
def test_a_bound_of_eight_bits_is_less_than_a_unit_of_the_last_place(dtype, off, right):
    """Normal and subnormal numbers alike."""
    program = Program(
        seed=1,
        dims=(Dim("M", 64, axis=0, tile=64),),
        memories=(
            MemorySpec("a", ("M",), "f32", "real", 1),
            MemorySpec("b", ("M",), dtype),
        ),
        steps=(
            read("x", "a", "M"),
            step("cast", "y", "x", dtype=dtype),
            write("y", "b", "M"),
        ),
    )
    bits, smallest, _ = FLOATS[dtype]
    for scale in (1.0, 2.0 ** (smallest + 1)):
        exact = np.linspace(1.0, 1.9, 64) * scale
        bound = error_bounds(program, {"a": exact})["b"]
        unit = max(scale * 2.0 ** (1 - bits), 2.0**smallest)
        assert bool((off * unit <= bound).all()) is right
