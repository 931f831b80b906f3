"""What judges random programs sees what is wrong: by how much, and where."""

from __future__ import annotations

import numpy as np
import pytest

from wave_testing.programs import random_matrix_program, with_real_numbers
from wave_testing.programs.arguments import stray_writes
from wave_testing.programs.bounds import error_bounds
from wave_testing.programs.exact import FLOATS
from wave_testing.programs.execute import Execution
from wave_testing.programs.functions import BINARY, UNARY
from wave_testing.programs.literal import read, splat, step, write
from wave_testing.programs.model import Dim, MemorySpec, Program
from wave_testing.programs.reference import Reference

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


@pytest.mark.parametrize(("dtype", "fill"), [("i8", "bits"), ("f32", "real")])
def test_halves_of_bytes_are_as_exact_as_these(dtype, fill):
    """A product of 4-bit floats that stand beside rounded numbers had no bound."""
    program = Program(
        seed=200267,
        dims=(Dim("M", 16, axis=0, tile=16), Dim("K/2", 8), Dim("K", 16)),
        memories=(
            MemorySpec("a", ("M", "K/2"), dtype, fill, 3),
            MemorySpec("b", ("M", "K"), "f32"),
        ),
        steps=(
            read("x", "a", "M", "K/2"),
            step("mul", "y", "x", "x"),
            step("cast", "z", "y", dtype="i8"),
            step("bitcast", "p", "z", dtype="f4e2m1fn", shape=("M", "K")),
            step("cast", "q", "p", dtype="f32"),
            write("q", "b", "M", "K"),
        ),
    )
    a = np.full((16, 8), 1.7 if fill == "real" else 1)
    bound = error_bounds(program, {"a": a})["b"]
    assert bound.shape == (16, 16)
    assert (np.isinf(bound) == (fill == "real")).all()


@pytest.mark.parametrize("factor", [0.0, 1.0])
@pytest.mark.parametrize("then", ["cast", "floor", "le", "argmax"])
def test_what_may_be_anything_stays_so(then, factor):
    """A quotient by what may be 0, in a product with 0, and what is decided by it.

    The bound was NaN, above which no error is, so 3 was expected where 2 was right.
    """
    last = {
        "cast": step("cast", "r", "q", dtype="i32"),
        "floor": step("floor", "r", "q"),
        "le": step("le", "r", "q", "y"),
        "argmax": step("argmax", "r", "q", dim="N", shape=("M",), dtype="i32"),
    }[then]
    dims = ("M",) if then == "argmax" else ("M", "N")
    program = Program(
        seed=1,
        dims=(Dim("M", 16, axis=0, tile=16), Dim("N", 4)),
        memories=(
            MemorySpec("a", ("M", "N"), "f32", "real", 1),
            MemorySpec("b", dims, {"floor": "f32", "le": "bool"}.get(then, "i32")),
        ),
        steps=(
            read("x", "a", "M", "N"),
            step("mul", "t", "x", "x"),
            step("sub", "y", "t", "t"),
            step("div", "z", "x", "y"),
            step("mul", "q", "z", number=factor),
            last,
            write("r", "b", *dims),
        ),
    )
    bound = error_bounds(program, {"a": np.full((16, 4), 1.7)})["b"]
    assert np.isinf(bound).all()


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


@pytest.mark.parametrize("kind", [*UNARY, *BINARY])
def test_a_bound_of_a_function_covers_a_few_roundings_and_no_more(kind):
    """Of operands that are exact, and of ones that are off themselves."""
    operands = ("x", "y") if kind in BINARY else ("x",)
    program = Program(
        seed=1,
        dims=(Dim("M", 64, axis=0, tile=64),),
        memories=(
            *(MemorySpec(name, ("M",), "f32", "real", 1) for name in "ab"),
            MemorySpec("c", ("M",), "f32"),
            MemorySpec("d", ("M",), "f32"),
        ),
        steps=(
            read("x", "a", "M"),
            read("y", "b", "M"),
            step(kind, "z", *operands),
            write("z", "c", "M"),
            step("mul", "u", "x", "y"),
            step(kind, "v", "u", *operands[1:]),
            write("v", "d", "M"),
        ),
    )
    rng = np.random.default_rng(3)
    given = {name: rng.uniform(0.5, 2.0, 64) for name in "ab"}
    found = error_bounds(program, given)
    exact = Reference(program, given)
    exact.run()
    rounded = Reference(program, {**given, "a": given["a"] * (1 + 2.0**-25)})
    rounded.run()
    for name in "cd":
        moved = np.abs(rounded.stores[name].data - exact.stores[name].data)
        open_ = kind == "remf" and name == "d"
        assert (np.isinf(found[name]) == open_).all()
        assert kind == "remf" or (moved <= found[name]).all()
        assert open_ or (found[name] < 0.004).all()


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
