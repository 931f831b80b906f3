"""Programs by hand run right in the emulator, with no hazard, and need every wait."""

from __future__ import annotations

import numpy as np
import pytest
from programs_by_hand import (
    LANE,
    SIZE,
    Part,
    Val,
    cdna,
    constant,
    emit,
    load,
    move,
    op,
    product,
    store,
)

from wave_backend_asm.code import Block

CHIPS = ("gfx90a", "gfx942", "gfx950")


def shifted(out, value, bits):
    encode = cdna.v_lshlrev_b32_e32
    return op(lambda r: encode(r(out), bits, r(value)), [out], [value])


def loop(times):
    """A loop whose count is in a scalar: what starts it, and what ends each turn."""
    count = Val("count", files=("s",))
    start = op(lambda r: cdna.s_mov_b32(r(count), times), [count])
    less = op(lambda r: cdna.s_sub_u32(r(count), r(count), 1), [count], [count])
    ask = op(lambda r: cdna.s_cmp_lg_u32(r(count), 0), (), [count])
    again = op(lambda _: cdna.s_cbranch_scc1(0), target=1)
    return start, (less, ask, again)


def summing():
    """Four sums over words that lie 2048 bytes apart, carried by copies."""
    offset, now, after = Val("offset"), Val("now"), Val("next")
    one, stride = Val("one"), Val("stride")
    sums = [Val(f"sum{n}") for n in range(4)]
    new = [Val(f"new{n}") for n in range(4)]
    words, out = Val("words", 4), Val("out", 4)
    start, turn = loop(3)
    adds = [
        op(lambda r, n=n: cdna.v_add_u32_e32(r(new[n]), r(sums[n]),
           r(Part(words, n, 1))), [new[n]], [sums[n], Part(words, n, 1)])
        for n in range(4)
    ]  # fmt: skip
    step = op(lambda r: cdna.v_add_u32_e32(r(after), r(stride), r(now)),
              [after], [now, stride])  # fmt: skip
    whole = [
        op(lambda r, n=n: cdna.v_mov_b32_e32(r(Part(out, n, 1)), r(sums[n])),
           [Part(out, n, 1)], [sums[n]])
        for n in range(4)
    ]  # fmt: skip
    strides = (constant(one, 1), shifted(stride, one, 11))
    zeros = [constant(each, 0) for each in sums]
    first = (shifted(offset, LANE, 4), *strides, start, move(now, offset), *zeros)
    turns = (load(words, now), *adds, step, move(now, after),
             *map(move, sums, new), *turn)  # fmt: skip
    return [  # 2048 bytes are the words of two waves
        Block(first, (1,)),
        Block(turns, (1, 2), 1),
        Block((*whole, store(out, offset))),
    ]


def products(files=("v",), turns=3):
    """Products of a loop; the result is stored behind it, four words a lane."""
    offset, acc = Val("offset"), Val("acc", 4, files, 4 if files == ("v",) else 1)
    a, b = Val("a", 2), Val("b", 2)
    start, turn = loop(turns)
    zero = [op(lambda r, n=n: r_zero(r, acc, n), [Part(acc, n, 1)]) for n in range(4)]
    body = (load(a, offset), load(b, offset, 8), product(acc, a, b))
    return [
        Block((shifted(offset, LANE, 4), start, *zero), (1,)),
        Block((*body, *turn), (1, 2), 1),
        Block((store_acc(acc, offset),)),
    ]


def r_zero(r, acc, number):
    part = Part(acc, number, 1)
    if r.acc(acc):
        return cdna.v_accvgpr_write(r(part), 0)
    return cdna.v_mov_b32_e32(r(part), 0)


def store_acc(acc, offset):
    """A store of AGPRs, where the value is there."""
    plain = store(acc, offset)

    def make(r):
        inst = plain.make(r)
        inst.acc = int(bool(r.acc(acc)))
        return inst

    return op(make, (), plain.uses)


@pytest.fixture
def words(rng):
    return rng.integers(0, 1 << 32, SIZE // 4, np.uint32)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_loop_sums_what_it_loads(chip, words):
    found, reports = emit(summing(), chip).run(words)
    assert reports == []
    assert (found[:512] == words[: 3 * 512].reshape(3, 512).sum(0, np.uint32)).all()


def test_nothing_moves_around_a_loop():
    emitted = emit(summing())
    names = [repr(inst) for inst, _ in emitted.codes[1]]
    assert [name for name in names if "mov" in name] == []


@pytest.mark.parametrize("files", [("v",), ("a",)])
@pytest.mark.parametrize("chip", CHIPS)
def test_products_accumulate(chip, files, rng):
    data = rng.standard_normal(SIZE // 2).astype(np.float16)
    found, reports = emit(products(files), chip).run(data)
    assert reports == []
    for wave in range(2):
        lanes = data[wave * 512 : wave * 512 + 512].reshape(4, 16, 2, 4)
        a, b = (
            lanes[:, :, n].transpose(1, 0, 2).reshape(16, 16).astype(np.float64)
            for n in range(2)
        )
        expected = 3 * (a @ b.T)
        out = found[wave * 256 :][:256].view(np.float32).reshape(4, 16, 4)
        result = out.transpose(0, 2, 1).reshape(16, 16)
        assert np.abs(result - expected).max() < 1e-4


def needed(blocks, chip, data):
    """Waits and wait states that nobody would miss, by their text."""
    emitted = emit(blocks, chip)
    assert emitted.added
    return [
        repr(emitted.codes[block][at][0])
        for block, at in emitted.added
        if not emitted.without(block, at).run(data)[1]
    ]


@pytest.mark.parametrize("make", [summing, products])
def test_every_wait_is_needed(make, words):
    assert needed(make(), "gfx942", words & np.uint32(0x33FF33FF)) == []


def exchange():
    """Each lane gives its word to the lane of the other wave, through LDS."""
    offset, there, mask = Val("offset"), Val("there"), Val("mask")
    word, other = Val("word"), Val("other")
    write = op(lambda r: cdna.ds_write_b32(addr=r(offset), data0=r(word)),
               (), [offset, word])  # fmt: skip
    read = op(lambda r: cdna.ds_read_b32(r(other), r(there)), [other], [there])
    bits = op(lambda r: cdna.v_xor_b32_e32(r(there), r(mask), r(offset)),
              [there], [mask, offset])  # fmt: skip
    barrier = op(lambda _: cdna.s_barrier(), demands={"lgkm": 0})
    one = Val("one")
    code = (shifted(offset, LANE, 2), constant(one, 1), shifted(mask, one, 8), bits,
            load(word, offset), write, barrier, read, store(other, offset))  # fmt: skip
    return [Block(code)]


def test_waves_exchange_what_a_barrier_orders(words):
    emitted = emit(exchange())
    found, reports = emitted.run(words)
    assert reports == []
    assert (found[:128].reshape(2, 64) == words[:128].reshape(2, 64)[::-1]).all()
    assert needed(exchange(), "gfx942", words) == []
