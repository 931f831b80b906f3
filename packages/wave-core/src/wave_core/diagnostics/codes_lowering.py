"""WV06: lowering to a backend, and checking what it made."""

from __future__ import annotations

from wave_core.diagnostics.code import Code

LOWERING_CODES = (
    Code(
        "WV0601",
        "a backend has no lowering of an op",
        """
        Cause: no rule of the backend matches the op with these types on this
        target, or nothing says how the op is cut into pieces for the lanes.

        Bad:
            tkw.scatter_add(x, i, M, buffer, mapping)     # on a backend without it

        Good:
            tkw.atomic_add(x, memory)

        Fix: use an op that the backend's table lists, another target, or install a
        plugin that lowers it.
        """,
    ),
    Code(
        "WV0602",
        "a backend or an executor lacks a fact about the IR",
        """
        Cause: it needs the graph in a certain state, such as `expanded`, and the
        pipeline ended before a pass brought it there.

        Bad:
            wave run kernel.py --disable expand

        Good:
            wave run kernel.py

        Fix: enable the pass that provides the fact; `wave pipeline` shows which.
        """,
    ),
    Code(
        "WV0603",
        "a result cannot be verified",
        """
        Cause: a check was asked for that has nothing to compare with: no reference,
        no simulator for an op, or no tolerance for an element type.

        Bad:
            wave run kernel.py --verify         # the kernel has no reference

        Good:
            give the kernel's case a `reference` written in numpy

        Fix: add the reference, or run without the check.
        """,
    ),
    Code(
        "WV0604",
        "the code generator of the backend refused the kernel",
        """
        Cause: a tool below Wave, such as the assembler or the LLVM code generator,
        reported an error. Too many registers is the usual one.

        Bad:
            WaveConstraint(M, 256); WaveConstraint(N, 256)    # 1024 registers a lane

        Good:
            WaveConstraint(M, 64); WaveConstraint(N, 64)

        Fix: the notes hold the tool's message. Smaller wave tiles need fewer
        registers.
        """,
    ),
    Code(
        "WV0605",
        "a kernel needs more than the chip has: LDS, registers, or workgroups",
        """
        Cause: the buffers of a workgroup, the values that live across a loop or a
        barrier, or the workgroups of the grid do not fit the target.

        Bad:
            WaveConstraint(M, 256); WaveConstraint(N, 256)    # 1024 registers a lane

        Good:
            WaveConstraint(M, 64); WaveConstraint(N, 64)

        Fix: use smaller tiles, more waves, or fewer buffers; the message names the
        largest buffers and values.
        """,
    ),
)
