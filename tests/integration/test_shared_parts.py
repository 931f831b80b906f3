"""Index mappings whose expressions share parts: as long as they are deep, not more."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

M, R = tkl.sym.M, tkl.sym.R
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEPTH = 40
SECONDS = 1.0
"""Of the processor; written out, the expression has 2**40 parts."""
TRIES = 3
"""The least of them counts: a collection of garbage may fall into any one."""


def place(index):
    """An element between 0 and 63; each step uses the one before twice."""
    for _ in range(DEPTH):
        half = sympy.floor(index / 2, evaluate=False)
        rest = sympy.Mod(index, 97, evaluate=False)
        index = sympy.Add(half, rest, evaluate=False)
    return sympy.Mod(index, 64, evaluate=False)


def gather(device):
    i = tkw.IndexMapping.iterator(0)
    mapping = tkw.IndexMapping(1, {R: place(i)}, {M: i})

    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
    def kernel(a: tkl.Memory[R, GLOBAL, tkl.f32], c: tkl.Memory[M, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(a, mapping=mapping), c)

    options = tkl.WaveCompileOptions(
        subs={M: 100, R: 64}, target="gfx942", device=device
    )
    session = Session(config=Config(cache=False), announce=lambda _: None)
    return wave_compile(options, kernel, session=session)


def timed_gather(device):
    began = time.process_time()
    kernel = gather(device)
    return time.process_time() - began, kernel


@pytest.mark.parametrize("device", ["sim", "emulator"])
def test_time_grows_with_the_depth(device):
    tries = [timed_gather(device) for _ in range(TRIES)]
    assert min(seconds for seconds, _ in tries) < SECONDS
    kernel = tries[-1][1]
    a, c = np.arange(64, dtype=np.float32), np.full(100, np.nan, np.float32)
    kernel(a, c)
    wanted = np.arange(100)
    for _ in range(DEPTH):
        wanted = wanted // 2 + wanted % 97
    np.testing.assert_array_equal(c, wanted % 64)
