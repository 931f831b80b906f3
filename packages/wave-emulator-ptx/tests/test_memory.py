"""Loads, stores, atomics and asynchronous copies."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import HEAD
from operand_samples import integers
from warp_kernels import run_threads, words

from wave_emulator_ptx import LaunchOptions, UnknownInstructionError, emulate, load


@pytest.mark.parametrize("name", ["u8", "s8", "u16", "s16"])
def test_narrow_loads_are_extended(name):
    given = integers(name, 64, 1)
    found = words(f"ld.global.{name} %r3, [%d0];\nst.global.b32 [%d1], %r3;", given)
    assert found.tolist() == given.astype(np.int32).view(np.uint32).tolist()


@pytest.mark.parametrize("count", [2, 4])
def test_vectors(count):
    given = integers("u32", 32 * count, 2).reshape(32, count)
    names = ", ".join(f"%r{10 + i}" for i in range(count))
    out = np.zeros_like(given)
    body = (
        f"ld.global.nc.v{count}.b32 {{{names}}}, [%d0];\n"
        f"st.global.v{count}.b32 [%d1], {{{names}}};"
    )
    assert run_threads(body, given.copy(), out).reports == []
    np.testing.assert_array_equal(out, given)


def test_what_lies_outside_is_zero_and_is_not_written():
    given, out = np.ones(32, np.uint32), np.zeros(32, np.uint32)
    body = "ld.global.b32 %r3, [%d0+64];\nst.global.b32 [%d1+4], %r3;"
    reports = run_threads(body, given, out).reports
    assert [(r.code, r.count) for r in reports] == [("EP0503", 16), ("EP0503", 1)]
    assert out.tolist() == [0] + [1] * 16 + [0] * 15


@pytest.mark.parametrize("used", [0x0FFF, 0x03FF])
def test_bytes_that_a_load_does_not_use_need_not_be_there(used):
    given, out = np.arange(31, dtype=np.uint32), np.zeros(31, np.uint32)
    body = (
        "mul.lo.u32 %r2, %r0, 16;\ncvt.u64.u32 %d2, %r2;\n"
        "ld.param.u64 %d3, [from];\nadd.s64 %d3, %d3, %d2;\n"
        f'.pragma "used_bytes_mask {used:#x}";\n'
        "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d3];\n"
        "ld.param.u64 %d4, [to];\nadd.s64 %d4, %d4, %d2;\n"
        "st.global.v2.b32 [%d4], {%r10, %r11};\nst.global.b32 [%d4+8], %r12;"
    )
    assert run_threads(body, given, out, threads=8).reports == []
    wanted = np.where(np.arange(31) % 4 == 3, 0, given)
    if used == 0x03FF:
        wanted[2::4] |= np.uint32(0xFFFF0000)
    assert out.tolist() == wanted.tolist()


def test_a_mask_of_used_bytes_is_of_one_load():
    given, out = np.ones(31, np.uint32), np.zeros(31, np.uint32)
    wide = "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d3+112];\n"
    body = f'ld.param.u64 %d3, [from];\n.pragma "used_bytes_mask 0xf";\n{wide}{wide}'
    (report,) = run_threads(body, given, out).reports
    assert (report.code, report.count) == ("EP0503", 32)


def test_misaligned_accesses_do_nothing():
    given, out = np.ones(33, np.uint32), np.zeros(33, np.uint32)
    body = "ld.global.b32 %r3, [%d0+2];\nst.global.b32 [%d1], %r3;"
    (report,) = run_threads(body, given, out).reports
    assert (report.code, report.count) == ("EP0509", 32)


def test_reading_what_nobody_wrote():
    given, out = np.ones(32, np.uint32), np.zeros(32, np.uint32)
    reports = run_threads("ld.global.b32 %r3, [%d1];", given, out).reports
    assert [r.code for r in reports] == ["EP0505"]
    stored = "ld.shared.b32 %r3, [%r1]; st.global.b32 [%d1], %r3;"
    reports = run_threads(stored, given, out, shared=4).reports
    assert [r.code for r in reports] == ["EP0505"]


def test_threads_that_disagree_about_a_byte():
    given, out = integers("u32", 32, 3), np.zeros(32, np.uint32)
    for space, place in (("shared", "%r1"), ("global", "%d3")):
        body = (
            f"ld.param.u64 %d3, [to];\n"
            f"ld.global.b32 %r3, [%d0];\n"
            f"st.{space}.b32 [{place}], %r3;"
        )
        (report,) = run_threads(body, given, out, shared=16).reports
        assert report.code == "EP0508"


ATOMS = {
    "add.u32": lambda v, old: (old + int(v.sum())) & 0xFFFFFFFF,
    "min.s32": lambda v, old: min(old, int(v.view(np.int32).min())) & 0xFFFFFFFF,
    "max.u32": lambda v, old: max(old, int(v.max())),
    "or.b32": lambda v, old: old | int(np.bitwise_or.reduce(v)),
    "and.b32": lambda v, old: old & int(np.bitwise_and.reduce(v)),
    "xor.b32": lambda v, old: old ^ int(np.bitwise_xor.reduce(v)),
}


@pytest.mark.parametrize("op", ATOMS)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics(op, space):
    given = integers("u32", 64, 4)
    head, place, tail = "", "%d3", ""
    if space == "shared":
        head = (
            "mov.u32 %r4, 5;\n"
            "setp.eq.u32 %p1, %r0, 0;\n"
            "@%p1 st.shared.b32 [%r1], %r4;\n"
            "bar.sync 0;\n"
        )
        place = "%r1"
        tail = (
            "\nbar.sync 0;\nld.shared.b32 %r5, [%r1];\n@%p1 st.global.b32 [%d1], %r5;"
        )
    body = (
        f"ld.param.u64 %d3, [to];\n"
        f"ld.global.b32 %r3, [%d0];\n"
        f"{head}red.{space}.{op} [{place}], %r3;{tail}"
    )
    out = np.array([5], np.uint32)
    text_out = np.zeros(64, np.uint32)
    text_out[0] = out[0]
    result = run_threads(body, given.copy(), text_out, threads=64, shared=16)
    codes = {r.code for r in result.reports}
    assert codes <= ({"EP0505"} if space == "global" else set())  # `out` is poisoned
    assert int(text_out[0]) == ATOMS[op](given, 5)


@pytest.mark.parametrize("op", ["min.f32", "max.f32", "min.f64", "and.f32"])
def test_floats_in_memory_are_only_added(op):
    body = f"red.global.{op} [%d1], %r3;"
    with pytest.raises(UnknownInstructionError, match=r"EP0301.*of one float"):
        run_threads(body, integers("u32", 64, 4), np.zeros(64, np.uint32), threads=64)


def test_atomics_return_what_was_there_to_each_in_turn():
    given = np.ones(64, np.uint32)
    body = (
        "mov.u32 %r4, 0;\n"
        "setp.eq.u32 %p1, %r0, 0;\n"
        "@%p1 st.shared.b32 [%r1], %r4;\n"
        "bar.sync 0;\n"
        "atom.shared.inc.u32 %r3, [%r1], 9;\n"
        "st.global.b32 [%d1], %r3;"
    )
    found = words(body, given, shared=4)
    assert found.tolist() == [i % 10 for i in range(64)]
    swap = (
        "mov.u32 %r4, 0;\n"
        "setp.eq.u32 %p1, %r0, 0;\n"
        "@%p1 st.shared.b32 [%r1], %r4;\n"
        "bar.sync 0;\n"
        "atom.shared.cas.b32 %r3, [%r1], 0, %r0;\n"
        "st.global.b32 [%d1], %r3;"
    )
    assert words(swap, given, shared=4).tolist() == [0, 0] + [1] * 62


COPY = (
    "mad.lo.u32 %r2, %r0, 16, %r1;\n"
    "cp.async.cg.shared.global [%r2], [%d0], 16{size};\n"
    "{commit}{wait}ld.shared.b32 %r3, [%r2];\n"
    "st.global.b32 [%d1], %r3;"
)
COMMIT, WAIT = "cp.async.commit_group;\n", "cp.async.wait_group 0;\n"


@pytest.mark.parametrize("count", [None, 0, 3, 4, 15, 16])
def test_copies_fill_up_with_zeros(count):
    given = integers("u8", 32 * 16, 5).reshape(32, 16)
    size = "" if count is None else f", {count}"
    out = np.zeros(32, np.uint32)
    body = COPY.format(size=size, commit=COMMIT, wait=WAIT)
    assert run_threads(body, given.copy(), out, shared=512).reports == []
    kept = given[:, :4].copy()
    kept[:, 16 if count is None else count :] = 0
    np.testing.assert_array_equal(out, kept.view(np.uint32)[:, 0])


@pytest.mark.parametrize(
    ("commit", "wait"),
    [("", ""), (COMMIT, ""), ("", WAIT), (COMMIT, WAIT.replace("0", "1"))],
)
def test_copies_that_nobody_waits_for(commit, wait):
    given = integers("u8", 32 * 16, 6).reshape(32, 16)
    body = COPY.format(size="", commit=commit, wait=wait)
    out = np.zeros(32, np.uint32)
    codes = [r.code for r in run_threads(body, given, out, shared=512).reports]
    assert "EP0506" in codes
    assert not out.any()


def test_variables_of_the_module_and_local_memory():
    text = (
        HEAD
        + """
.global .align 4 .u32 table[4] = {10, 20, 30, 40};
.visible .entry kernel(.param .u64 to)
{
    .local .align 8 .b8 depot[16];
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    mov.u32 %r0, %tid.x;
    mov.u64 %d0, depot;
    st.local.u32 [%d0+8], %r0;
    mov.u64 %d1, table;
    mul.wide.u32 %d2, %r0, 4;
    add.s64 %d1, %d1, %d2;
    ld.global.u32 %r1, [%d1];
    ld.local.u32 %r2, [%d0+8];
    add.u32 %r1, %r1, %r2;
    ld.param.u64 %d3, [to];
    add.s64 %d3, %d3, %d2;
    st.global.u32 [%d3], %r1;
    ret;
}
"""
    )
    out = np.zeros(4, np.uint32)
    options = LaunchOptions(poison=frozenset({0}))
    emulate(load(text), [out], grid=(1, 1, 1), block=(4, 1, 1), options=options)
    assert out.tolist() == [10, 21, 32, 43]
