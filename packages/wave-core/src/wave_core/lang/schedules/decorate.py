"""The ``wave_schedule`` decorator."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Location, capture_location, user_error
from wave_core.lang.schedules.record import NodesAreCounted, Recorder, activate
from wave_core.passes.manual import ManualSchedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.passes.manual import Carrier, Step


class _Decorator:
    """``wave_schedule``: bare, called, or as an attribute of itself."""

    __slots__ = ()

    def __call__(self, function: Callable[[], None] | None = None) -> Any:
        """Record the decorated function; its name stands for the schedule.

        ``@wave_schedule`` and ``@wave_schedule()`` do the same. The function takes no
        arguments and runs once, now; what depends on sizes goes into a function
        around it. One that counts nodes runs again whenever a kernel is compiled with
        it.

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
    name, where = function.__name__, Location.of_function(function)
    try:
        steps = _run(function, Recorder())
    except NodesAreCounted:
        return ManualSchedule(name, (), where, Replay(function))
    return ManualSchedule(name, tuple(steps), where)


@dataclass(frozen=True)
class Replay:
    """Runs a schedule's function on a kernel, step by step as it asks for them."""

    function: Callable[[], None]

    def __call__(self, carrier: Carrier) -> None:
        """Run the function."""
        _run(self.function, Recorder(carrier))

    def __reduce__(self) -> tuple[object, ...]:
        """The schedule by its name in its module, which is imported where it is read.

        Raises:
            UserError: WV0117 where the name means something else.
        """
        place = self.function.__module__, self.function.__qualname__
        if "<locals>" not in place[1] and replay_of(*place) == self:
            return replay_of, place
        raise user_error(
            "WV0117",
            f"schedule `{self.function.__name__}` cannot be pickled: it counts nodes, "
            f"and `{'.'.join(place)}` is not this schedule",
            at=Location.of_function(self.function),
            help="define it at the top of a module, under the name of its function",
        )


def replay_of(module: str, name: str) -> object:
    """That of the schedule which a module has under a name."""
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found.replay if isinstance(found, ManualSchedule) else None


def _run(function: Callable[[], None], book: Recorder) -> list[Step]:
    """The steps that the function asks for."""
    done = activate(book)
    try:
        function()
    finally:
        done()
    for place in book.open.values():
        raise user_error(
            "WV0513",
            "the pipeline has no stages",
            at=place,
            label="never opened",
            help="write `with pipeline(loop) as p:`, and `p.set_stage([...])` in it",
        )
    return book.steps
