"""Barriers in shared memory: phases, states, and uses that they do not allow."""

from __future__ import annotations

import numpy as np
import pytest
from operand_samples import integers
from test_hazards import ORDERS
from warp_kernels import run_threads

from wave_emulator_ptx import ExecutionError, UnknownInstructionError

# Each thread writes a word and arrives; then it reads that of a thread of another warp.
BEGIN = """
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [%r1+1024], {count};
READY:
    bar.sync 0;
    ld.global.b32 %r2, [%d0];
    mad.lo.u32 %r3, %r0, 4, %r1;
    xor.b32 %r4, %r0, 64;
    mad.lo.u32 %r4, %r4, 4, %r1;
    mov.b32 %r6, 0;
    mov.b32 %r7, 0;
"""
BY_PARITY = """
AGAIN:
    add.u32 %r2, %r2, 1;
    st.shared.b32 [%r3], %r2;
    mbarrier.arrive.shared.b64 _, [%r1+1024];
WAIT:
    mbarrier.{wait}.parity.shared.b64 %p1, [%r1+1024], %r6;
    @!%p1 bra WAIT;
    xor.b32 %r6, %r6, 1;
    ld.shared.b32 %r5, [%r4];
    mbarrier.arrive.shared.b64 _, [%r1+1024];
READ:
    mbarrier.{wait}.parity.shared.b64 %p1, [%r1+1024], %r6;
    @!%p1 bra READ;
    xor.b32 %r6, %r6, 1;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p2, %r7, 3;
    @%p2 bra AGAIN;
    st.global.b32 [%d1], %r5;
"""
BY_STATE = """
    st.shared.b32 [%r3], %r2;
    mbarrier.arrive.shared.b64 %d5, [%r1+1024], 2;
WAIT:
    mbarrier.{wait}.shared.b64 %p1, [%r1+1024], %d5;
    @!%p1 bra WAIT;
    ld.shared.b32 %r5, [%r4];
    st.global.b32 [%d1], %r5;
"""


def exchanged(body, order=None, count=128):
    given, out = integers("u32", 128, 1), np.zeros(128, np.uint32)
    result = run_threads(
        BEGIN.format(count=count) + body,
        given.copy(),
        out,
        threads=128,
        shared=2048,
        order=order,
    )
    return result.reports, given, out


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("wait", ["try_wait", "test_wait"])
def test_phases_follow_each_other(wait, order):
    reports, given, out = exchanged(BY_PARITY.format(wait=wait), order)
    assert reports == []
    np.testing.assert_array_equal(out, given[np.arange(128) ^ 64] + 3)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("wait", ["try_wait", "test_wait"])
def test_states_say_which_phase_is_waited_for(wait, order):
    reports, given, out = exchanged(BY_STATE.format(wait=wait), order, count=256)
    assert reports == []
    np.testing.assert_array_equal(out, given[np.arange(128) ^ 64])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("line", ["    @!%p1 bra WAIT;\n", "    @!%p1 bra READ;\n"])
def test_each_wait_is_missed(line, order):
    assert told_of(BY_PARITY.format(wait="try_wait").replace(line, ""), order)


def told_of(body, order):
    """What is wrong, in words."""
    try:
        return " ".join(map(str, exchanged(body, order)[0]))
    except ExecutionError as problem:
        return str(problem)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("count", [127, 129])
def test_counts_that_do_not_fit(count, order):
    with pytest.raises(ExecutionError, match="EP0304") as found:
        exchanged(BY_PARITY.format(wait="try_wait"), order, count)
    assert f"of {count} arrivals" in str(found.value)


INVALID = """    @!%p0 mbarrier.inval.shared.b64 [%r1+1024];
    bar.sync 0;
    st.shared.b32"""
MANY = """    mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1+1024], 2000000;
    st.shared.b32"""
USES = {
    "before its initialisation": (
        "    mbarrier.init.shared.b64 [%r1+1024], 128;\n",
        "",
    ),
    "with nothing between": ("    bar.sync 0;\n", ""),
    "after its end": ("    st.shared.b32", INVALID),
    "with more than it counts": ("_, [%r1+1024]", "_, [%r1+1024], 200"),
    "with more bytes than it can expect": ("    st.shared.b32", MANY),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("use", USES)
def test_uses_that_are_reported(use, order):
    before, after = USES[use]
    body = BEGIN.format(count=128) + BY_PARITY.format(wait="try_wait")
    assert before in body
    given, out = integers("u32", 128, 1), np.zeros(128, np.uint32)
    text = body.replace(before, after, 1)
    try:
        result = run_threads(text, given, out, threads=128, shared=2048, order=order)
        told = " ".join(map(str, result.reports))
    except ExecutionError as problem:
        told = str(problem)
    assert "EP0514" in told


COUNTS = {
    "no arrivals": ("mov.u32 %r2, 0;", "not 0"),
    "more than there is room for": ("mov.u32 %r2, 1048576;", "not 1048576"),
    "none for one thread of several": ("min.u32 %r2, %r0, 1;", "not 0"),
    "one for each of several threads": ("add.u32 %r2, %r0, 1;", "several do"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_initialisations_that_are_reported(name):
    begins, words = COUNTS[name]
    body = f"{begins}\n    mbarrier.init.shared.b64 [%r1], %r2;"
    (report,) = begun(body)
    assert report.code == "EP0514"
    assert words in report.message
    assert report.text == "mbarrier.init.shared.b64"


@pytest.mark.parametrize("count", [1, (1 << 20) - 1])
def test_a_barrier_begins_again_after_its_end(count):
    once = f"@%p1 mbarrier.init.shared.b64 [%r1], {count};\n"
    end = "@%p1 mbarrier.inval.shared.b64 [%r1];\n"
    body = f"setp.eq.u32 %p1, %r0, 0;\n{once}"
    assert begun(body + end + once) == []
    (report,) = begun(body + once)
    assert "mbarrier.inval comes first" in report.message


@pytest.mark.parametrize(("count", "reports"), [(2, 0), (1, 1)])
def test_the_last_to_arrive_does_not_say_that_others_come(count, reports):
    body = (
        "setp.eq.u32 %p1, %r0, 0;\n"
        f"@%p1 mbarrier.init.shared.b64 [%r1], {count};\n"
        "@%p1 mbarrier.arrive.noComplete.shared.b64 %d5, [%r1], 1;\n"
    )
    assert len(begun(body)) == reports


ACCESSES = {
    "st.shared.b32 [%r1+4], %r0;": 1,
    "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1];": 1,
    "atom.shared.add.u32 %r3, [%r1], 1;": 1,
    "cp.async.ca.shared.global [%r1], [%d0], 8;": 1,
    "st.shared.b32 [%r1+8], %r0;": 0,
}


@pytest.mark.parametrize("access", ACCESSES)
def test_the_bytes_of_a_barrier_are_its_own(access):
    begin = "@%p1 mbarrier.init.shared.b64 [%r1], 1;\n"
    end = "@%p1 mbarrier.inval.shared.b64 [%r1];\n"
    fill = "@%p1 st.shared.v4.b32 [%r1], {%r0, %r0, %r0, %r0};\n"
    head = f"setp.eq.u32 %p1, %r0, 0;\nmul.wide.u32 %d2, %r0, 4;\n{fill}"
    head += "sub.s64 %d0, %d0, %d2;\n"
    reports = begun(f"{head}{begin}@%p1 {access}")
    assert [each.code for each in reports] == ["EP0514"] * ACCESSES[access]
    assert begun(f"{head}{begin}{end}@%p1 {access}") == []


def begun(body):
    """What is reported of threads that initialise a barrier."""
    given = np.zeros(32, np.uint32)
    return run_threads(body, given, given.copy(), threads=32, shared=64).reports


@pytest.mark.parametrize("places", [16, 17])
def test_places_of_barriers_are_counted(places):
    """32 threads have a barrier in one place after the other, each in its own."""
    body = (
        "mad.lo.u32 %r3, %r0, 8, %r1;\nmov.u32 %r4, 0;\nNEXT:\n"
        "mbarrier.init.shared.b64 [%r3], 1;\nmbarrier.inval.shared.b64 [%r3];\n"
        "add.u32 %r3, %r3, 256;\nadd.u32 %r4, %r4, 1;\n"
        f"setp.lt.u32 %p1, %r4, {places};\n@%p1 bra NEXT;"
    )
    given = np.zeros(32, np.uint32)
    if places == 16:
        assert run_threads(body, given, given.copy(), shared=8192).reports == []
        return
    with pytest.raises(UnknownInstructionError, match=r"EP0301: line .* 512 places"):
        run_threads(body, given, given.copy(), shared=8192)
