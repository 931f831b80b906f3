"""The simulator sees what is wrong: every planted defect is reported or changes results.

The kernels as they are raise no alarm; `test_examples.py` says so for each of them.
"""

from __future__ import annotations

from collections import Counter

import pytest
from mutants import Mutant
from mutants import mutants
from programs import PROGRAMS
from programs import arrays
from programs import distance
from programs import run_lanes

WRONG = 1e-4
"""A result that far off, in units of the largest element, is wrong."""

KINDS = {"barrier", "select", "bound", "index", "mask"}


def survivors(name: str, step: int = 1) -> tuple[list[str], Counter[str]]:
    """Defects that nothing shows, and how many of each kind were planted."""
    kernel, tensors, _ = PROGRAMS[name].build()
    arguments = arrays(kernel, tensors)
    output, result = run_lanes(kernel.graph, arguments)
    assert result.reports == ()
    alive, planted = [], Counter()
    for mutant in list(mutants(kernel.graph))[::step]:
        planted[mutant.kind] += 1
        if not shows(mutant, kernel.graph, arguments, output):
            alive.append(str(mutant))
    return alive, planted


def shows(mutant: Mutant, graph, arguments, output) -> bool:
    wrong, result = run_lanes(mutant.plant(graph), arguments)
    return bool(result.reports) or distance(wrong, output) > WRONG


@pytest.mark.parametrize("name", PROGRAMS)
def test_sampled_defects_show(name):
    alive, planted = survivors(name, step=13)
    assert planted
    assert alive == []


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_defects_show(name):
    alive, planted = survivors(name)
    assert planted
    assert alive == []


def test_each_barrier_of_the_staged_product_is_needed():
    kernel, tensors, _ = PROGRAMS["gemm-staged"].build()
    arguments = arrays(kernel, tensors)
    found = [each for each in mutants(kernel.graph) if each.kind == "barrier"]
    assert len(found) == 2
    for mutant in found:
        _, result = run_lanes(mutant.plant(kernel.graph), arguments)
        assert {report.code for report in result.reports} == {"WV0901"}


def test_all_kinds_of_defects_are_planted():
    kinds = set()
    for name in ("attention-mixed", "gemm-staged"):
        kernel, _, _ = PROGRAMS[name].build()
        kinds |= {mutant.kind for mutant in mutants(kernel.graph)}
    assert kinds == KINDS
