"""Schedules with fewer registers, where machine code needs more than there are.

A scheduler estimates how many registers a loop takes; the compiler of the backend
knows. What it spills is left free when the loop is scheduled again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from wave_core.diagnostics import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.compile.options import WaveCompileOptions

T = TypeVar("T")


def with_room(
    options: WaveCompileOptions, compiled: Callable[[WaveCompileOptions], T]
) -> T:
    """What ``compiled`` makes of the options, or of those that `roomier` finds.

    That ends: a loop whose schedule leaves enough registers free has no stages, and
    what it spills then is not said to depend on its schedule.

    Raises:
        UserError: as ``compiled``.
    """
    while True:
        try:
            return compiled(options)
        except UserError as error:
            other = roomier(options, error)
            if other is None:
                raise
        options = other


def roomier(options: WaveCompileOptions, error: UserError) -> WaveCompileOptions | None:
    """The options with as many registers left free as machine code spills.

    Returns:
        Nothing where ``error`` is about something else.
    """
    spilled = spilled_in(error)
    if not spilled:
        return None
    # What was left free already was too little: steps grow, so that few are taken.
    spare = 2 * options.spare_registers + spilled
    return replace(options, spare_registers=spare)


def spilled_in(error: UserError) -> int:
    """Registers that machine code spills, which ``error`` is about; else none."""
    rows = [row.data.get("spilled") for row in error.diagnostics]
    return max((n for n in rows if isinstance(n, int)), default=0)
