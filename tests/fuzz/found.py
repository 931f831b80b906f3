"""Programs that were once compiled or executed wrongly, made small."""

from __future__ import annotations

from wave_testing.programs.literal import read, splat, step, write
from wave_testing.programs.model import Dim, MemorySpec, Program, Step


def expression_of_one_symbol():
    """`apply_expr(x, lambda a: a * 1)` was a truth value."""
    return Program(
        seed=1,
        dims=(Dim("M", 40, axis=0, tile=64),),
        memories=(
            MemorySpec("a", ("M",), "i32", "small", 9),
            MemorySpec("b", ("M",), "i32"),
        ),
        steps=(
            read("x", "a", "M"),
            step("apply", "y", "x", formula=("*", ("arg", 0), 1)),
            write("y", "b", "M"),
        ),
    )


def sources_of_two_orders():
    """A reduction of `[M, K]` and `[K, M]` failed while it was lowered."""
    return Program(
        seed=2,
        dims=(Dim("M", 20, axis=0, tile=8), Dim("K", 12)),
        memories=(
            MemorySpec("a", ("M", "K"), "f32", "small", 4),
            MemorySpec("b", ("K", "M"), "f32", "small", 4),
            MemorySpec("c", ("M",), "f32"),
        ),
        steps=(
            read("x", "a", "M", "K"),
            read("y", "b", "K", "M"),
            step("reduce", "r", "x", "y", combine="max", dim="K", sources=2, acc=None),
            write("r", "c", "M"),
        ),
    )


def chained_batch():
    """The batch dim of one product was contracted by the next: a crash."""
    return Program(
        seed=3,
        dims=(
            Dim("M", 20, axis=0, tile=16),
            Dim("N", 16, axis=1, tile=16),
            Dim("D", 2),
            Dim("E", 3),
            Dim("K", 8),
        ),
        memories=(
            MemorySpec("a", ("E", "D", "K"), "f16", "small", 2),
            MemorySpec("b", ("E", "M", "K"), "f16", "small", 2),
            MemorySpec("c", ("N", "D", "E"), "f16", "small", 2),
            MemorySpec("out", ("D", "N", "M"), "f32"),
        ),
        steps=(
            read("x", "a", "E", "D", "K"),
            read("y", "b", "E", "M", "K"),
            splat("z", "f32", 0.0, "E", "D", "M"),
            step("mma", "p", "x", "y", "z", instruction="F32_32x32x8_F16"),
            step("cast", "q", "p", dtype="f16"),
            read("w", "c", "N", "D", "E"),
            splat("v", "f32", 0.0, "D", "N", "M"),
            step("mma", "r", "w", "q", "v", instruction="F32_16x16x16_F16"),
            write("r", "out", "D", "N", "M"),
        ),
    )


def loop_from_tile(start, stride):
    """A loop that starts at tile 1, or takes every second one, took others."""
    return Program(
        seed=4,
        dims=(Dim("M", 20, axis=0, tile=16), Dim("K", 33, loop=4)),
        memories=(
            MemorySpec("a", ("M", "K"), "f32", "small", 4),
            MemorySpec("b", ("M", "K"), "f32"),
        ),
        steps=(
            Step(
                "iterate",
                (),
                (),
                (("axis", "K"), ("start", start), ("step", stride)),
                (read("x", "a", "M", "K"), write("x", "b", "M", "K")),
            ),
        ),
    )


def padded_buffer_in_a_loop():
    """Padding counted as room for further tiles: accesses out of bounds."""
    return Program(
        seed=5,
        dims=(Dim("M", 20, axis=0, tile=10), Dim("K", 16, loop=4)),
        memories=(
            MemorySpec("a", ("M", "K"), "f32", "small", 4),
            MemorySpec("b", ("M", "K"), "f32"),
        ),
        steps=(
            Step(
                "iterate",
                (),
                (),
                (("axis", "K"),),
                (
                    read("x", "a", "M", "K"),
                    step(
                        "allocate",
                        "lds",
                        shape=("M", "K"),
                        held=(10, 4),
                        padding=8,
                        dtype="f32",
                    ),
                    write("x", "lds", "M", "K"),
                    read("y", "lds", "M", "K"),
                    write("y", "b", "M", "K"),
                ),
            ),
        ),
    )


def exchange_to_a_deeper_instruction():
    """An operand that held 8 elements of K was read back as 16 from LDS."""
    return Program(
        seed=6,
        dims=(
            Dim("M", 16, axis=0, tile=32),
            Dim("N", 65, axis=1, tile=32, waves=2),
            Dim("D", 5),
            Dim("R", 18),
        ),
        memories=(
            MemorySpec("rows", ("D", "M"), "i32", "index", 18),
            MemorySpec("a", ("R", "D"), "f16", "small", 2),
            MemorySpec("b", ("D", "N"), "f16", "small", 1),
            MemorySpec("c", ("M", "N"), "f32"),
            MemorySpec("d", ("N", "M"), "f32"),
        ),
        steps=(
            read("i", "rows", "D", "M"),
            read("x", "a", "M", "D", mapping=(("dyn", 0), ("it", 1)), index=("i",)),
            read("y", "b", "D", "N"),
            splat("z", "f32", 0.0, "M", "N"),
            step("mma", "p", "x", "y", "z", instruction="F32_16x16x16_F16"),
            step("cast", "x2", "x", dtype="bf16"),
            step("cast", "y2", "y", dtype="bf16"),
            splat("z2", "f32", 1.0, "N", "M"),
            step("mma", "q", "y2", "x2", "z2", instruction="F32_32x32x8_F16"),
            write("p", "c", "M", "N"),
            write("q", "d", "N", "M"),
        ),
    )


def loop_in_a_branch_from_a_copied_read():
    """The copy of a read in another layout had no place where it was captured."""
    loop = Step(
        "iterate",
        ("s",),
        ("x",),
        (("axis", "L"),),
        (splat("o", "i8", 1, "N"),),
        ("p",),
        ("o",),
    )
    first = (("condition", ("<=", ("sym", "N"), 7)),)
    second = (("condition", (">", ("sym", "N"), 59)),)
    return Program(
        seed=7,
        dims=(
            Dim("M", 1, axis=0, tile=24),
            Dim("N", 64, axis=1, tile=4),
            Dim("L", 65, loop=20),
        ),
        memories=(
            MemorySpec("a", ("N",), "i8", "small", 4),
            MemorySpec("b", ("N", "M"), "i8"),
            MemorySpec("c", ("N",), "i32"),
        ),
        steps=(
            read("x", "a", "N"),
            Step("conditional", ("r",), ("x",), first, (loop,), (), ("s",)),
            step("cast", "u", "r", dtype="i32"),
            splat("v", "i8", 1, "M", "N"),
            Step(
                "conditional",
                ("w",),
                ("v",),
                second,
                (
                    step("broadcast", "y", "x", shape=("M", "N")),
                    write("y", "b", "M", "N"),
                ),
                (),
                ("y",),
            ),
            write("u", "c", "N"),
        ),
    )


def branch_by_element(dims, tile):
    """Lanes decided by their own element of the condition, and wrote another's."""
    return Program(
        seed=8,
        dims=(
            Dim("M", 33, axis=0, tile=32, waves=4),
            Dim("N", 63, axis=1, tile=tile, waves=2),
            Dim("D", 3),
        ),
        memories=(
            MemorySpec("a", dims, "i32", "small", 2),
            MemorySpec("b", ("D", "M", "N"), "i32"),
        ),
        steps=(
            read("x", "a", *dims),
            step("gt", "c", "x", number=0),
            splat("v", "i32", 1, "D", "N", "M"),
            Step(
                "conditional",
                (),
                (),
                (("register", "c"),),
                (write("v", "b", "D", "N", "M"),),
            ),
        ),
    )


def elements_of_8_bits():
    """Arguments of one narrow element type could not be simulated at all."""
    return Program(
        seed=9,
        dims=(Dim("M", 40, axis=0, tile=16),),
        memories=(
            MemorySpec("a", ("M",), "f8e5m2", "small", 3),
            MemorySpec("b", ("M",), "f8e5m2", strided=True),
        ),
        steps=(read("x", "a", "M"), write("x", "b", "M")),
    )


def waves_along_the_fourth_axis():
    """Two buffers of waves on axis 3 shared bytes with no barrier between them."""
    place = (("%", ("it", 1), ("sym", "T")), ("//", ("it", 1), ("sym", "T")))
    return Program(
        seed=20113,
        dims=(
            Dim("M", 5, axis=0, tile=32),
            Dim("N", 5, axis=1, tile=2),
            Dim("B", 100, axis=2, tile=8),
            Dim("H", 33, axis=3, tile=64, waves=2),
            Dim("D", 8),
            Dim("T", 4),
            Dim("U", 9),
        ),
        memories=(
            MemorySpec("a", ("T", "U", "B", "N"), "i64"),
            MemorySpec("b", ("B", "H", "N"), "f32"),
        ),
        steps=(
            splat("x", "bf16", 1.0, "D", "H"),
            splat("y", "bf16", 1.0, "N", "D"),
            splat("z", "f32", 0.0, "H", "N"),
            step("mma", "p", "x", "y", "z"),
            step("cast", "q", "p", dtype="i64"),
            step("broadcast", "r", "q", shape=("N", "H", "B")),
            write("r", "a", "N", "H", "B", mapping=(*place, ("it", 2), ("it", 0))),
            step("broadcast", "s", "p", shape=("B", "H", "N")),
            write("s", "b", "B", "H", "N", mapping=(("it", 0), ("it", 1), ("it", 2))),
        ),
    )


FOUND = {
    "elements-of-8-bits": elements_of_8_bits(),
    "branch-by-row": branch_by_element(("N",), 8),
    "branch-by-element": branch_by_element(("N", "M"), 4),
    "expression-of-one-symbol": expression_of_one_symbol(),
    "sources-of-two-orders": sources_of_two_orders(),
    "chained-batch": chained_batch(),
    "loop-from-tile-1": loop_from_tile(1, 1),
    "loop-over-every-second-tile": loop_from_tile(0, 2),
    "padded-buffer-in-a-loop": padded_buffer_in_a_loop(),
    "exchange-to-a-deeper-instruction": exchange_to_a_deeper_instruction(),
    "loop-in-a-branch": loop_in_a_branch_from_a_copied_read(),
}


def staged_product_while(extent):
    """The tile of a while loop was read whole, where a copy had left its end out."""
    body = (
        read("x", "a", "K", "M"),
        read("y", "b", "N", "K"),
        step("mma", "m", "x", "y", "p"),
    )
    walk = (("axis", "K"), ("while", True))
    return Program(
        seed=120044,
        dims=(
            Dim("M", 16, axis=0, tile=32),
            Dim("N", 32, axis=1, tile=32),
            Dim("K", extent, loop=32),
        ),
        memories=(
            MemorySpec("a", ("K", "M"), "f16", "small", 1),
            MemorySpec("b", ("N", "K"), "f16", "small", 1),
            MemorySpec("c", ("M", "N"), "f32"),
        ),
        steps=(
            splat("z", "f32", 0.0, "M", "N"),
            Step("iterate", ("r",), ("z",), walk, body, ("p",), ("m",)),
            write("r", "c", "M", "N"),
        ),
    )


def places_and_sums():
    """Lanes read LDS before others had written it: LLVM copied the read into branches.

    Both exchanges write where a lane holds an element, and read everywhere.
    """
    return Program(
        seed=80385,
        dims=(
            Dim("M", 7, axis=0, tile=1),
            Dim("K", 64, loop=32),
            Dim("D", 16),
            Dim("E", 2),
        ),
        memories=(
            MemorySpec("a", ("M", "D"), "i32"),
            MemorySpec("b", ("D", "M"), "i32"),
            MemorySpec("c", ("M", "D"), "i64"),
        ),
        steps=(
            splat("x", "i64", -1, "D", "E"),
            Step(
                "iterate",
                (),
                (),
                (("axis", "K"),),
                (splat("y", "i32", 1, "M", "D"), write("y", "a", "M", "D")),
            ),
            step("reduce", "s", "x", acc=1, combine="sum", dim="E", sources=1),
            step("sort", "p", "s", descending=True, dim="D", dtype="i32", shape=("D",)),
            step("broadcast", "q", "p", shape=("M", "D")),
            write("q", "b", "M", "D"),
            step("broadcast", "t", "s", shape=("M", "D")),
            write("t", "c", "M", "D"),
        ),
    )


def one_element_on_two_waves():
    """A load of LDS that a mask discards was a race, as LLVM loads before the mask."""
    return Program(
        seed=93021,
        dims=(Dim("M", 1, axis=0, tile=4, waves=2), Dim("S", 1)),
        memories=(
            MemorySpec("a", ("M",), "i32", "permutation", 1),
            MemorySpec("b", ("S",), "f32"),
        ),
        steps=(
            splat("x", "f32", 2.0, "M"),
            read("i", "a", "M"),
            write("x", "b", "M", index=("i",), mapping=(("dyn", 0),), elements=8),
        ),
    )


def operand_written_where_indices_say():
    """A product's operand took another order of K than the indices it is written by."""
    by_place = {"mapping": (("dyn", 0), ("it", 1)), "index": ("i",)}
    return Program(
        seed=13,
        dims=(Dim("M", 65, axis=0, tile=32), Dim("K", 129, loop=20), Dim("D", 5)),
        memories=(
            MemorySpec("a", ("K", "M"), "f16", "small", 4),
            MemorySpec("b", ("K", "D"), "f16", "small", 4),
            MemorySpec("place", ("K",), "i32", "permutation", 129),
            MemorySpec("moved", ("K", "M"), "f16"),
            MemorySpec("out", ("M", "D"), "f32"),
        ),
        steps=(
            splat("z", "f32", 0.0, "M", "D"),
            Step(
                "iterate",
                ("r",),
                ("z",),
                (("axis", "K"),),
                (
                    read("x", "a", "K", "M"),
                    read("y", "b", "K", "D"),
                    step("mma", "p", "x", "y", "c"),
                    read("i", "place", "K"),
                    write("x", "moved", "K", "M", **by_place),
                ),
                ("c",),
                ("p",),
            ),
            write("r", "out", "M", "D"),
        ),
    )


LAUNCHED = {
    "operand-written-where-indices-say": operand_written_where_indices_say(),
    "places-and-sums": places_and_sums(),
    "waves-along-the-fourth-axis": waves_along_the_fourth_axis(),
    "while-over-half-a-tile": staged_product_while(16),
    "while-over-tiles": staged_product_while(40),
}
"""Wrong with the passes that a launch adds."""
