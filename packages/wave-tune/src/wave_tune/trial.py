"""The process in which trials run: ``python -m wave_tune.trial``.

It reads the subject, then points, each a line of JSON, and answers each with a line. It
ends when the pipe does, or whoever started it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

from wave_core.diagnostics import WaveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_tune.points import Point

LOOK_S = 1.0
"""Seconds between two looks whether the caller still lives."""


def main() -> None:
    """Answer until there is nothing more to do."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # What compilers and kernels print is no answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)


def serve(questions: TextIO, answers: TextIO) -> None:
    """Measure each point that is asked for."""
    measure: Callable[[Point], dict[str, object]] | None = None
    first = questions.readline()
    for line in questions:
        try:
            measure = measure or _opened(first)
            found = _measured(measure, line)
        except WaveError as error:
            found = {"reason": f"{error.code}: {error.diagnostics[0].message}"}
        except Exception as error:  # noqa: BLE001 - a user's file may fail in any way
            found = {"reason": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


def _measured(
    measure: Callable[[Point], dict[str, object]], line: str
) -> dict[str, object]:
    from wave_tune.points import Point  # noqa: PLC0415 - the compiler comes with it

    return measure(Point.of_text(line))


def _opened(text: str) -> Callable[[Point], dict[str, object]]:
    """What measures points of a subject."""
    from wave_core.compile.session import Session  # noqa: PLC0415 - as above
    from wave_tune.measure import meter_for  # noqa: PLC0415 - as above
    from wave_tune.subject import Subject  # noqa: PLC0415 - as above

    session = Session(announce=lambda told: print(told, file=sys.stderr))  # noqa: T201 - for the caller's file
    case = Subject.of_text(text).case(session)
    meter = meter_for(session, case.options.target_name)

    def measure(point: Point) -> dict[str, object]:
        return asdict(meter.measure(case, point.applied(case.options)))

    return measure


def _end_with(caller: int) -> None:
    """End where the caller has ended, also within a trial that hangs."""
    pause = threading.Event()
    while os.getppid() == caller:
        pause.wait(LOOK_S)
    os._exit(1)


if __name__ == "__main__":
    main()
