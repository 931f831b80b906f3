"""How far a study is: what was measured, what failed, what others are at."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from optuna import Study
    from optuna.trial import FrozenTrial

    from wave_tune.points import Space

REASON = "reason"
"""The attribute of a trial that says why it failed."""

MOST_LOST = 2
"""How often a trial may vanish with its process before it is left alone."""


LOOK_S, LOOKS = 0.05, 20
"""Seconds between looks at trials that begin, and how many of them."""


@dataclass(frozen=True)
class Progress:
    """The state of a study, over the points of a space.

    Attributes:
        measured: Times, by the text of a point.
        failed: Why others could not be measured.
        running: The points that somebody is at.
    """

    measured: Mapping[str, float]
    failed: Mapping[str, str]
    running: frozenset[str]

    @classmethod
    def of(cls, study: Study, space: Space) -> Self:
        """The state now."""
        measured: dict[str, float] = {}
        failed: dict[str, str] = {}
        running: set[str] = set()
        lost: Counter[str] = Counter()
        for trial in study.get_trials(deepcopy=False):
            found = space.find(trial.params)
            if found is None:
                continue
            text, state = found.point.text(), trial.state.name
            if state == "COMPLETE" and trial.value is not None:
                measured[text] = trial.value
            elif state == "RUNNING":
                running.add(text)
            elif state == "FAIL":
                reason = str(trial.user_attrs.get(REASON, ""))
                lost[text] += not reason
                if reason or lost[text] >= MOST_LOST:
                    failed[text] = reason or "its process ended, twice"
        return cls(measured, failed, frozenset(running))

    @property
    def taken(self) -> frozenset[str]:
        """The points that need no measurement any more."""
        return frozenset({*self.measured, *self.failed, *self.running})

    @property
    def done(self) -> int:
        """How many trials came to an end."""
        return len(self.measured) + len(self.failed)


def is_taken(study: Study, number: int) -> bool:
    """Whether an earlier trial of the same point is under way or came to an end.

    Of two workers that choose the same point at a time, the one with the later number
    gives way. An earlier trial that has not told its point yet is about to.

    Args:
        study: The study.
        number: Of a trial whose parameters the study knows.
    """
    looks = 0
    while True:
        *earlier, own = study.get_trials(deepcopy=False)[: number + 1]
        running = [row for row in earlier if row.state.name == "RUNNING"]
        told = all(len(row.params) == len(own.params) for row in running)
        if told or looks == LOOKS:
            return any(row.params == own.params and _counts(row) for row in earlier)
        looks += 1
        time.sleep(LOOK_S)


def _counts(trial: FrozenTrial) -> bool:
    """Whether a trial measures its point, or has, or knows that it cannot be."""
    state = trial.state.name
    return state in {"COMPLETE", "RUNNING"} or bool(trial.user_attrs.get(REASON))
