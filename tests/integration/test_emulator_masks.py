"""Lanes that a mask leaves out touch no shared memory, not even for a moment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import wave_core.lang as tkl
from wave_backend_amdgpu.compile.backend import compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_core.ir import ACCESS, resolve
from wave_core.ops.memory import Allocate, Read
from wave_core.symbols import lt
from wave_emulator_amdgcn import LaunchOptions, emulate, load

N, BLOCK = tkl.sym.N, tkl.sym.BLOCK
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
LEFT = 7


@tkl.wave(
    [
        tkl.WorkgroupConstraint(N, BLOCK, 0),
        tkl.WaveConstraint(N, BLOCK / 2),
        tkl.HardwareConstraint(),
    ]
)
def through_lds(a: tkl.Memory[N, GLOBAL, tkl.f16], b: tkl.Memory[N, GLOBAL, tkl.f16]):
    """Each wave reads back what it wrote itself: no barrier is needed."""
    buffer = tkl.allocate((N,), (BLOCK,), tkl.f16)
    tkl.write(tkl.read(a), buffer)
    tkl.write(tkl.read(buffer), b)


def masked(target):
    """The kernel lowered for a target, with a mask on its read of LDS."""
    session = Session(config=Config(cache=False), announce=lambda _: None)
    lanes = session.target(target).wave_size
    options = tkl.WaveCompileOptions(
        subs={N: 2 * lanes, BLOCK: 2 * lanes}, target=target
    )
    kernel = wave_compile(replace(options, device="sim"), through_lds, session=session)
    graph = kernel.graph
    (read,) = (
        op
        for op in graph.walk()
        if isinstance(op, Read) and isinstance(resolve(op.memory), Allocate)
    )
    access = graph.facts.get(ACCESS, read)
    graph.facts.put(ACCESS, read, replace(access, mask=lt(access.coordinates[0], LEFT)))
    return graph, kernel.compiled.target


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_a_masked_read_does_not_race_with_the_owner_of_another_place(target):
    graph, chip = masked(target)
    code = load(compile_graph(graph, chip).artifact.code)
    given = np.arange(1, 2 * chip.wave_size + 1, dtype=np.float16)
    found = np.full_like(given, np.nan)
    options = LaunchOptions(poison=frozenset({1}))
    result = emulate(code, [given, found], grid=(1, 1, 1), options=options)
    assert result.reports == ()
    assert found.tolist() == [*given[:LEFT].tolist(), *[0] * (len(given) - LEFT)]
