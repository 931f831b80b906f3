"""Atomics of LDS in loops: neither moved, nor doubled, nor kept apart by barriers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.ops.sync import SharedMemoryBarrier

N, B, BINS, T = tkl.sym.N, tkl.sym.B, tkl.sym.BINS, tkl.sym.T
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
TILE = 64
PRESETS = (
    *("default", "fetch-ahead", "four-stage", "modulo", "naive", "pingpong"),
    *("prefetch", "prefetch-attention"),
)
DEVICES = ("sim", "emulator")
ROWS = [
    tkw.WorkgroupConstraint(T, 2, 0),
    tkw.WaveConstraint(T, 1),
    tkw.TilingConstraint(N, TILE),
    tkw.HardwareConstraint(),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def compiled(session, kernel, device, preset="default", **sizes):
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(
        subs=subs, target="gfx942", device=device, preset=preset
    )
    return wave_compile(options, kernel, session=session)


def counting(*, anew):
    """The most that a bin counts in a tile of `N`, or in all tiles up to one."""

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[N, GLOBAL, tkl.i32],
        most: tkl.Memory[T, B, GLOBAL, tkl.i32],
    ):
        own = tkw.allocate((B,), (BINS,), tkl.i32)
        nothing = tkl.Register[B, tkl.i32](0)
        if not anew:
            tkw.write(nothing, own)

        @tkw.iterate(N, init_args=[nothing])
        def tiles(acc):
            if anew:
                tkw.write(tkl.Register[B, tkl.i32](0), own)
            tkw.scatter_add(tkl.Register[N, tkl.i32](1), tkw.read(a), B, own)
            return tkw.maximum(acc, tkw.read(own))

        tkw.write(tkw.broadcast(tiles, [T, B]), most)

    return kernel


@pytest.mark.covering(1)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("anew", [True, False])
def test_counts_of_tiles(session, device, preset, anew):
    rng = np.random.default_rng(anew)
    n, bins = 5 * TILE + 7, 9
    a = rng.integers(0, bins, n).astype(np.int32)
    most = np.full((2, bins), -1, np.int32)
    sizes = {"N": n, "B": bins, "BINS": bins, "T": 2}
    kernel = compiled(session, counting(anew=anew), device, preset, **sizes)
    kernel(a, most)
    tiles = [
        np.bincount(part, minlength=bins) for part in np.split(a, range(TILE, n, TILE))
    ]
    wanted = np.max(tiles, axis=0) if anew else np.sum(tiles, axis=0)
    assert (most == wanted).all()
    assert not kernel.last_run.reports


@pytest.mark.parametrize("preset", ["default", "naive"])
def test_two_atomics_need_no_barrier_between(session, preset):
    rows = [tkw.WorkgroupConstraint(N, 128, 0), tkw.WaveConstraint(N, 64), ROWS[-1]]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[N, GLOBAL, tkl.i32],
        h: tkl.Memory[B, GLOBAL, tkl.i32],
    ):
        own = tkw.allocate((B,), (BINS,), tkl.i32)
        tkw.write(tkl.Register[B, tkl.i32](0), own)
        bins, ones = tkw.read(a), tkl.Register[N, tkl.i32](1)
        for _ in range(3):
            tkw.scatter_add(ones, bins, B, own)
        tkw.write(tkw.read(own), h)

    found = compiled(session, kernel, "sim", preset, N=128, B=7, BINS=7)
    a, h = torch.arange(128, dtype=torch.int32) % 7, torch.zeros(7, dtype=torch.int32)
    found(a, h)
    assert torch.equal(h, 3 * torch.bincount(a).int())
    assert not found.last_run.reports
    names = [op.op_name for op in found.graph.walk()]
    first = names.index("atomic_add")
    assert names[first : first + 3] == ["atomic_add"] * 3
    around = names[first - 1], names[first + 3]
    assert around == (SharedMemoryBarrier.op_name,) * 2


@pytest.mark.parametrize("device", ["sim-logical", *DEVICES])
def test_an_atomic_whose_value_nobody_uses_acts(session, device):
    """Twice the same is done twice, in a loop as often as it runs."""

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[N, GLOBAL, tkl.f32], total: tkl.Memory[T, GLOBAL, tkl.f32]
    ):
        @tkw.iterate(N, init_args=[])
        def tiles():
            part = tkw.broadcast(tkw.sum(tkw.read(a), dim=N), [T])
            tkw.atomic_add(part, total)
            tkw.atomic_add(part, total)

    n = 3 * TILE + 5
    a, total = np.arange(n, dtype=np.float32), np.ones(3, np.float32)
    compiled(session, kernel, device, N=n, T=3)(a, total)
    assert (total == 1 + 2 * a.sum()).all()


def test_an_argument_that_atomics_update_is_not_staged(session):
    @tkw.wave([tkw.WorkgroupConstraint(N, 64, 0), ROWS[-1]])
    def kernel(h: tkl.Memory[N, tkl.SHARED_ADDRESS_SPACE, tkl.i32]):
        tkw.atomic_add(tkw.read(h), h)

    said = []
    own = Session(config=Config(cache=False), announce=said.append)
    h = np.arange(64, dtype=np.int32)
    compiled(own, kernel, "sim", N=64)(h)
    assert (h == 2 * np.arange(64)).all()
    (text,) = said
    assert "`h` is not staged in shared memory here: an atomic updates it" in text
    assert "updates global memory instead" in text
    assert "asks to be staged" in text
