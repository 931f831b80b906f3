"""Branches that part the lanes, loops, and launches that do not end."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import HEAD
from operand_samples import integers
from warp_kernels import run_threads, words

from wave_emulator_ptx import ExecutionError, LaunchOptions, emulate, load

# The steps of the Collatz sequence: each lane leaves the loop when it likes.
COLLATZ = """
    ld.global.b32 %r2, [%d0];
    mov.u32 %r3, 0;
LOOP:
    setp.le.u32 %p1, %r2, 1;
    @%p1 bra DONE;
    and.b32 %r4, %r2, 1;
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra EVEN;
    mad.lo.u32 %r2, %r2, 3, 1;
    bra NEXT;
EVEN:
    shr.u32 %r2, %r2, 1;
NEXT:
    add.u32 %r3, %r3, 1;
    bra LOOP;
DONE:
    st.global.b32 [%d1], %r3;
"""


def collatz(value):
    steps = 0
    while value > 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    return steps


@pytest.mark.parametrize("order", [None, 1, 2])
def test_lanes_that_leave_a_loop_one_by_one(order):
    given = integers("u32", 96, 1) % 1000
    asked = {} if order is None else {"order": order}
    assert words(COLLATZ, given, **asked).tolist() == [collatz(int(x)) for x in given]


def test_lanes_come_together_again():
    body = (
        "setp.lt.u32 %p1, %r0, 9;\n"
        "mov.u32 %r3, 1;\n"
        "@%p1 bra A;\n"
        "mov.u32 %r3, 2;\n"
        "A:\n"
        "shfl.sync.idx.b32 %r3, %r3, 31, 31, 0xffffffff;\n"
        "st.global.b32 [%d1], %r3;"
    )
    assert words(body, np.zeros(32, np.uint32)).tolist() == [2] * 32


@pytest.mark.parametrize("order", [None, 1])
def test_lanes_come_together_where_the_text_puts_it_first(order):
    body = (
        "bra PART;\n"
        "MEET:\n"
        "shfl.sync.idx.b32 %r3, %r3, 31, 31, 0xffffffff;\n"
        "add.u32 %r4, %r4, %r3;\n"
        "setp.lt.u32 %p1, %r4, 6;\n"
        "@%p1 bra ROUND;\n"
        "st.global.b32 [%d1], %r4;\n"
        "exit;\n"
        "PART:\n"
        "mov.u32 %r4, 0;\n"
        "ROUND:\n"
        "setp.lt.u32 %p1, %r0, 9;\n"
        "mov.u32 %r3, 1;\n"
        "@%p1 bra MEET;\n"
        "mov.u32 %r3, 2;\n"
        "bra MEET;\n"
    )
    asked = {} if order is None else {"order": order}
    assert words(body, np.zeros(64, np.uint32), **asked).tolist() == [6] * 64


def test_blocks_hide_names():
    body = (
        "mov.u32 %r3, 1;\n"
        "{ .reg .b32 %r3; mov.u32 %r3, 7; { .reg .b32 %r3; mov.u32 %r3, 9; } }\n"
        "st.global.b32 [%d1], %r3;"
    )
    assert words(body, np.zeros(32, np.uint32)).tolist() == [1] * 32


def test_a_barrier_that_some_never_reach():
    body = "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra END;\nbar.sync 0, 64;\nEND:"
    with pytest.raises(ExecutionError, match="EP0304: 32 threads wait for ever"):
        run_threads(body, np.zeros(64, np.uint32), np.zeros(64, np.uint32), threads=64)


def test_threads_that_ended_are_not_waited_for():
    body = "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra END;\nbar.sync 0;\nEND:"
    given = np.zeros(64, np.uint32)
    assert run_threads(body, given, given.copy(), threads=64).reports == []


@pytest.mark.parametrize("barrier", ["bar.sync", "barrier.sync.aligned"])
def test_a_warp_that_meets_in_two_parts_is_reported(barrier):
    body = (
        "setp.eq.u32 %p1, %r0, 0;\n"
        f"@%p1 bra ALONE;\n{barrier} 0;\nbra END;\nALONE: {barrier} 0;\nEND:"
    )
    given = np.zeros(64, np.uint32)
    reports = run_threads(body, given, given.copy(), threads=64).reports
    assert [(each.code, each.count) for each in reports] == [
        ("EP0511", 31),
        ("EP0511", 1),
    ]


def test_barriers_without_alignment_take_parts_of_warps():
    body = (
        "setp.eq.u32 %p1, %r0, 0;\n"
        "@%p1 bra ALONE;\nbarrier.sync 0;\nbra END;\nALONE: barrier.sync 0;\nEND:"
    )
    given = np.zeros(64, np.uint32)
    assert run_threads(body, given, given.copy(), threads=64).reports == []


def test_a_loop_without_an_end():
    text = HEAD + ".visible .entry kernel()\n{\nL:\nbra L;\n}"
    with pytest.raises(ExecutionError, match="EP0303"):
        emulate(
            load(text),
            [],
            grid=(1, 1, 1),
            block=(32, 1, 1),
            options=LaunchOptions(limit=99),
        )


def test_the_limit_is_that_of_all_workgroups():
    """Five thousand warps run in more than one batch, each within the limit."""
    text = f"{HEAD}.visible .entry kernel()\n{{ ret; }}\n"
    size = {"grid": (5000, 1, 1), "block": (32, 1, 1)}
    emulate(load(text), [], options=LaunchOptions(limit=5000), **size)
    with pytest.raises(ExecutionError, match=r"EP0303: .* in 4,999 warp-instructions"):
        emulate(load(text), [], options=LaunchOptions(limit=4999), **size)


def test_many_workgroups_of_odd_blocks():
    text = (
        HEAD
        + """
.visible .entry kernel(.param .u64 to)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    mov.u32 %r0, %ctaid.z;
    mov.u32 %r1, %nctaid.y;
    mov.u32 %r2, %ctaid.y;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    mov.u32 %r1, %nctaid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    mov.u32 %r1, %ntid.y;
    mov.u32 %r2, %tid.y;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    ld.param.u64 %d0, [to];
    mul.wide.u32 %d1, %r0, 4;
    add.s64 %d0, %d0, %d1;
    st.global.u32 [%d0], %r0;
    ret;
}
"""
    )
    grid, block = (7, 5, 3), (11, 7, 1)
    out = np.zeros(7 * 5 * 3 * 77, np.uint32)
    result = emulate(load(text), [out], grid=grid, block=block)
    assert result.reports == []
    assert result.warps == 7 * 5 * 3 * 3
    np.testing.assert_array_equal(out, np.arange(len(out)))


def test_labels_of_inner_blocks_are_their_own():
    block = """{{
    AGAIN:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p0, %r2, {0};
        @%p0 bra AGAIN;
    }}
    """
    body = "mov.u32 %r2, 0;\n" + block.format(5) + block.format(9)
    out = words(body + "st.global.b32 [%d1], %r2;", np.zeros(32, np.uint32))
    assert (out == 9).all()


@pytest.mark.parametrize("body", ["", "L:", "{ L: { M: } }", ".reg .b32 %r<4>;"])
@pytest.mark.parametrize("order", [None, 1])
def test_kernels_without_an_instruction_do_nothing(body, order):
    text = f"{HEAD}.visible .entry kernel()\n{{ {body} }}\n"
    options = LaunchOptions(order=order)
    size = {"grid": (3, 1, 1), "block": (40, 1, 1)}
    result = emulate(load(text), [], options=options, **size)
    assert (result.instructions, result.reports) == (0, [])
