"""Trials in a process of their own, with a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Self

from wave_tune.measure import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_tune.points import Point
    from wave_tune.subject import Subject

COMMAND = (sys.executable, "-m", "wave_tune.trial")

LAST_WORDS = 300
"""Characters of what a process printed last that explain its end."""


class TrialFailed(Exception):  # noqa: N818 - an outcome, not a mistake
    """A trial that has no result, and why."""


class TrialProcess:
    """Measures points in a process that is started anew after it was lost.

    Args:
        subject: The kernel.
        limit_s: Seconds that a trial may take; the first may take `START_S` more.
        command: The program.
    """

    START_S = 30.0

    def __init__(
        self, subject: Subject, limit_s: float, command: Sequence[str] = COMMAND
    ) -> None:
        """Nothing is started yet."""
        self._subject, self._limit_s = subject, limit_s
        self._command = tuple(command)
        self._process: subprocess.Popen[str] | None = None
        self._printed: IO[bytes] | None = None
        self._told: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """The process starts with the first trial."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the process."""
        self._end()

    def measure(self, point: Point) -> Measured:
        """How long a point takes.

        Raises:
            TrialFailed: where it is refused, takes too long, or ends the process.
        """
        fresh = self._process is None
        process = self._process or self._start()
        limit_s = self._limit_s + (self.START_S if fresh else 0.0)
        answer = self._answer(process, point, limit_s)
        if "reason" in answer:
            raise TrialFailed(str(answer["reason"]))
        return Measured(**answer)

    def _start(self) -> subprocess.Popen[str]:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            text=True,
            encoding="utf-8",
            # Interrupts at the keyboard are for the tuner; its end ends this one.
            start_new_session=True,
        )
        return self._process

    def _answer(
        self, process: subprocess.Popen[str], point: Point, limit_s: float
    ) -> dict[str, Any]:
        """The answer of the process.

        Raises:
            TrialFailed: where there is none.
        """
        found: list[str] = []
        reader = threading.Thread(
            target=lambda: found.append(self._asked(process, point)), daemon=True
        )
        reader.start()
        reader.join(limit_s)
        if reader.is_alive():
            self._end()
            reader.join()
            raise TrialFailed(f"took longer than {limit_s:g} s")
        try:
            answer: dict[str, Any] = json.loads(found[0])
        except ValueError:
            raise TrialFailed(self._lost(process)) from None
        return answer

    def _asked(self, process: subprocess.Popen[str], point: Point) -> str:
        """The line that answers; empty where the process is gone."""
        asked, answers = process.stdin, process.stdout
        assert asked is not None, "it has pipes"
        assert answers is not None, "it has pipes"
        try:
            first, self._told = process is not self._told, process
            asked.write(f"{self._subject.text()}\n" if first else "")
            asked.write(point.text() + "\n")
            asked.flush()
            return answers.readline()
        except (OSError, ValueError):
            return ""

    def _lost(self, process: subprocess.Popen[str]) -> str:
        """How a process ended that gave no answer."""
        said = self._last_words()
        self._end()
        code = process.returncode
        how = f"signal {-code}" if code < 0 else f"status {code}"
        return f"its process ended with {how}" + (f": {said}" if said else "")

    def _last_words(self) -> str:
        if self._printed is None:
            return ""
        self._printed.seek(0)
        text = self._printed.read().decode(errors="replace").strip()
        return " ".join(text[-LAST_WORDS:].split())

    def _end(self) -> None:
        """End the process, and what it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            # What was not written any more goes with the process.
            with suppress(OSError):
                assert pipe is not None, "it has pipes"
                pipe.close()
        if self._printed is not None:
            self._printed.close()
            self._printed = None


def _kill(process: subprocess.Popen[str]) -> None:
    """End the process, and on POSIX systems those that it has started."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
