"""Small kernels that conformance tests run: programs, each about one thing."""

from __future__ import annotations

from typing import Any

from wave_testing.programs.model import Dim
from wave_testing.programs.model import MemorySpec
from wave_testing.programs.model import Program
from wave_testing.programs.model import ScalarSpec
from wave_testing.programs.model import Step

_ACCESS: dict[str, Any] = {"mapping": None, "index": ()}


def _step(kind: str, name: str, *args: str, **attributes: Any) -> Step:
    """A statement; ``name`` holds the values that it defines, by commas."""
    names = tuple(part for part in name.split(",") if part)
    return Step(kind, names, args, tuple(sorted(attributes.items())))


def _read(name: str, memory: str, *dims: str, **fields: Any) -> Step:
    return _step("read", name, memory=memory, shape=dims, **{**_ACCESS, **fields})


def _write(value: str, memory: str, *dims: str, **fields: Any) -> Step:
    return _step("write", "", value, memory=memory, shape=dims, **{**_ACCESS, **fields})


def _splat(name: str, dtype: str, value: float, *dims: str) -> Step:
    return _step("splat", name, shape=dims, dtype=dtype, value=value)


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
        steps=(_read("x", "a", "M", "N"), _write("x", "b", "M", "N")),
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
            _read("x", "a", "M", "N"),
            _read("y", "bias", "N"),
            _step("add", "s", "x", "y"),
            _step("mul", "t", "s", "alpha"),
            _step("gt", "c", "x", number=0),
            _step("select", "r", "c", "t", "x"),
            _write("r", "b", "M", "N"),
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
            _splat("zero", "f32", 0.0, "M", "N"),
            Step(
                "iterate",
                ("sum",),
                ("zero",),
                (("axis", "K"),),
                (
                    _read("x", "a", "M", "K"),
                    _read("y", "b", "N", "K"),
                    _step("mma", "next", "x", "y", "acc"),
                ),
                ("acc",),
                ("next",),
            ),
            _write("sum", "c", "M", "N"),
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
            _read("x", "a", "M", "N"),
            _step("reduce", "m", "x", combine="max", dim="N", sources=1, acc=-7),
            _step("sub", "d", "x", "m"),
            _step("reduce", "s", "d", combine="sum", dim="N", sources=1, acc=None),
            _write("d", "b", "M", "N"),
            _write("s", "c", "M"),
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
            _read("x", "a", "M", "D"),
            _step("allocate", "lds", shape=("M", "D"), held=(32, 24), dtype="f16"),
            _write("x", "lds", "M", "D"),
            _step("barrier", ""),
            _read("y", "lds", "M", "D", mapping=rolled),
            _write("y", "b", "M", "D"),
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
            _read("i", "rows", "M"),
            _read("x", "a", "M", "N", mapping=(("dyn", 0), ("it", 1)), index=("i",)),
            _write("x", "b", "M", "N", mapping=flat),
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
            _read("x", "a", "M"),
            Step(
                "conditional",
                ("r",),
                ("x",),
                (("condition", (">", ("sym", "limit"), 1)),),
                (_step("mul", "y", "x", number=2),),
                (),
                ("y",),
            ),
            _step("ge", "c1", "x", number=0),
            _write("r", "b", "M"),
            Step(
                "conditional",
                (),
                (),
                (("register", "c1"),),
                (_write("x", "c", "M"),),
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
