"""Random programs give the same, whatever registers, waits and order they get."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from programs_by_hand import (
    INPUT,
    LANE,
    SIZE,
    Part,
    Val,
    binary,
    cdna,
    emit,
    load,
    move,
    naive,
    op,
    store,
)
from tinygrad.renderer.amd.dsl import v

from wave_backend_asm.allocate.liveness import Flow
from wave_backend_asm.code import Block
from wave_backend_asm.order.listing import Listing
from wave_backend_asm.order.nodes import Node, Price
from wave_backend_asm.order.room import Limits, Region, Registers, Sort

CHIPS = ("gfx90a", "gfx942", "gfx950")
WORDS = np.random.default_rng(3).integers(0, 1 << 32, SIZE // 4, np.uint32)


class Maker:
    """Draws operations; ``pool`` are values of one register that are defined."""

    def __init__(self, draw):
        self.draw = draw
        self.number = 0
        self.offset = self.fresh("offset")
        self.pool, self.scalars = [LANE], []
        shift = cdna.v_lshlrev_b32_e32
        self.code = [
            op(lambda r: shift(r(self.offset), 4, r(LANE)), [self.offset], [LANE]),
            self.to_lds(LANE),
        ]

    def fresh(self, name, width=1, files=("v",)):
        self.number += 1
        return Val(f"{name}{self.number}", width, files, min(width, 2))

    def one(self):
        return self.draw(st.sampled_from(self.pool))

    def to_lds(self, data):
        encode = cdna.ds_write_b32
        make = lambda r: encode(addr=r(self.offset), data0=r(data))  # noqa: E731
        return op(make, (), [self.offset, data], source="lds")

    def add(self, operation, value=None, width=1):
        self.code.append(operation)
        if value is not None:
            self.pool += [Part(value, n, 1) for n in range(width)]

    def loads(self):
        width = self.draw(st.sampled_from([1, 4]))
        out = self.fresh("loaded", width)
        self.add(load(out, self.offset, 16 * self.draw(st.integers(0, 90))), out, width)

    def computes(self):
        names = ("v_add_u32_e32", "v_xor_b32_e32", "v_mul_lo_u32", "v_max_u32_e32")
        out = self.fresh("computed")
        name = self.draw(st.sampled_from(names))
        self.add(binary(name, out, self.one(), self.one()), out)

    def copies(self):
        out = self.fresh("copied")
        self.add(move(out, self.one()), out)

    def curves(self):
        out, one = self.fresh("curved"), self.one()
        self.add(op(lambda r: cdna.v_rcp_f32_e32(r(out), r(one)), [out], [one]), out)

    def writes_lds(self):
        self.add(self.to_lds(self.one()))

    def reads_lds(self):
        out = self.fresh("read")
        make = lambda r: cdna.ds_read_b32(r(out), r(self.offset))  # noqa: E731
        self.add(op(make, [out], [self.offset], source="lds"), out)

    def scalar(self):
        out, at = self.fresh("scalar", 1, ("s",)), 4 * self.draw(st.integers(0, 99))
        make = lambda r: cdna.s_load_dword(r(out), r(INPUT), offset=at, imm=1)  # noqa: E731
        self.add(op(make, [out], [INPUT]))
        self.scalars.append(out)

    def first_lane(self):
        out, one = self.fresh("scalar", 1, ("s",)), self.one()
        make = lambda r: cdna.v_readfirstlane_b32_e32(v[r(out).offset], r(one))  # noqa: E731
        self.add(op(make, [out], [one]))
        self.scalars.append(out)

    def uses_scalar(self):
        if self.scalars:
            scalar = self.draw(st.sampled_from(self.scalars))
            out, one = self.fresh("mixed"), self.one()
            make = lambda r: cdna.v_xor_b32_e32(r(out), r(scalar), r(one))  # noqa: E731
            self.add(op(make, [out], [scalar, one]), out)

    def multiplies(self):
        """A product in an accumulator that starts with words of memory."""
        acc, a, b = (self.fresh("factor", width) for width in (4, 2, 2))
        encode = cdna.v_mfma_f32_16x16x16_f16
        for each in (acc, a, b):
            self.add(load(each, self.offset, 16 * self.draw(st.integers(0, 90))))
        make = lambda r: encode(r(acc), r(a), r(b), r(acc))  # noqa: E731
        for _ in range(self.draw(st.integers(1, 3))):
            self.add(op(make, [acc], [a, b, acc], early=True))
        self.pool += [Part(acc, n, 1) for n in range(4)]

    def some(self, most):
        kinds = (self.loads, self.computes, self.copies, self.curves, self.writes_lds,
                 self.reads_lds, self.scalar, self.first_lane, self.uses_scalar,
                 self.multiplies)  # fmt: skip
        for _ in range(self.draw(st.integers(1, most))):
            self.draw(st.sampled_from(kinds))()
        code, self.code = self.code, []
        return code


@st.composite
def programs(draw):
    """Some code, a loop that carries two values, and stores of what there is."""
    maker = Maker(draw)
    first = maker.some(10)
    before = [maker.one(), maker.one()]
    carried = [maker.fresh("carried") for _ in before]
    count = maker.fresh("count", 1, ("s",))
    first += map(move, carried, before)
    first.append(op(lambda r: cdna.s_mov_b32(r(count), 2), [count]))
    pool, scalars = list(maker.pool), list(maker.scalars)
    maker.pool += carried
    body = maker.some(12)
    new = [maker.one(), maker.one()]
    between = [maker.fresh("between") for _ in new]
    body += [*map(move, between, new), *map(move, carried, between)]
    less = op(lambda r: cdna.s_sub_u32(r(count), r(count), 1), [count], [count])
    ask = op(lambda r: cdna.s_cmp_lg_u32(r(count), 0), (), [count])
    again = op(lambda _: cdna.s_cbranch_scc1(0), target=1)
    maker.pool, maker.scalars = [*pool, *carried], scalars
    last = maker.some(8)
    kept = [maker.one() for _ in range(6)]
    out = maker.fresh("out", 4)
    last += [
        op(lambda r, n=n: cdna.v_mov_b32_e32(r(Part(out, n, 1)), r(kept[n])),
           [Part(out, n, 1)], [kept[n]])
        for n in range(4)
    ]  # fmt: skip
    last.append(store(out, maker.offset))
    return [first, body, [less, ask, again], last]


def blocks_of(parts):
    first, body, turn, last = parts
    return [
        Block(tuple(first), (1,)),
        Block((*body, *turn), (1, 2), 1),
        Block(tuple(last)),
    ]


def registers(parts):
    return {
        (part.value, n)
        for part in parts
        for n in range(part.first, part.first + part.width)
    }


def node_of(operation):
    """What it touches; stores stay in the order of everything, LDS in its own."""
    reads, writes = registers(operation.uses), registers(operation.defines)
    (reads if operation.defines else writes).add("everything")
    writes |= {"lds"} if operation.source == "lds" else set()
    slow = Price("vmem", 4, 4, 0, 60) if len(operation.uses) == 2 else Price("", 4)
    return Node(frozenset(reads), frozenset(writes), slow)


def names(bits, live):
    rows = [(v, n) for v in bits.values(live) for n in range(v.width)]
    return frozenset((v, n) for v, n in rows if live >> (bits.first[v] + n) & 1)


def reordered(parts, vectors):
    """The same program, its straight parts in the order of the list scheduler."""
    blocks = blocks_of(parts)
    flow = Flow.of(blocks)
    bits = flow.bits
    straight, ends = [parts[0], parts[1], parts[3]], [(), parts[2], ()]
    limits = Limits(100, vectors, vectors)
    rows = {
        (value, n): Registers(Sort(value.files != ("s",)), 1)
        for value in bits.first
        for n in range(value.width)
    }
    found = []
    for operations, end, live in zip(straight, ends, flow.behind, strict=True):
        for each in reversed(end):
            live = live & ~bits.parts(each.defines) | bits.parts(each.uses)  # noqa: PLW2901
        before = live
        for each in reversed(operations):
            before = before & ~bits.parts(each.defines) | bits.parts(each.uses)
        nodes = [*map(node_of, operations)]
        region = Region(nodes, rows, names(bits, before), names(bits, live))
        found.append([operations[n] for n in Listing(region).within(limits)])
    return [found[0], found[1], parts[2], found[2]]


def check(parts, chip):
    blocks = blocks_of(parts)
    expected, reports = naive(blocks, chip).run(WORDS)
    assert reports == []
    for program in (parts, reordered(parts, 24), reordered(parts, 500)):
        found, reports = emit(blocks_of(program), chip).run(WORDS)
        assert reports == []
        assert (found == expected).all()


quietly = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("chip", CHIPS)
@settings(quietly, max_examples=12)
@given(programs())
def test_registers_waits_and_order_do_not_matter(chip, parts):
    check(parts, chip)


@pytest.mark.fuzz
@pytest.mark.parametrize("chip", CHIPS)
@settings(quietly, max_examples=150)
@given(programs())
def test_they_do_not_matter_in_many_programs(chip, parts):
    check(parts, chip)


@pytest.mark.fuzz
@pytest.mark.parametrize("chip", CHIPS)
@settings(quietly, max_examples=40)
@given(programs())
def test_every_wait_of_random_programs_is_needed(chip, parts):
    emitted = emit(blocks_of(parts), chip)
    idle = [
        repr(emitted.codes[block][at : at + 2])
        for block, at in emitted.added
        if not emitted.without(block, at).run(WORDS)[1]
    ]
    assert idle == []
