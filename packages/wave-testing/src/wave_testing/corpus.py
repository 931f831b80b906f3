"""Small kernels that conformance tests run: programs, each about one thing."""

from __future__ import annotations

from wave_testing.programs.literal import read, splat, step, write
from wave_testing.programs.model import Dim, MemorySpec, Program, ScalarSpec, Step


def copy() -> Program:
    """A copy between memories of opposite orders, of a shape that no tile divides."""
    return Program(
        seed=1,
        dims=(
            Dim("M", 33, axis=0, tile=16, waves=1),
            Dim("N", 65, axis=1, tile=32, waves=2, dynamic=True),
        ),
        memories=(
            MemorySpec("a", ("M", "N"), "f16", "small", 4),
            MemorySpec("b", ("N", "M"), "f16", strided=True),
        ),
        steps=(read("x", "a", "M", "N"), write("x", "b", "M", "N")),
    )


def elementwise() -> Program:
    """Arithmetic with a bias of fewer dims, a scalar argument, and a selection."""
    return Program(
        seed=2,
        dims=(Dim("M", 20, axis=0, tile=8), Dim("N", 40, axis=1, tile=64)),
        memories=(
            MemorySpec("a", ("M", "N"), "f32", "small", 4),
            MemorySpec("bias", ("N",), "f32", "small", 4),
            MemorySpec("b", ("M", "N"), "f32"),
        ),
        scalars=(ScalarSpec("alpha", "f32", 3),),
        steps=(
            read("x", "a", "M", "N"),
            read("y", "bias", "N"),
            step("add", "s", "x", "y"),
            step("mul", "t", "s", "alpha"),
            step("gt", "c", "x", number=0),
            step("select", "r", "c", "t", "x"),
            write("r", "b", "M", "N"),
        ),
    )


def product() -> Program:
    """A matrix product, four waves a workgroup, accumulated over a loop."""
    return Program(
        seed=3,
        dims=(
            Dim("M", 65, axis=0, tile=64, waves=2),
            Dim("N", 33, axis=1, tile=32, waves=2),
            Dim("K", 40, loop=16),
        ),
        memories=(
            MemorySpec("a", ("M", "K"), "f16", "small", 4),
            MemorySpec("b", ("N", "K"), "f16", "small", 4),
            MemorySpec("c", ("M", "N"), "f32"),
        ),
        steps=(
            splat("zero", "f32", 0.0, "M", "N"),
            Step(
                "iterate",
                ("sum",),
                ("zero",),
                (("axis", "K"),),
                (
                    read("x", "a", "M", "K"),
                    read("y", "b", "N", "K"),
                    step("mma", "next", "x", "y", "acc"),
                ),
                ("acc",),
                ("next",),
            ),
            write("sum", "c", "M", "N"),
        ),
    )


def reduction() -> Program:
    """A row maximum over waves, lanes and registers, subtracted from its row."""
    return Program(
        seed=4,
        dims=(
            Dim("M", 5, axis=0, tile=1),
            Dim("N", 100, axis=1, tile=128, waves=2),
        ),
        memories=(
            MemorySpec("a", ("M", "N"), "f32", "small", 50),
            MemorySpec("b", ("M", "N"), "f32"),
            MemorySpec("c", ("M",), "f32"),
        ),
        steps=(
            read("x", "a", "M", "N"),
            step("reduce", "m", "x", combine="max", dim="N", sources=1, acc=-7),
            step("sub", "d", "x", "m"),
            step("reduce", "s", "d", combine="sum", dim="N", sources=1, acc=None),
            write("d", "b", "M", "N"),
            write("s", "c", "M"),
        ),
    )


def staged() -> Program:
    """A tile through LDS by hand, rolled along a dimension, with a barrier."""
    rolled = (("it", 0), ("%", ("+", ("it", 1), 3), 24))
    return Program(
        seed=5,
        dims=(Dim("M", 48, axis=0, tile=32, waves=2), Dim("D", 24)),
        memories=(
            MemorySpec("a", ("M", "D"), "f16", "small", 4),
            MemorySpec("b", ("M", "D"), "f16"),
        ),
        steps=(
            read("x", "a", "M", "D"),
            step("allocate", "lds", shape=("M", "D"), held=(32, 24), dtype="f16"),
            write("x", "lds", "M", "D"),
            step("barrier", ""),
            read("y", "lds", "M", "D", mapping=rolled),
            write("y", "b", "M", "D"),
        ),
    )


def gather() -> Program:
    """Rows picked by an index input, written to a flattened memory."""
    flat = (("//", ("it", 1), 5), ("%", ("it", 1), 5), ("it", 0))
    return Program(
        seed=6,
        dims=(
            Dim("M", 17, axis=0, tile=16),
            Dim("N", 15, axis=1, tile=16),
            Dim("R", 9),
            Dim("H", 3),
            Dim("W", 5),
        ),
        memories=(
            MemorySpec("rows", ("M",), "i32", "index", 9),
            MemorySpec("a", ("R", "N"), "i32", "small", 99),
            MemorySpec("b", ("H", "W", "M"), "i32"),
        ),
        steps=(
            read("i", "rows", "M"),
            read("x", "a", "M", "N", mapping=(("dyn", 0), ("it", 1)), index=("i",)),
            write("x", "b", "M", "N", mapping=flat),
        ),
    )


def branches() -> Program:
    """Conditions on a size, on a scalar argument and element by element."""
    return Program(
        seed=7,
        dims=(Dim("M", 50, axis=0, tile=64, dynamic=True),),
        memories=(
            MemorySpec("a", ("M",), "i32", "small", 9),
            MemorySpec("b", ("M",), "i32"),
            MemorySpec("c", ("M",), "i32"),
        ),
        scalars=(ScalarSpec("limit", "i32", 2, bind=True),),
        steps=(
            read("x", "a", "M"),
            Step(
                "conditional",
                ("r",),
                ("x",),
                (("condition", (">", ("sym", "limit"), 1)),),
                (step("mul", "y", "x", number=2),),
                (),
                ("y",),
            ),
            step("ge", "c1", "x", number=0),
            write("r", "b", "M"),
            Step(
                "conditional",
                (),
                (),
                (("register", "c1"),),
                (write("x", "c", "M"),),
            ),
        ),
    )


def empty_loop() -> Program:
    """A loop without iterations gives its initial values."""
    program = product()
    dims = (*program.dims[:2], Dim("K", 0, loop=16, dynamic=True))
    return Program(8, dims, program.memories, (), program.steps)


def corpus() -> dict[str, Program]:
    """All of them by name."""
    kernels = (
        copy,
        elementwise,
        product,
        reduction,
        staged,
        gather,
        branches,
        empty_loop,
    )
    return {kernel.__name__: kernel() for kernel in kernels}
