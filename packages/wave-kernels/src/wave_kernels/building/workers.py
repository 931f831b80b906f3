"""Work in processes of its own: each piece has a time limit, and may crash.

A code generator is a native library: what it makes of a bad program can end the process
that asked. Then that piece of work failed, and the next has a new process.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import Any

LONGEST_WAIT_S = 3600.0
_PATIENCE_S = 5.0
"""How long a process has to end by itself."""

Arguments = Sequence[str | int | float]


@dataclass(frozen=True)
class Outcome:
    """What became of one piece of work.

    Attributes:
        number: Of the piece, in the order they were given.
        result: What the function gave.
        problem: Why there is no result; empty where there is one.
        seconds: How long it took.
    """

    number: int
    result: Any
    problem: str
    seconds: float


@dataclass
class _Worker:
    """A process and the work it has."""

    process: Any
    connection: Connection
    number: int | None = None
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, work: str) -> _Worker:
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=serve, args=(theirs, work), daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours)

    def give(self, number: int, arguments: Arguments) -> None:
        self.number, self.started = number, time.monotonic()
        try:
            self.connection.send_bytes(json.dumps(list(arguments)).encode())
        except OSError:
            # It ended before: `take` says so.
            return

    def take(self, limit_s: float) -> Outcome | None:
        """The outcome of its work, where there is one by now."""
        assert self.number is not None, "only those at work are asked"
        seconds = time.monotonic() - self.started
        try:
            if self.connection.poll():
                result, problem = json.loads(self.connection.recv_bytes())
                return Outcome(self.number, result, problem, seconds)
        except (EOFError, OSError):
            self.process.join(_PATIENCE_S)
            code = self.process.exitcode
            problem = f"its process ended with {code}"
            return Outcome(self.number, None, problem, seconds)
        if seconds > limit_s:
            return Outcome(self.number, None, f"not done in {limit_s:g} s", seconds)
        return None

    def stop(self) -> None:
        """End the process: it may tidy up, unless it is at work."""
        self.connection.close()
        if self.number is None:
            self.process.join(_PATIENCE_S)
        self.process.kill()
        self.process.join(_PATIENCE_S)


def outcomes(
    work: str, pieces: Sequence[Arguments], processes: int, limit_s: float
) -> Iterator[Outcome]:
    """The outcomes of a function for each of its arguments, as they come.

    Args:
        work: The function as ``module:name``; its arguments and result are JSON.
        pieces: Its arguments, for each call.
        processes: How many calls go on at once.
        limit_s: Seconds that a call may take.
    """
    left = list(enumerate(pieces))[::-1]
    workers: list[_Worker] = []
    try:
        while left or workers:
            while left and len(workers) < processes:
                workers.append(_Worker.start(work))
                workers[-1].give(*left.pop())
            _wait(workers, limit_s)
            for worker in tuple(workers):
                outcome = worker.take(limit_s)
                if outcome is None:
                    continue
                yield outcome
                _go_on(worker, workers, outcome, left)
    finally:
        for worker in workers:
            worker.stop()


def _go_on(
    worker: _Worker,
    workers: list[_Worker],
    outcome: Outcome,
    left: list[tuple[int, Arguments]],
) -> None:
    """Give a worker the next piece; one that failed is not trusted with it."""
    if left and not outcome.problem:
        worker.give(*left.pop())
        return
    if not outcome.problem:
        worker.number = None
    worker.stop()
    workers.remove(worker)


def _wait(workers: Sequence[_Worker], limit_s: float) -> None:
    """Until something comes, or the first of the workers is out of time."""
    now = time.monotonic()
    ends = (worker.started + limit_s - now for worker in workers)
    timeout = min(max(0.0, min(ends)) + 0.01, LONGEST_WAIT_S)
    wait([worker.connection for worker in workers], timeout)


def serve(connection: Connection, work: str) -> None:
    """What a process does: calls until nobody asks any more."""
    module, _, name = work.partition(":")
    function = getattr(import_module(module), name)
    while True:
        try:
            arguments = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            found = [function(*arguments), ""]
        except Exception as error:  # noqa: BLE001 - it is told, whatever it is
            found = [None, str(error) or type(error).__name__]
        connection.send_bytes(json.dumps(found).encode())
