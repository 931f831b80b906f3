"""Results of the steps of a schedule while it is carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.passes.manual import Step


@dataclass(eq=False)
class Selection:
    """Ops that a step found; where a loop is rebuilt, its copies stand for an op.

    Attributes:
        ops: In the order of the step.
        step: Which step, for messages.
        excused: Whether there may be none: they would be in a loop that is not there.
    """

    ops: list[Op]
    step: Step
    excused: bool = False


@dataclass(eq=False)
class Cluster:
    """Ops in an order, new ones among them.

    Attributes:
        parts: Selections, and ops that are in no graph yet.
        step: Which step, for messages.
    """

    parts: list[Selection | Op]
    step: Step


@dataclass(eq=False)
class Stage:
    """The operations at each place of a stage."""

    places: tuple[tuple[Selection, ...], ...]
    step: Step


@dataclass(eq=False)
class Place:
    """A part of a pipelined loop.

    Attributes:
        name: ``kernel``, ``prologue`` or ``epilogue``.
        loop: The loop that is left, first of its copies; empty if there is none.
        ops: What stands in the prologue or epilogue.
        missing: Whether the loop was not pipelined, so that nothing is there.
    """

    name: str
    loop: list[Op]
    ops: list[Op] = field(default_factory=list["Op"])
    missing: bool = False


@dataclass(eq=False)
class Pipelined:
    """The parts of a rebuilt loop, by name."""

    parts: dict[str, Place]


Value: TypeAlias = "Selection | Cluster | Stage | Place | Pipelined | None"
