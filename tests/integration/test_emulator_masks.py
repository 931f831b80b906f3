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


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_bytes_beyond_the_mask_of_a_staged_operand_are_no_alarm(target):
    """Sums and products of bytes beside one that nobody wrote, in one register."""
    m, n, k = (tkl.index_symbol(name) for name in "MNK")
    kept = tkl.SHARED_ADDRESS_SPACE

    @tkl.wave(
        [
            tkl.WorkgroupConstraint(m, 16, 0),
            tkl.WorkgroupConstraint(n, 16, 1),
            tkl.TilingConstraint(k, 32),
            tkl.HardwareConstraint(),
        ]
    )
    def product(
        a: tkl.Memory[m, k, GLOBAL, tkl.f16],
        b: tkl.Memory[n, k, kept, tkl.i8],
        c: tkl.Memory[m, n, GLOBAL, tkl.f32],
    ):
        @tkl.iterate(k, init_args=[tkl.Register[m, n, tkl.f32](0.0)])
        def loop(acc):
            read = tkl.read(b)
            changed = tkl.cast(read * read * read - read, tkl.f16)
            return tkl.mma(tkl.read(a), changed, acc)

        tkl.write(loop, c)

    rng = np.random.default_rng(7)
    a = rng.integers(-3, 4, (16, 31)).astype(np.float16)
    b = rng.integers(-3, 4, (16, 31)).astype(np.int8)
    c = np.full((16, 16), np.nan, np.float32)
    session = Session(config=Config(cache=False), announce=lambda _: None)
    options = tkl.WaveCompileOptions(
        subs={m: 16, n: 16, k: 31}, target=target, device="emulator"
    )
    wave_compile(options, product, session=session)(a, b, c)
    assert np.array_equal(c, a.astype(float) @ (b.astype(float) ** 3 - b).T)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_lanes_beyond_the_only_element_leave_it_alone(target):
    """The mask chooses between two constants, and a branch of `cos` follows."""

    @tkl.wave([tkl.WorkgroupConstraint(N, 64, 0), tkl.HardwareConstraint()])
    def places(
        place: tkl.Memory[N, GLOBAL, tkl.i32], turned: tkl.Memory[N, GLOBAL, tkl.f32]
    ):
        index = tkl.self_index(N, tkl.i32)
        tkl.write(index, place)
        tkl.write(tkl.cos(tkl.cast(index, tkl.f32) * 0.1), turned)

    session = Session(config=Config(cache=False), announce=lambda _: None)
    options = tkl.WaveCompileOptions(subs={N: 1}, target=target, device="emulator")
    place, turned = np.full(1, 5, np.int32), np.full(1, np.nan, np.float32)
    wave_compile(options, places, session=session)(place, turned)
    assert (place.tolist(), turned.tolist()) == ([0], [1])
