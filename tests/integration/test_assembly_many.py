"""The assembly path where there is much of something: memories, numbers, values."""

from __future__ import annotations

import re

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.emission import emit
from wave_core.diagnostics import UserError
from wave_kernels.definitions.operands import declared

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
KIND = tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32]
TILES = [
    tkw.WorkgroupConstraint(M, 4, 0),
    tkw.WorkgroupConstraint(N, 64, 1),
    tkw.HardwareConstraint(),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def summed(count, *, turns=0):
    """The sum of many memories, of each in every turn of a loop."""
    names = [*(f"a{number}" for number in range(count)), "out"]
    more = [tkw.TilingConstraint(K, 1)] if turns else []

    @tkw.wave([*TILES, *more])
    @declared(dict.fromkeys(names, KIND))
    def total(*memories):
        *given, out = memories
        zero = tkl.Register[M, N, tkl.f32](0.0)
        if not turns:
            tkw.write(sum(map(tkw.read, given), start=zero), out)
            return

        @tkw.iterate(K, init_args=[zero])
        def again(x: tkl.Register[M, N, tkl.f32]):
            return sum(map(tkw.read, given), start=x)

        tkw.write(again, out)

    return total


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("turns", [0, 3])
def test_more_memories_than_descriptors_have_room(session, chip, dynamic, turns):
    """A descriptor has four scalar registers, of which a wave has about a hundred."""
    count, sizes = 40, {M: 6, N: 100, **({K: turns} if turns else {})}
    options = tkw.WaveCompileOptions(
        subs={K: turns} if dynamic and turns else {} if dynamic else sizes,
        dynamic_symbols=[M, N] if dynamic else [],
        target=chip, device="emulator", backend="asm", poison_outputs=True,
    )  # fmt: skip
    kernel = wave_compile(options, summed(count, turns=turns), session=session)
    arrays = torch.randint(-9, 9, (count, 6, 100)).float()
    out = torch.full((6, 100), torch.nan)
    kernel(*arrays, out)
    assert torch.equal(out, arrays.sum(0) * max(turns, 1))
    assert kernel.last_run.reports == ()


@pytest.mark.fuzz
def test_a_loop_that_is_longer_than_a_jump(session):
    """Its end is more than 128 KiB behind its beginning."""
    count = 700

    @tkw.wave(
        [tkw.WorkgroupConstraint(M, 32, 0), *TILES[1:], tkw.TilingConstraint(K, 1)]
    )
    def long(a: KIND, b: KIND):
        x = tkw.read(a)

        @tkw.iterate(K, init_args=[x])
        def again(y: tkl.Register[M, N, tkl.f32]):
            for number in range(count):
                y = tkw.maximum(-y, y - number) if number % 2 else y - x
            return y

        tkw.write(again, b)

    sizes = {M: 32, N: 64, K: 2}
    a, b = torch.randint(-9, 9, (32, 64)).float(), torch.full((32, 64), torch.nan)
    options = tkw.WaveCompileOptions(
        subs=sizes, target="gfx942", device="emulator", backend="asm", preset="default",
    )  # fmt: skip
    kernel = wave_compile(options, long, session=session)
    kernel(a, b)
    want = a
    for _ in range(sizes[K]):
        for number in range(count):
            want = torch.maximum(-want, want - number) if number % 2 else want - a
    assert torch.equal(b, want)
    assert kernel.last_run.reports == ()


def test_of_too_many_values_the_lines_are_told(session):
    @tkw.wave(TILES)
    def held(a: KIND, b: KIND):
        x = tkw.read(a)
        some = [x * (n + 1.5) for n in range(100)]
        others = [x + (n + 0.5) for n in range(40)]
        for each in (*some, *others):
            x = tkw.maximum(x * each, each)
        tkw.write(x, b)

    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64}, target="gfx942", backend="asm", preset="default",
        use_fast_math=False,
    )  # fmt: skip
    with pytest.raises(UserError) as refused:
        emit(options, held, "hsaco", session)
    (found,) = refused.value.diagnostics
    assert found.code == "WV0611"
    first, *rows = found.notes
    assert re.search(r"^\d+ vector and \d+ scalar registers are live at ", first)
    assert first.endswith("a wave has 512 and 102; the vector ones are:")
    counts = [int(row.split()[0]) for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == int(first.split()[0])
    lines = [int(m[1]) for row in rows if (m := re.search(r"\.py:(\d+)", row))]
    begin = held.function.__code__.co_firstlineno + 1
    assert begin + 3 in lines
