"""Random numbers against Philox in Python's integers, and against their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError
from wave_core.ops.random import Philox

M, P = tkl.sym.M, tkl.sym.P
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SEEDS = (0, 1, -1, 0x0123456789ABCDEF)
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    *(("emulator", chip) for chip in ("gfx942", "gfx950", "gfx1100", "gfx1201")),
)
ROWS = [
    tkw.WorkgroupConstraint(M, 128, 0),
    tkw.WaveConstraint(M, 64),
    tkw.HardwareConstraint(vector_shapes={M: 64}),
]
WORD = 1 << 32


def philox(key, counter):
    """A block, step by step as the paper has it (section 3.3 and table 2)."""
    for _ in range(10):
        high, low = divmod(counter[0] * 0xD2511F53, WORD)
        other_high, other_low = divmod(counter[2] * 0xCD9E8D57, WORD)
        counter = [
            other_high ^ counter[1] ^ key[0],
            other_low,
            high ^ counter[3] ^ key[1],
            low,
        ]
        key = [(key[0] + 0x9E3779B9) % WORD, (key[1] + 0xBB67AE85) % WORD]
    return counter


def block(seed, offset):
    halves = [[n % WORD, n % WORD**2 // WORD] for n in (seed, offset)]
    return philox(halves[0], [*halves[1], 0, 0])


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, where, *arrays, **sizes):
    device, target = where
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(subs=subs, target=target, device=device)
    wave_compile(options, kernel, session=session)(*arrays)


def test_the_reference_gives_the_published_block():
    """Source: the known answers that come with Random123, ``philox4x32 10``."""
    assert philox([0, 0], [0, 0, 0, 0]) == [
        *(0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ]
    ones = WORD - 1
    assert philox([ones] * 2, [ones] * 4) == [
        *(0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    ]


@pytest.mark.parametrize("where", DEVICES, ids="-".join)
def test_words(session, where):
    i = tkw.IndexMapping.iterator(0)

    @tkw.wave(ROWS)
    def kernel(
        offsets: tkl.Memory[M, GLOBAL, tkl.i64],
        c: tkl.Memory[P, M, GLOBAL, tkl.u32],
        seed: tkl.i64,
    ):
        offset = tkw.read(offsets)
        for word in range(4):
            to_row = tkw.IndexMapping(1, {M: i}, {P: word, M: i})
            tkw.write(tkw.philox(seed, offset, word), c, mapping=to_row)

    rng = np.random.default_rng(1)
    offsets = np.array([0, 1, -1, 2**31, 2**32, *rng.integers(-(2**62), 2**62, 132)])
    for seed in SEEDS:
        c = np.full((4, len(offsets)), 7, np.uint32)
        launch(session, kernel, where, offsets, c, seed, M=len(offsets), P=4)
        wanted = np.array([block(seed, int(o)) for o in offsets], np.uint32).T
        assert (c == wanted).all()


@pytest.mark.parametrize("where", DEVICES, ids="-".join)
def test_numbers_of_a_tile(session, where):
    """`rand` and `randn` of a position: the same bits, in their ranges."""

    @tkw.wave(ROWS)
    def kernel(
        u: tkl.Memory[M, GLOBAL, tkl.f32],
        n: tkl.Memory[M, GLOBAL, tkl.f32],
        k: tkl.Memory[M, GLOBAL, tkl.u32],
    ):
        place = tkw.self_index(M, tkl.i32)
        tkw.write(tkw.rand(42, place), u)
        tkw.write(tkw.randn(42, place), n)
        tkw.write(tkw.randint(42, place), k)

    count = 200
    u, n = np.full(count, 7, np.float32), np.full(count, 70, np.float32)
    k = np.full(count, 7, np.uint32)
    launch(session, kernel, where, u, n, k, M=count)
    words = np.array([block(42, offset)[:2] for offset in range(count)])
    assert (k == words[:, 0]).all()
    assert (u == (words[:, 0] >> 8) * 2.0**-24).all()
    radius = np.sqrt(-2 * np.log(((words[:, 0] >> 8) + 1) * 2.0**-24))
    wanted = radius * np.cos(2 * np.pi * (words[:, 1] >> 8) * 2.0**-24)
    assert np.abs(n - wanted).max() < 1e-5


def test_laws():
    """Moments, and how often each tenth and each bit comes, within five sigma."""

    count = 200_000
    offsets = np.arange(count, dtype=np.uint64)
    words = [
        Philox.compute(_Word(word), np, np.uint64(7), offsets) for word in range(4)
    ]
    for word in words:
        tenths = np.histogram(word / WORD, bins=10, range=(0, 1))[0]
        assert np.abs(tenths - count / 10).max() < 5 * math.sqrt(count * 0.09)
        places = np.arange(32, dtype=np.uint64)[:, None]
        bits = ((word >> places) & np.uint64(1)).sum(axis=1)
        assert np.abs(bits - count / 2).max() < 5 * math.sqrt(count / 4)
    assert abs(np.corrcoef(words[0], words[1])[0, 1]) < 5 / math.sqrt(count)
    assert abs(np.corrcoef(words[0][1:], words[0][:-1])[0, 1]) < 5 / math.sqrt(count)


class _Word:
    def __init__(self, word):
        self.word = word


def test_a_word_that_a_block_lacks():
    @tkw.wave(ROWS)
    def kernel(c: tkl.Memory[M, GLOBAL, tkl.u32]):
        tkw.write(tkw.philox(1, tkw.self_index(M, tkl.i32), 4), c)

    with pytest.raises(UserError) as caught:
        kernel.trace({"M": 64})
    assert caught.value.code == "WV0222"
    assert "has 4 words and no word 4" in str(caught.value)


def test_a_float_as_the_offset():
    @tkw.wave(ROWS)
    def kernel(a: tkl.Memory[M, GLOBAL, tkl.f32], c: tkl.Memory[M, GLOBAL, tkl.f32]):
        tkw.write(tkw.rand(1, tkw.read(a)), c)

    with pytest.raises(UserError) as caught:
        kernel.trace({"M": 64})
    assert caught.value.code in ("WV0204", "WV0205")
