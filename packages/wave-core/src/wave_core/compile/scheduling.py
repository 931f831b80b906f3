"""The names of scheduling strategies, and schedules that authors wrote.

The scheduling package gives both their meaning.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from wave_core.diagnostics import capture_location, user_error
from wave_core.passes.manual import ManualSchedule

if TYPE_CHECKING:
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions


class SchedulingType(Enum):
    """How loops are pipelined. Only ``NONE`` needs no scheduling package."""

    NONE = "none"
    MODULO = "modulo"
    PREFETCH = "prefetch"
    FOUR_STAGE = "four-stage"
    PREFETCH_ATTENTION = "prefetch-attention"
    MANUAL = "manual"

    def __str__(self) -> str:
        """The word used in text."""
        return self.value

    @classmethod
    def named(cls, given: object) -> object:
        """The strategy whose name or word is ``given``; else that, a plugin's name."""
        return next((each for each in cls if given in (each.value, each.name)), given)


def with_schedule(kernel: LaunchableWave, schedule: object) -> LaunchableWave:
    """The kernel with a schedule; as it is where none is given.

    Raises:
        UserError: WV0512 for what is no schedule.
    """
    if schedule is None:
        return kernel
    if isinstance(schedule, ManualSchedule):
        return kernel.scheduled(schedule)
    raise user_error(
        "WV0512",
        f"`wave_compile` got a {type(schedule).__name__} for a schedule",
        at=capture_location(),
        help="write `wave_compile(options, kernel, schedule)`; decorate the schedule's"
        " function with `@wave_schedule()`",
    )


def check_schedule(
    options: WaveCompileOptions, schedule: ManualSchedule | None
) -> None:
    """Refuse a schedule that the options do not ask for.

    Raises:
        UserError: WV0512.
    """
    if schedule is not None and options.schedule is not SchedulingType.MANUAL:
        raise user_error(
            "WV0512",
            f"schedule `{schedule.name}` is given, and the options say"
            f" `schedule={options.schedule}`",
            at=options.location,
            label="these options",
            secondary=((schedule.location, "the schedule"),),
            help="write `schedule=SchedulingType.MANUAL`, or leave the schedule out",
        )
