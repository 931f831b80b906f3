"""The ``wave_schedule`` decorator."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Location, capture_location, user_error
from wave_core.lang.schedules.record import Recorder, activate
from wave_core.passes.manual import ManualSchedule

if TYPE_CHECKING:
    from collections.abc import Callable


class _Decorator:
    """``wave_schedule``: bare, called, or as an attribute of itself."""

    __slots__ = ()

    def __call__(self, function: Callable[[], None] | None = None) -> Any:
        """Record the decorated function; its name stands for the schedule.

        ``@wave_schedule`` and ``@wave_schedule()`` do the same. The function takes no
        arguments and runs once, now; what depends on sizes goes into a function
        around it.

        Raises:
            UserError: WV0511 for what cannot be recorded, WV0513 for stages that do
                not fit each other.
        """
        return self if function is None else _record(function)

    @property
    def wave_schedule(self) -> _Decorator:
        """The decorator itself, as ``wave_schedule.wave_schedule``."""
        return self


wave_schedule = _Decorator()


def _record(function: Any) -> ManualSchedule:
    if not inspect.isfunction(function) or inspect.signature(function).parameters:
        name = getattr(function, "__name__", type(function).__name__)
        raise user_error(
            "WV0511",
            f"`wave_schedule` decorates a function of no arguments, not `{name}`",
            at=capture_location(),
            help="write `@wave_schedule()` above `def schedule():`",
        )
    book = Recorder()
    done = activate(book)
    try:
        function()
    finally:
        done()
    where = Location.of_function(function)
    for place in book.open.values():
        raise user_error(
            "WV0513",
            "the pipeline has no stages",
            at=place,
            label="never opened",
            help="write `with pipeline(loop) as p:`, and `p.set_stage([...])` in it",
        )
    return ManualSchedule(function.__name__, tuple(book.steps), where)
