"""Instructions of whole warps, against loops over their lanes."""

from __future__ import annotations

import numpy as np
import pytest
from operand_samples import integers
from warp_kernels import run_threads, words

LOAD = "ld.global.b32 %r2, [%d0];\n"
STORE = "\nst.global.b32 [%d1], %r3;"
ALL = "0xffffffff"


def shuffled(mode, lane, by, clamp):
    """The lane that is read, or None (PTX ISA 9.7.9.6, read as a program)."""
    segment, limit = clamp >> 8 & 31, clamp & 31
    least = lane & segment
    most = least | (limit & ~segment & 31)
    if mode == "up":
        return lane - by if lane - by >= most else None
    if mode == "down":
        return lane + by if lane + by <= most else None
    if mode == "bfly":
        return lane ^ by if lane ^ by <= most else None
    wanted = least | (by & ~segment & 31)
    return wanted if wanted <= most else None


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("by", [0, 1, 3, 16, 31])
@pytest.mark.parametrize("width", [32, 16, 4])
def test_shuffles(mode, by, width):
    given = integers("u32", 64, 1)
    segment = 32 - width << 8
    clamp = segment if mode == "up" else segment | 31
    body = f"{LOAD}shfl.sync.{mode}.b32 %r3|%p1, %r2, {by}, {clamp}, {ALL};{STORE}"
    found = words(body, given)
    told = words(body.replace(STORE, "\nselp.u32 %r3, 1, 0, %p1;" + STORE), given)
    for thread, value in enumerate(given):
        source = shuffled(mode, thread % 32, by, clamp)
        warp = thread // 32 * 32
        assert found[thread] == (value if source is None else given[warp + source])
        assert told[thread] == (source is not None)


def test_votes():
    given = integers("u32", 64, 2)
    head = LOAD + "and.b32 %r4, %r2, 1;\nsetp.eq.u32 %p1, %r4, 1;\n"
    odd = (given & 1).reshape(2, 32)
    ballot = words(f"{head}vote.sync.ballot.b32 %r3, %p1, {ALL};{STORE}", given)
    wanted = [(int(x) << i) for w in odd for i, x in enumerate(w)]
    assert ballot.reshape(2, 32).tolist() == [
        [sum(wanted[w * 32 : w * 32 + 32])] * 32 for w in (0, 1)
    ]
    for mode, verdict in (("any", True), ("all", False), ("uni", False)):
        body = (
            f"{head}vote.sync.{mode}.pred %p2, %p1, {ALL};\n"
            f"selp.u32 %r3, 1, 0, %p2;{STORE}"
        )
        assert words(body, given).tolist() == [verdict] * 64
    same = np.full(32, 3, np.uint32)
    body = (
        f"{head}vote.sync.all.pred %p2, !%p1, {ALL};\nselp.u32 %r3, 1, 0, %p2;{STORE}"
    )
    assert words(body, same).tolist() == [0] * 32


@pytest.mark.parametrize(
    ("op", "name", "function"),
    [
        ("add", "s32", np.add.reduce),
        ("min", "s32", np.minimum.reduce),
        ("max", "u32", np.maximum.reduce),
        ("and", "b32", np.bitwise_and.reduce),
        ("or", "b32", np.bitwise_or.reduce),
        ("xor", "b32", np.bitwise_xor.reduce),
    ],
)
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x0000FFFF])
def test_reductions(op, name, function, mask):
    given = integers(name, 64, 3)
    guard = (
        ""
        if mask == 0xFFFFFFFF
        else "and.b32 %r5, %r0, 31;\nsetp.ge.u32 %p3, %r5, 16;\n@%p3 bra END;\n"
    )
    body = f"{LOAD}{guard}redux.sync.{op}.{name} %r3, %r2, {mask};{STORE}\nEND:"
    out = np.zeros(64, np.uint32)
    assert run_threads(body, given, out, threads=64).reports == []
    lanes = 32 if mask == 0xFFFFFFFF else 16
    for warp in (0, 32):
        wanted = function(given[warp : warp + lanes], dtype=given.dtype)
        found = out[warp : warp + lanes].view(given.dtype)
        assert found.tolist() == [wanted] * lanes


def test_election_and_active_lanes():
    given = np.zeros(32, np.uint32)
    body = f"elect.sync %r4|%p1, {ALL};\nselp.u32 %r3, 7, 0, %p1;{STORE}"
    assert words(body, given).tolist() == [7] + [0] * 31
    body = (
        f"setp.lt.u32 %p1, %r0, 5;\n"
        f"mov.u32 %r3, 0;\n"
        f"@!%p1 bra L;\n"
        f"activemask.b32 %r3;\n"
        f"L:{STORE}"
    )
    assert words(body, given).tolist() == [31] * 5 + [0] * 27


def test_lanes_that_a_mask_names_have_to_be_there():
    given, out = integers("u32", 32, 4), np.zeros(32, np.uint32)
    body = (
        f"{LOAD}mov.u32 %r3, 0;\n"
        f"setp.gt.u32 %p1, %r0, 7;\n"
        f"@%p1 shfl.sync.bfly.b32 %r3, %r2, 1, 31, {ALL};{STORE}"
    )
    (report,) = run_threads(body, given, out).reports
    assert (report.code, report.count, report.thread) == ("EP0511", 24, 8)


def test_special_registers():
    body = (
        "mov.u32 %r3, %laneid;\n"
        "mov.u32 %r4, %warpid;\n"
        "mad.lo.u32 %r3, %r4, 100, %r3;\n"
        "mov.u32 %r4, %lanemask_lt;\n"
        "popc.b32 %r4, %r4;\n"
        "mad.lo.u32 %r3, %r4, 1000, %r3;"
    )
    found = words(body + STORE, np.zeros(64, np.uint32))
    assert found.tolist() == [t % 32 * 1001 + t // 32 * 100 for t in range(64)]
