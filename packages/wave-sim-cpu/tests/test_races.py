"""The race tracker against a model that remembers every access."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings, strategies as st

from wave_core.ops.sync import WorkgroupBarrier
from wave_sim_cpu.races import Kind, RaceTracker, Touch

WAVES, GROUPS, CELLS = 3, 2, 4
OP = WorkgroupBarrier()


@dataclass(frozen=True)
class Access:
    """One element that one wave touches in one instruction."""

    group: int
    wave: int
    cell: int


@dataclass(frozen=True)
class Instruction:
    """An access of several waves, or a barrier of the workgroups in ``barrier``."""

    kind: Kind
    accesses: tuple[Access, ...]
    barrier: frozenset[int]


accesses = st.builds(
    Access,
    st.integers(0, GROUPS - 1),
    st.integers(0, WAVES - 1),
    st.integers(0, CELLS - 1),
)


@st.composite
def instructions(draw: st.DrawFn) -> Instruction:
    if draw(st.integers(0, 3)) == 0:
        groups = draw(st.frozensets(st.integers(0, GROUPS - 1), min_size=1))
        return Instruction(Kind.READ, (), groups)
    kind = draw(st.sampled_from(Kind))
    # An instruction that writes one cell twice is another check's business.
    unique = (lambda a: a.cell) if kind is Kind.WRITE else None
    found = draw(st.lists(accesses, min_size=1, max_size=6, unique_by=unique))
    return Instruction(kind, tuple(found), frozenset())


def conflicts(old: tuple, new: tuple, shared: bool) -> bool:
    """Whether two accesses (kind, access, epoch of its group) race."""
    (first, a, a_epoch), (second, b, b_epoch) = old, new
    writes = not {first, second} <= {Kind.READ, Kind.READ_LOCK}
    plain = not {Kind.READ, Kind.WRITE}.isdisjoint({first, second})
    if a.cell != b.cell or not (writes and plain):
        return False
    if a.group != b.group:
        return shared
    return a.wave != b.wave and a_epoch == b_epoch


def first_race(program: list[Instruction], shared: bool) -> int | None:
    epochs = [0] * GROUPS
    past: list[tuple[Kind, Access, int]] = []
    for position, instruction in enumerate(program):
        for group in instruction.barrier:
            epochs[group] += 1
        new = [(instruction.kind, a, epochs[a.group]) for a in instruction.accesses]
        if any(conflicts(old, n, shared) for old in past for n in new):
            return position
        past += new
    return None


def tracked_race(program: list[Instruction], shared: bool) -> int | None:
    tracker = RaceTracker(CELLS * (1 if shared else GROUPS), WAVES, shared=shared)
    marks, number = np.zeros(GROUPS, np.int64), 1
    for position, instruction in enumerate(program):
        for group in instruction.barrier:
            marks[group] = number
        if not instruction.accesses:
            continue
        group = np.array([a.group for a in instruction.accesses])
        cells = np.array([a.cell for a in instruction.accesses])
        cells = cells if shared else cells + CELLS * group
        wave = np.array([a.wave for a in instruction.accesses])
        touch = Touch(number, OP, instruction.kind, cells, wave, group, marks[group])
        if tracker.access(touch, int(marks.min())) is not None:
            return position
        number += 1
    return None


@settings(max_examples=500, deadline=None)
@given(st.lists(instructions(), max_size=12), st.booleans())
def test_tracker_finds_the_first_race(program: list[Instruction], shared: bool) -> None:
    assert tracked_race(program, shared) == first_race(program, shared)
