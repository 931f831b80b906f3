"""A schedule written by hand, as data: the steps that its author asked for.

The language records them, a scheduling package carries them out. A step refers to
what earlier steps gave by their numbers; everything else in it is plain.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.diagnostics import Location


@dataclass(frozen=True, slots=True)
class Ref:
    """The result of step ``number`` of the schedule; steps count from 0."""

    number: int


Plain: TypeAlias = "bool | int | str | Ref | tuple[Plain, ...] | None"
"""Types of a step's arguments."""


@dataclass(frozen=True)
class Step:
    """One thing that a schedule asks for.

    Attributes:
        name: What it is: ``tagged``, ``pipeline``, ``insert``, ...
        arguments: What it works on, in the order that its kind declares: values of
            `Plain`, which the function that recorded the step has checked.
        location: The line of the schedule; it plays no part in equality.
    """

    name: str
    arguments: tuple[Any, ...]
    location: Location | None = field(default=None, compare=False)


class Carrier(Protocol):
    """Carries out steps one by one, and says how many nodes one has found."""

    def carry_out(self, step: Step) -> None:
        """Carry out the next step."""
        ...

    def count(self, ref: Ref) -> int:
        """How many nodes a step has found."""
        ...


@dataclass(frozen=True)
class ManualSchedule:
    """The schedule of a kernel, written by its author. Immutable.

    Two are equal where they ask for the same, whatever their names and lines. One that
    counts nodes is run again for each kernel, and equal to others of its function.

    Attributes:
        name: That of the function it was recorded from.
        steps: In the order in which they are carried out.
        location: Where the function stands.
        replay: Runs the function again, its steps carried out as they are asked for;
            ``None`` where the steps are known.
    """

    name: str = field(compare=False)
    steps: tuple[Step, ...]
    location: Location | None = field(default=None, compare=False)
    replay: Callable[[Carrier], None] | None = None

    def run(self, carrier: Carrier) -> None:
        """Carry out all steps."""
        if self.replay is not None:
            self.replay(carrier)
        for step in self.steps:
            carrier.carry_out(step)

    def digest(self) -> str:
        """SHA-256 of the steps, equal in every process.

        Another one each time where they depend on the kernel.
        """
        if self.replay is not None:
            return os.urandom(32).hex()
        import hashlib  # noqa: PLC0415 - takes longer to load than this module

        rows = [(step.name, _json(step.arguments)) for step in self.steps]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _json(value: Plain) -> object:
    if isinstance(value, Ref):
        return {"ref": value.number}
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    return value
