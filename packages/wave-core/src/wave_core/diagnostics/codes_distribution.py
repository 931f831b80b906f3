"""WV03, second half: spreading the work over waves, lanes and loops."""

from __future__ import annotations

from wave_core.diagnostics.code import Code

DISTRIBUTION_CODES = (
    Code(
        "WV0309",
        "two uses want a value in different layouts",
        """
        Cause: each use says which lane should hold which element: a matrix
        instruction by its hardware, a read or write by its vector shape. Here two
        demands meet and the compiler may not move the data, because not all waves
        come along.

        Bad:
            @tkw.conditional(flag)
            def then():
                tkw.write(tkw.mma(acc1, b, acc2), c)      # acc1 laid out as a result

        Good:
            tkw.write(tkw.mma(acc1, b, acc2), c)          # outside the branch

        Fix: move one of them out of the branch, use a matrix instruction whose
        result is laid out like its operand, or drop one of the vector shapes.
        """,
    ),
    Code(
        "WV0310",
        "a vector shape does not fit",
        """
        Cause: `vector_shapes` says how much of a dimension a wave holds at a time.
        It is a number at compile time and divides the wave tile.

        Bad:
            HardwareConstraint(threads_per_wave=64, vector_shapes={M: 48})   # tile 64

        Good:
            HardwareConstraint(threads_per_wave=64, vector_shapes={M: 16})

        Fix: choose a divisor; 0 means that the dimension is not a vector dimension.
        """,
    ),
    Code(
        "WV0320",
        "the contracted dimension is split among waves",
        """
        Cause: `mma` sums over this dimension, and each wave would hold only its
        part of the sum.

        Bad:
            WaveConstraint(K, BLOCK_K / 2)
            acc = tkw.mma(a_reg, b_reg, acc)             # contracts K

        Good:
            TilingConstraint(K, BLOCK_K)

        Fix: remove the wave constraint of that dimension.
        """,
    ),
    Code(
        "WV0321",
        "a condition has several elements in a lane",
        """
        Cause: a lane takes a branch or does not. The condition is a tile, of which
        a lane holds several elements.

        Bad:
            @tkw.conditional(tkw.read(mask) != zero)       # [M]

        Good:
            any_set = tkw.max(tkw.read(mask), dim=M)
            @tkw.conditional(any_set != zero)

        Fix: reduce the condition, or use `select` for a choice by element.
        """,
    ),
    Code(
        "WV0322",
        "a whole tile enters a loop over one of its dimensions",
        """
        Cause: inside `iterate(K)` the dimension K means one tile of the loop.
        Outside it means all of K, so the value changes its extent on the way in.

        Bad:
            b_reg = tkw.read(b)                     # [N, K]
            @tkw.iterate(K, init_args=[acc])
            def loop(acc):
                return tkw.mma(tkw.read(a), b_reg, acc)

        Good:
            @tkw.iterate(K, init_args=[acc])
            def loop(acc):
                return tkw.mma(tkw.read(a), tkw.read(b), acc)

        Fix: read or compute the value inside the loop; what does not depend on the
        loop is hoisted by the compiler.
        """,
    ),
)
