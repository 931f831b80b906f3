"""The stages of a schedule, as numbers of tasks of the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.ir import walk
from wave_passes_scheduling.manual import complaints
from wave_passes_scheduling.manual.bodies import lifted
from wave_passes_scheduling.manual.times import Listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.ops.control import Iterate
    from wave_core.passes.manual import Step
    from wave_passes_scheduling.manual.values import Stage


@dataclass(frozen=True)
class Slot:
    """Where an op is listed: stage and place from 0, and the line that says so."""

    stage: int
    place: int
    step: Step

    @property
    def text(self) -> str:
        """Stage and place, for messages."""
        return f"stage {self.stage}, place {self.place}"


def slots_of(loop: Iterate, stages: Sequence[Stage]) -> dict[Op, Slot]:
    """Where each listed op stands; a conditional stands for what it holds, once.

    Reads that a conditional holds together stay together, at the first of their places.

    Raises:
        UserError: WV0503 for a list without ops, WV0513 for an op that is listed twice
            or is not in the loop's own body.
    """
    found: dict[Op, Slot] = {}
    for op, slot in _listed(stages, loop.body):
        if op.owner is not loop.body:
            what = f"`{op.op_name}` is not in the body of the loop over {loop.axis}"
            raise complaints.misplaced(slot.step, what, op)
        if op in found and op.regions and found[op].stage == slot.stage:
            continue
        if op in found:
            what = f"{_named(op)} is at {found[op].text} and at {slot.text}"
            other = found[op].step.location
            raise complaints.misplaced(slot.step, what, op, other)
        found[op] = slot
    return found


def _named(op: Op) -> str:
    """An op for messages; a conditional with what it holds."""
    if not op.regions:
        return f"`{op.op_name}`"
    held = complaints.counted(each for each in walk(op.regions[0]) if each.tags)
    return f"the conditional around {held}, which is scheduled as one op,"


def _listed(stages: Sequence[Stage], body: Region) -> Iterator[tuple[Op, Slot]]:
    for number, stage in enumerate(stages):
        for place, selections in enumerate(stage.places):
            for selection in selections:
                if not selection.ops and not selection.excused:
                    raise complaints.nothing_there(selection, stage.step)
                for op in selection.ops:
                    slot = Slot(number, place, stage.step)
                    yield lifted(op, body) or op, slot


def listed_tasks(
    ops: Sequence[Op], slots: Mapping[Op, Slot], stages: Sequence[Stage]
) -> Listed:
    """The slots by number of task, the number being the op's place in ``ops``."""
    own = {task: slots[op] for task, op in enumerate(ops) if op in slots}
    return Listed(
        {task: slot.stage for task, slot in own.items()},
        {task: slot.place for task, slot in own.items()},
        len(stages[0].places),
        len(stages),
    )
