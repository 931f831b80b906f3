"""Faults planted in right kernels are found, and right kernels raise no alarm."""

from __future__ import annotations

import numpy as np
import pytest
from operand_samples import integers
from warp_kernels import run_threads

ORDERS = [None, 1, 2, 3, 4, 5]

# Each thread writes a word, reads that of a thread of another warp, then, after all
# have read, writes again.
EXCHANGE = """
    ld.global.b32 %r2, [%d0];
    mad.lo.u32 %r3, %r0, 4, %r1;
    st.shared.b32 [%r3], %r2;
    bar.sync 0;
    xor.b32 %r4, %r0, {partner};
    mad.lo.u32 %r4, %r4, 4, %r1;
    ld.shared.b32 %r5, [%r4];
    bar.sync 0;
    st.shared.b32 [%r3], %r0;
    st.global.b32 [%d1], %r5;
"""
BARRIER = "bar.sync 0;"


def without(text, number):
    """A text less one of its barriers."""
    parts = text.split(BARRIER)
    kept = BARRIER.join(parts[: number + 1])
    return kept + BARRIER.join(["", *parts[number + 1 :]])[len(BARRIER) :]


def exchange(text, threads=128, order=None):
    given, out = integers("u32", threads, 1), np.zeros(threads, np.uint32)
    result = run_threads(
        text, given.copy(), out, threads=threads, shared=512, order=order
    )
    return result.reports, given, out


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("partner", [64, 1])
def test_an_exchange_raises_no_alarm(order, partner):
    reports, given, out = exchange(EXCHANGE.format(partner=partner), order=order)
    assert reports == []
    np.testing.assert_array_equal(out, given[np.arange(128) ^ partner])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("partner", [64, 1])
@pytest.mark.parametrize("number", [0, 1])
def test_each_barrier_is_missed(number, partner, order):
    text = without(EXCHANGE.format(partner=partner), number)
    reports, _, _ = exchange(text, order=order)
    assert {r.code for r in reports} & {"EP0501", "EP0505"}
    assert all(r.other_line for r in reports if r.code == "EP0501")


@pytest.mark.parametrize("order", ORDERS)
def test_a_fence_of_the_warp_orders_its_lanes_and_no_others(order):
    fence = "bar.warp.sync 0xffffffff;"
    near = EXCHANGE.format(partner=1).replace(BARRIER, fence)
    assert exchange(near, order=order)[0] == []
    far = EXCHANGE.format(partner=64).replace(BARRIER, fence)
    assert exchange(far, order=order)[0]


@pytest.mark.parametrize("order", ORDERS)
def test_named_barriers_join_those_who_come(order):
    """Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2."""
    named = "shr.u32 %r6, %r0, 6;\nadd.u32 %r6, %r6, 1;\nbar.sync %r6, 64;"
    reports, given, out = exchange(
        EXCHANGE.format(partner=32).replace(BARRIER, named), order=order
    )
    assert reports == []
    np.testing.assert_array_equal(out, given[np.arange(128) ^ 32])
    reports, _, _ = exchange(
        EXCHANGE.format(partner=64).replace(BARRIER, named), order=order
    )
    assert reports


PRODUCER = """
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra CONSUME;
    ld.global.b32 %r2, [%d0];
    mad.lo.u32 %r3, %r0, 4, %r1;
    st.shared.b32 [%r3], %r2;
    bar.arrive 1, 64;
    bra END;
CONSUME:
    bar.sync 1, 64;
    sub.u32 %r3, %r0, 32;
    mad.lo.u32 %r3, %r3, 4, %r1;
    ld.shared.b32 %r2, [%r3];
    st.global.b32 [%d1], %r2;
END:
"""


@pytest.mark.parametrize("order", ORDERS)
def test_arriving_without_waiting(order):
    given, out = integers("u32", 64, 2), np.zeros(64, np.uint32)
    reports = run_threads(
        PRODUCER, given.copy(), out, threads=64, shared=128, order=order
    ).reports
    assert reports == []
    np.testing.assert_array_equal(out[32:], given[:32])
    early = PRODUCER.replace("    bar.arrive 1, 64;\n", "").replace(
        "    mad.lo.u32", "    bar.arrive 1, 64;\n    mad.lo.u32", 1
    )
    reports = run_threads(
        early, given.copy(), out, threads=64, shared=128, order=order
    ).reports
    assert {r.code for r in reports} & {"EP0501", "EP0505"}


COPIES = """
    mad.lo.u32 %r2, %r0, 16, %r1;
    cp.async.cg.shared.global [%r2], [%d0], 16;
    cp.async.commit_group;
    add.u32 %r6, %r2, 2048;
    cp.async.cg.shared.global [%r6], [%d0], 16;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    xor.b32 %r3, %r0, 64;
    mad.lo.u32 %r3, %r3, 16, %r1;
    ld.shared.b32 %r4, [%r3];
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.b32 %r5, [%r3+2048];
    add.u32 %r4, %r4, %r5;
    st.global.b32 [%d1], %r4;
"""
NEEDED = [line for line in COPIES.splitlines() if "wait_group" in line or "bar" in line]


def pipelined(text, order):
    given = integers("u32", 128 * 4, 3).reshape(128, 4)
    out = np.zeros(128, np.uint32)
    result = run_threads(text, given.copy(), out, threads=128, shared=4096, order=order)
    return result.reports, given, out


@pytest.mark.parametrize("order", ORDERS)
def test_two_groups_of_copies(order):
    reports, given, out = pipelined(COPIES, order)
    assert reports == []
    np.testing.assert_array_equal(out, 2 * given[np.arange(128) ^ 64, 0])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("number", range(4))
def test_each_wait_and_barrier_of_copies_is_missed(number, order):
    lines = COPIES.splitlines()
    places = [i for i, line in enumerate(lines) if line in NEEDED]
    del lines[places[number]]
    assert pipelined("\n".join(lines), order)[0]


PADDED = """
    mad.lo.u32 %r2, %r0, 4, %r1;
    setp.lt.u32 %p0, %r0, 32;
    @%p0 st.shared.b32 [%r2], %r0;
    bar.sync 0;
    ld.shared.b32 %r3, [%r2];
    {use}
    st.global.b32 [%d1], %r4;
"""
COUNTED = """
    mov.b32 %r4, 0;
AGAIN:
    sub.u32 %r3, %r3, 1;
    setp.gt.s32 %p0, %r3, 0;
    @%p0 bra AGAIN;
"""


@pytest.mark.parametrize(
    ("use", "matters"),
    [
        ("selp.b32 %r4, %r3, 7, %p0;", False),
        ("mov.b32 %r4, 7; @%p0 mov.b32 %r4, %r3;", False),
        ("mov.b32 %r4, %r3;", True),
        ("max.f32 %r4, %r3, 0fC0000000;", True),
        ("mul.f32 %r4, %r3, 0f00000000;", True),
        (COUNTED, True),
    ],
)
def test_bytes_that_nobody_wrote_are_reported_where_they_matter(use, matters):
    given, out = integers("u32", 64, 2), np.zeros(64, np.uint32)
    text = PADDED.format(use=use)
    reports = run_threads(text, given, out, threads=64, shared=256).reports
    assert [r.code for r in reports] == ["EP0505"] * matters


SAME = """
    st.shared.b32 [%r1], {value};
    bar.sync 0;
    ld.shared.b32 %r2, [%r1];
    st.global.b32 [%d1], %r2;
"""


@pytest.mark.parametrize("order", ORDERS)
def test_threads_may_store_the_same_by_one_instruction(order):
    assert exchange(SAME.format(value=7), order=order)[0] == []
    reports, _, _ = exchange(SAME.format(value="%r0"), order=order)
    assert {each.code for each in reports} & {"EP0501", "EP0508"}
    twice = "    st.shared.b32 [%r1], 7;\n" + SAME.format(value=7)
    assert exchange(twice, order=order)[0]
