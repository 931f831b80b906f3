"""Launches executed for their costs: all of a short one, a part of a long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_emulator_amdgcn.errors import StuckError
from wave_emulator_amdgcn.launch import LaunchOptions, LaunchResult, emulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_emulator_amdgcn.arrays import Array
    from wave_emulator_amdgcn.codeobject import CodeObject

_SHORT = 2_000_000
"""Wave-instructions of a launch that are worth executing: some seconds."""


def measured(
    code: CodeObject,
    make_buffers: Callable[[], Sequence[Array]],
    *,
    grid: tuple[int, int, int],
    kernel: str | None = None,
    constants: Sequence[int] = (),
) -> LaunchResult:
    """Execute the workgroup in the middle of the grid, or all where that is little.

    One in the middle has no edge, and of a triangle half the work. Where it waits for
    other workgroups, all are executed.

    Args:
        code: what `load` read.
        make_buffers: fresh arrays, one for each pointer argument.
        grid: workgroups per axis.
        kernel: which one; may be left out when there is only one.
        constants: 32-bit words, one for each by-value argument.

    Raises:
        EmulatorError: what execution raises.
    """

    def run(groups: range | None) -> LaunchResult:
        options = LaunchOptions(hazards=False, counters=True, groups=groups)
        return emulate(
            code, make_buffers(), grid=grid, kernel=kernel, constants=constants,
            options=options,
        )  # fmt: skip

    x, y, z = grid
    middle = x // 2 + x * (y // 2 + y * (z // 2))
    if x * y * z < 2:
        return run(None)
    try:
        one = run(range(middle, middle + 1))
    except StuckError:
        return run(None)
    return run(None) if one.instructions * x * y * z <= _SHORT else one
