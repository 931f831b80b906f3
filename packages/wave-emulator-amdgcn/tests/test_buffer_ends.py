"""Buffers that end within a word: loads of it are allowed, all else is not."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad.renderer.amd.dsl import v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna

from wave_emulator_amdgcn.memory import Regions


@pytest.mark.parametrize(
    ("at", "size", "words", "bad"),
    [
        (4, 4, True, False),
        (0, 8, True, False),
        (4, 4, False, True),
        (8, 4, True, True),
        (4, 8, True, True),
        (5, 4, True, True),
        (7, 1, True, True),
        (6, 2, True, True),
        (-4, 4, True, True),
    ],
)
def test_seven_bytes(at, size, words, bad):
    """LLVM loads a word for the last three bytes of a buffer of seven."""
    memory = Regions([("a", 7), ("b", 16)])
    place = np.array([memory.regions[0].start + at])
    assert (memory.outside(place, size, words=words) is not None) == bad


@pytest.mark.parametrize(
    ("at", "size", "bad"),
    [(0, 16, False), (4, 16, True), (16, 16, True), (8, 8, False), (12, 4, True)],
)
def test_scalar_loads_of_twelve_bytes(at, size, bad):
    """LLVM loads four scalar words for three: aligned, so no page ends within."""
    memory = Regions([("a", 12), ("b", 16)])
    place = np.array([memory.regions[0].start + at])
    found = memory.outside(place, size, words=True, blocks=True)
    assert (found is not None) == bad


@pytest.mark.parametrize(("at", "reports"), [(0, []), (4, ["EM0503"]), (8, ["EM0503"])])
def test_eight_bytes_of_seven_in_lds(machine, execute, at, reports):
    m = machine(lds=7)
    m.V[1] = at
    execute(m, cdna.ds_read_b64(vdst=v[2:3], addr=v[1]))
    assert [report.code for report in m.reports.values()] == reports
