"""Shuffles of every mode and width: a lane without a partner keeps its value."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

M = tkl.sym.M
N = tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
MOVES = [(0, 8), (3, 8), (8, 8), (9, 8), (5, 16), (17, 32), (40, 32), (1, 64), (40, 64)]
"""Offsets and widths."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def partner(mode, lane, offset, width):
    group = lane - lane % width
    other = {
        "xor": lane ^ offset,
        "up": lane - offset,
        "down": lane + offset,
        "idx": group + offset,
    }[mode]
    return other if group <= other < group + width else lane


@pytest.mark.parametrize("mode", ["xor", "up", "down", "idx"])
@pytest.mark.parametrize(
    ("device", "chip", "lanes"),
    [
        ("sim", "gfx942", 64),
        ("sim", "gfx1201", 32),
        ("emulator", "gfx90a", 64),
        ("emulator", "gfx942", 64),
        ("emulator", "gfx950", 64),
        ("emulator", "gfx1100", 32),
        ("emulator", "gfx1201", 32),
    ],
)
def test_lanes_read_their_partners(session, mode, device, chip, lanes):
    """One row for each move of groups that the wave has."""
    moves = [(offset, width) for offset, width in MOVES if width <= lanes]

    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=lanes)])
    def kernel(a: tkl.Memory[N, GLOBAL, tkl.i32], b: tkl.Memory[M, N, GLOBAL, tkl.i32]):
        value = tkw.read(a)
        rows = [tkw.shuffle(value, offset, width, mode) for offset, width in moves]
        for row, moved in enumerate(rows):
            place = {M: row, N: tkw.IndexMapping.iterator(0)}
            inputs = {N: tkw.IndexMapping.iterator(0)}
            tkw.write(moved, b, mapping=tkw.IndexMapping(1, inputs, place))

    a = np.random.default_rng(lanes).permutation(lanes).astype(np.int32)
    b = np.full((len(moves), lanes), -7, np.int32)
    subs = {M: len(moves), N: lanes}
    options = tkl.WaveCompileOptions(subs=subs, device=device, target=chip)
    wave_compile(options, kernel, session=session)(a, b)
    for row, (offset, width) in zip(b, moves, strict=True):
        wanted = [partner(mode, lane, offset, width) for lane in range(lanes)]
        assert (row == a[wanted]).all(), (offset, width)
