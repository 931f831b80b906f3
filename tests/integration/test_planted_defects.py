"""The simulator sees defects: each one planted is reported or changes results.

The kernels as they are raise no alarm; `test_examples.py` says so for each of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from mutants import mutants
from programs import PROGRAMS, arrays, distance, run_lanes

WRONG = 1e-4
"""A result that far off, in units of the largest element, is wrong."""

TWICE_MASKED = ("attention", "attention-large", "attention-mixed")
"""Their authors mask keys that do not exist, and so does the compiler."""


class Trial:
    """A program with its right outputs, on which defects are planted."""

    def __init__(self, name):
        program = PROGRAMS[name]
        kernel, tensors, _ = program.build()
        self.name, self.graph = name, kernel.graph
        self.inputs = [arrays(kernel, tensors)]
        if program.harsh is not None:
            self.inputs.append(program.harsh(self.inputs[0]))
        self.outputs = [self._right(arguments) for arguments in self.inputs]

    def _right(self, arguments):
        output, result = run_lanes(self.graph, arguments)
        assert result.reports == ()
        assert np.isfinite(output).any()
        return output

    def planted(self):
        return [m for m in mutants(self.graph) if m.kind != "barrier"]

    def differs(self, graph):
        """Whether some input gives another output than it should, or a report."""
        for arguments, right in zip(self.inputs, self.outputs, strict=True):
            output, result = run_lanes(graph, arguments)
            if result.reports or distance(output, right) > WRONG:
                return True
        return False

    def shows(self, mutant):
        """Whether a defect shows, or cannot matter.

        What a mask keeps out of registers or LDS may never be used. Then the mask
        does no good, and no number in its place does no harm.
        """
        if self.differs(mutant.plant(self.graph)):
            return True
        if mutant.touches_memory and mutant.kind != "index":
            return not self.differs(mutant.plant_with_poison(self.graph))
        return self.name in TWICE_MASKED and mutant.kind in {"select", "bound"}

    def survivors(self, step=1):
        return [str(m) for m in self.planted()[::step] if not self.shows(m)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_sampled_defects_show(name):
    assert Trial(name).survivors(step=29) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_defects_show(name):
    assert Trial(name).survivors() == []


def test_each_barrier_of_the_staged_product_is_needed():
    trial = Trial("gemm-staged")
    found = [each for each in mutants(trial.graph) if each.kind == "barrier"]
    assert len(found) == 2
    for mutant in found:
        _, result = run_lanes(mutant.plant(trial.graph), trial.inputs[0])
        assert {report.code for report in result.reports} == {"WV0901"}


@pytest.mark.parametrize("name", TWICE_MASKED)
def test_one_of_two_masks_suffices_and_none_does_not(name):
    trial = Trial(name)
    masks = [m for m in trial.planted() if m.kind == "select"]
    assert masks
    graph = trial.graph
    # From the end, so that positions stay right.
    for mutant in reversed(masks):
        graph = mutant.plant(graph)
    assert trial.differs(graph)


def test_all_kinds_of_defects_are_planted():
    kinds = {
        mutant.kind
        for name in ("attention-mixed", "gemm-staged")
        for mutant in mutants(Trial(name).graph)
    }
    assert kinds == {"barrier", "select", "bound", "index", "mask"}
