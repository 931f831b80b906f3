"""Which memories ops touch, seen through captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.ir import resolve, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.ops.traits import Effect


def touched_memories(op: Op) -> Iterator[tuple[Op, Effect]]:
    """The memories that one op itself touches, and how; its own buffer left out."""
    for effect in op.effects():
        if effect.memory is not None and effect.memory is not op:
            yield resolve(effect.memory), effect


def written_by(op: Op) -> set[Op]:
    """The memories that one op itself writes."""
    # Those that are read are many, and are not looked for through captures.
    written = [effect.memory for effect in op.effects() if effect.writes]
    return {resolve(each) for each in written if each is not None and each is not op}


def written_memories(region: Region) -> set[Op]:
    """The memories that the ops of a region and of those within write."""
    return {memory for op in walk(region) for memory in written_by(op)}


def touches(op: Op, memory: Op) -> bool:
    """Whether one op itself reads or writes a memory."""
    return any(touched is memory for touched, _ in touched_memories(op))
