"""WV03, first half: the constraints of a kernel."""

from __future__ import annotations

from wave_core.diagnostics.code import Code

CONSTRAINT_CODES = (
    Code(
        "WV0301",
        "a symbol has no value",
        """
        Cause: something must be a number at compile time, such as the number of
        threads, and depends on a symbol that the options do not bind.

        Bad:
            WaveCompileOptions(subs={M: 512, N: 512})          # BLOCK_M is missing

        Good:
            WaveCompileOptions(subs={M: 512, N: 512, BLOCK_M: 64})

        Fix: bind the symbol in `subs`. Only problem sizes can be left open until
        the launch, as dynamic symbols.
        """,
    ),
    Code(
        "WV0302",
        "a dimension has no size at compile time",
        """
        Cause: a dimension without a constraint is held whole by every wave. That
        takes a number, and this one is known only at the launch.

        Bad:
            constraints = [WorkgroupConstraint(M, BLOCK_M, 0)]
            WaveCompileOptions(dynamic_symbols=[M, N])         # N is in no constraint

        Good:
            constraints += [WorkgroupConstraint(N, BLOCK_N, 1)]

        Fix: distribute the dimension over workgroups or a loop, or bind its size.
        """,
    ),
    Code(
        "WV0303",
        "a wave tile does not divide its workgroup tile",
        """
        Cause: the waves of a workgroup share its tile in equal parts.

        Bad:
            WorkgroupConstraint(M, 96, 0)
            WaveConstraint(M, 64)                    # one wave and a half

        Good:
            WorkgroupConstraint(M, 96, 0)
            WaveConstraint(M, 48)

        Fix: choose a wave tile that divides, such as `BLOCK_M / 2`.
        """,
    ),
    Code(
        "WV0304",
        "a wave tile exceeds its workgroup tile",
        """
        Cause: a wave works on a part of what its workgroup works on.

        Bad:
            WorkgroupConstraint(M, 32, 0)
            WaveConstraint(M, 64)

        Good:
            WorkgroupConstraint(M, 64, 0)
            WaveConstraint(M, 32)

        Fix: enlarge the workgroup tile or shrink the wave tile.
        """,
    ),
    Code(
        "WV0305",
        "a dimension is split among waves but not among workgroups",
        """
        Cause: a `WaveConstraint` divides the tile that a `WorkgroupConstraint`
        makes.

        Bad:
            constraints = [WaveConstraint(N, BLOCK_N / 2)]

        Good:
            constraints = [
                WorkgroupConstraint(N, BLOCK_N, 1),
                WaveConstraint(N, BLOCK_N / 2),
            ]

        Fix: add the workgroup constraint. To keep the dimension in one workgroup,
        let its tile be the whole dimension.
        """,
    ),
    Code(
        "WV0306",
        "workgroup axes are not assigned one to one",
        """
        Cause: each axis of the grid that is used has exactly one primary constraint,
        which says how many workgroups it has. An axis that is left out has one.

        Bad:
            WorkgroupConstraint(M, BLOCK_M, 0)
            WorkgroupConstraint(N, BLOCK_N, 0)

        Good:
            WorkgroupConstraint(M, BLOCK_M, 0)
            WorkgroupConstraint(N, BLOCK_N, 1)

        Fix: give each dimension an axis of its own. Where two share one on purpose,
        mark all but one of them `primary=False`.
        """,
    ),
    Code(
        "WV0307",
        "a kernel needs exactly one hardware constraint",
        """
        Cause: `HardwareConstraint` says how many lanes a wave has and which matrix
        instruction to use. Without it nothing can be distributed; two contradict.

        Bad:
            constraints = [WorkgroupConstraint(M, BLOCK_M, 0)]

        Good:
            constraints = [
                WorkgroupConstraint(M, BLOCK_M, 0),
                HardwareConstraint(threads_per_wave=64),
            ]

        Fix: keep one.
        """,
    ),
    Code(
        "WV0308",
        "a tile is not a whole number",
        """
        Cause: tiles are counted in elements. The expression is not an integer
        expression of symbols, or a division in it leaves a remainder.

        Bad:
            WaveConstraint(M, BLOCK_M / 3)             # with BLOCK_M = 64

        Good:
            WaveConstraint(M, BLOCK_M / 2)

        Fix: bind symbols that divide evenly.
        """,
    ),
    Code(
        "WV0311",
        "a loop runs over a dimension without a tiling constraint",
        """
        Cause: `iterate(K)` takes a step of one tile of K each time; a
        `TilingConstraint` says how long that is.

        Bad:
            @tkw.iterate(K, init_args=[acc])          # no TilingConstraint(K, ...)

        Good:
            constraints += [tkw.TilingConstraint(K, BLOCK_K)]

        Fix: add the constraint, or name the dimension that has one.
        """,
    ),
    Code(
        "WV0314",
        "a constraint names a dimension that no value has",
        """
        Cause: a constraint distributes a dimension of the kernel's memories. This
        symbol occurs in none, often for a slip of the pen.

        Bad:
            WorkgroupConstraint(BLOCK_M, M, 0)

        Good:
            WorkgroupConstraint(M, BLOCK_M, 0)

        Fix: the dimension comes first, then its tile.
        """,
    ),
    Code(
        "WV0316",
        "a tile is empty or too large",
        """
        Cause: a tile holds at least one element, and fewer than 2**31.

        Bad:
            subs={BLOCK_M: 0}

        Good:
            subs={BLOCK_M: 64}

        Fix: bind the symbols of the tile to positive numbers.
        """,
    ),
    Code(
        "WV0317",
        "a workgroup has more threads than the target allows",
        """
        Cause: threads = lanes of a wave x waves of all wave constraints, and the
        hardware has a limit.

        Bad:
            WorkgroupConstraint(M, 512, 0); WaveConstraint(M, 16)     # 32 waves of 64

        Good:
            WorkgroupConstraint(M, 128, 0); WaveConstraint(M, 16)     # 8 waves of 64

        Fix: enlarge the wave tiles or shrink the workgroup tiles.
        """,
    ),
    Code(
        "WV0318",
        "the wave size is not that of the target",
        """
        Cause: the number of lanes of a wave is a fact of the hardware.

        Bad:
            HardwareConstraint(threads_per_wave=32)        # target gfx942 has 64

        Good:
            HardwareConstraint(threads_per_wave=64)

        Fix: use the target's wave size; matrix instructions differ with it.
        """,
    ),
    Code(
        "WV0319",
        "there are too many device dimensions",
        """
        Cause: a kernel is spread over devices along three axes at most.

        Bad:
            DeviceConstraint(B, 1, 3)

        Good:
            DeviceConstraint(B, 1, 0)

        Fix: fold dimensions together, or spread fewer of them.
        """,
    ),
    Code(
        "WV0323",
        "a dimension has two constraints of one kind",
        """
        Cause: a dimension has one workgroup tile, one wave tile and one loop tile.

        Bad:
            WorkgroupConstraint(M, 64, 0)
            WorkgroupConstraint(M, 128, 1)

        Good:
            WorkgroupConstraint(M, 64, 0)

        Fix: keep one of the two.
        """,
    ),
    Code(
        "WV0324",
        "a reordering does not permute the grid",
        """
        Cause: `ReorderingConstraint` says on which tile a workgroup works. If two
        workgroups get the same tile, another tile is never worked on.

        Bad:
            ReorderingConstraint(WORKGROUP_0 // 2, 0)

        Good:
            ReorderingConstraint(COUNT - 1 - WORKGROUP_0, 0)

        Fix: use an expression that takes every coordinate of the grid once.
        """,
    ),
    Code(
        "WV0325",
        "the waves of a workgroup do not match its wave tiles",
        """
        Cause: `waves_per_block`, or another wave constraint on the same axis, gives
        the workgroup more or fewer waves than its tile is cut for. Some elements
        would belong to no wave, or to two.

        Bad:
            HardwareConstraint(threads_per_wave=64, waves_per_block=(1,))
            WorkgroupConstraint(M, 64, 0); WaveConstraint(M, 32)    # two waves

        Good:
            HardwareConstraint(threads_per_wave=64)
            WorkgroupConstraint(M, 64, 0); WaveConstraint(M, 32)

        Fix: leave `waves_per_block` out, or make the wave tile fit it.
        """,
    ),
    Code(
        "WV0326",
        "nobody handles a constraint",
        """
        Cause: the class of the constraint is not one that the compiler understands,
        and no installed plugin says what it stands for. It would be ignored.

        Bad:
            @wave([Interleaved(N), HardwareConstraint()])   # its plugin is missing

        Good:
            python -m pip install wave-example-pass

        Fix: install or enable the plugin that brings the constraint. A plugin
        registers the class with `wave_register_constraints`, and its `stands_for`
        gives built-in constraints.
        """,
    ),
    Code(
        "WV0327",
        "a constraint has a value that means nothing",
        """
        Cause: an axis, a count, a flag or a function of a constraint is of another
        type or out of the range that the message names.

        Bad:
            WorkgroupConstraint(M, BLOCK_M, -1)
            HardwareConstraint(waves_per_block=0)

        Good:
            WorkgroupConstraint(M, BLOCK_M, 0)
            HardwareConstraint(waves_per_block=(2, 2))

        Fix: give the constraint what the message asks for, or leave it out.
        """,
    ),
)
