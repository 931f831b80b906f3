"""Offsets of buffer instructions: what wraps and what does not."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad.renderer.amd.dsl import s, v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna

LANE = np.arange(64)


@pytest.fixture
def numbered(machine):
    """A machine whose buffer holds 0, 1, 2 ...; its resource is in s[8:11]."""
    m = machine(waves=1)
    region = m.memory.regions[0]
    m.memory.fill(0, np.arange(1024, dtype=np.uint32).view(np.uint8))
    m.S[8], m.S[9] = region.address & 0xFFFFFFFF, region.address >> 32
    m.S[10], m.S[11] = 4096, 0x27000
    return m


def load(m, execute, offsets, **fields):
    m.V[1] = np.asarray(offsets).astype(np.int64) & 0xFFFFFFFF
    given = {"soffset": s[12], "offen": 1} | fields
    execute(m, cdna.buffer_load_dword(v[10], v[1], s[8:11], **given))
    return m.V[10, 0]


def test_a_negative_register_wraps_with_the_instruction_offset(numbered, execute):
    found = load(numbered, execute, 4 * LANE - 128, offset=128)
    assert (found == LANE).all()


def test_a_sum_that_stays_negative_is_out_of_range(numbered, execute):
    found = load(numbered, execute, 4 * LANE - 256, offset=128)
    assert (found == np.maximum(LANE - 32, 0)).all()


def test_a_scalar_offset_does_not_wrap(numbered, execute):
    numbered.S[12] = 128
    assert (load(numbered, execute, 4 * LANE - 256) == 0).all()
