"""Defects planted in the compiler: random programs find each, and shrink it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_core.builtin.expand import access
from wave_core.builtin.expand.existence import Existence
from wave_core.builtin.expand.expander import Expander
from wave_core.builtin.legalize import reductions
from wave_core.builtin.synchronize.barriers import InsertSafeBarriers
from wave_core.constraints.geometry import Geometry
from wave_core.ir import PLACEMENT
from wave_testing.corpus import corpus
from wave_testing.programs import (
    Discarded,
    ProgramFailure,
    check_program,
    random_program,
)
from wave_testing.programs.literal import read, write
from wave_testing.programs.model import Dim, MemorySpec, Program
from wave_testing.programs.shrink import shrink

MOST = 150


def no_masks(patch):
    patch.setattr(Existence, "mask", lambda *_: None)


def unmasked_reductions(patch):
    patch.setattr(
        Expander,
        "masked_piece",
        lambda self, u, value, ids, d, f, scope: self.piece(value, ids, scope),
    )


def replicas_write(patch):
    patch.setattr(access, "once", lambda *_: [])


def half_a_butterfly(patch):
    whole = reductions._butterfly
    patch.setattr(reductions, "_butterfly", lambda digit: whole(digit)[1:])


def wrong_wave_offset(patch):
    right = Geometry._wave_start
    patch.setattr(Geometry, "_wave_start", lambda self, dim: right(self, dim) * 2)


def no_barriers(patch):
    patch.setattr(InsertSafeBarriers, "apply", lambda *_: False)


PLANTS = {
    no_masks: 1,
    unmasked_reductions: 8,
    replicas_write: 1,
    half_a_butterfly: 6,
    wrong_wave_offset: 1,
    no_barriers: 45,
}
"""Defects, and a seed whose program once showed each: what a seed gives may change."""


def first_failure(first):
    """What the first program that fails says, of those from a seed on."""
    for seed in range(first, MOST):
        try:
            check_program(random_program(np.random.default_rng(seed), seed))
        except Discarded:
            continue
        except ProgramFailure as failure:
            return failure
    raise AssertionError(f"programs {first} to {MOST} found nothing")


@pytest.mark.parametrize(("plant", "first"), PLANTS.items())
def test_a_planted_defect_is_found(plant, first, monkeypatch):
    plant(monkeypatch)
    assert first_failure(first).phase


@pytest.mark.fuzz
@pytest.mark.parametrize("plant", PLANTS)
def test_a_search_from_its_start_finds_a_planted_defect(plant, monkeypatch):
    plant(monkeypatch)
    assert first_failure(0).phase


def test_a_failure_shrinks(monkeypatch):
    """A program of its own: what a seed gives may change."""
    half_a_butterfly(monkeypatch)
    with pytest.raises(ProgramFailure) as caught:
        check_program(corpus()["reduction"])
    failure = caught.value
    smaller = shrink(failure, tries=60)
    assert (smaller.phase, smaller.symptom) == (failure.phase, failure.symptom)
    kinds = [step.kind for step in smaller.program.walk()]
    assert "reduce" in kinds
    assert len(kinds) < len(list(failure.program.walk()))


def test_what_shrinks_keeps_its_indices():
    """A scatter by a constant would send all elements to one cell."""
    program = Program(
        seed=1,
        dims=(Dim("M", 40, axis=0, tile=64), Dim("S", 40)),
        memories=(
            MemorySpec("where", ("M",), "i32", "permutation", 40),
            MemorySpec("a", ("M",), "i32", "small", 9),
            MemorySpec("b", ("S",), "i32"),
        ),
        steps=(
            read("i", "where", "M"),
            read("x", "a", "M"),
            write("x", "b", "M", mapping=(("dyn", 0),), index=("i",)),
        ),
    )

    def fails(program):
        raise ProgramFailure(program, "launch", "wrong result", "")

    smaller = shrink(ProgramFailure(program, "launch", "wrong result", ""), 20, fails)
    kinds = [step.kind for step in smaller.program.steps]
    assert kinds == ["read", "splat", "write"]


def test_what_is_right_does_not_shrink():
    failure = ProgramFailure(corpus()["copy"], "legalize", "wrong result", "")
    assert shrink(failure, tries=10) is failure


def test_the_coverage_theorem_is_checked(monkeypatch):
    from wave_core.builtin.distribute.assign import AssignLayouts

    right = AssignLayouts.apply

    def apply(self, graph, context):
        right(self, graph, context)
        for op in graph.walk():
            row = graph.facts.get(PLACEMENT, op)
            if row is not None and row.steps:
                graph.facts.put(PLACEMENT, op, replace(row, steps=row.steps[1:]))
        return True

    monkeypatch.setattr(AssignLayouts, "apply", apply)
    with pytest.raises(ProgramFailure, match="nobody holds"):
        check_program(corpus()["product"])
