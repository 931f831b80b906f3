"""Texts of which a part would have been passed over are refused, with their line."""

from __future__ import annotations

import re

import numpy as np
import pytest
from elementwise import HEAD
from warp_kernels import TEXT, run_threads

from wave_emulator_ptx import (
    DeclarationError,
    EmulatorError,
    ExecutionError,
    LaunchError,
    LaunchOptions,
    PtxSyntaxError,
    UnknownInstructionError,
    emulate,
    load,
)

EMPTY = np.zeros(32, np.uint32)


def kernel(body="", *, top="", limits=""):
    """A kernel without parameters; its body begins in line 9."""
    return f"{HEAD}{top}\n.visible .entry kernel(){limits}\n{{\n{body}\nret;\n}}\n"


def launch(text, threads=32, **asked):
    emulate(load(text), [], grid=(1, 1, 1), block=(threads, 1, 1), **asked)


def what_is_written(body):
    """What 32 threads write where `%d1` points."""
    out = EMPTY.copy()
    run_threads(body, EMPTY, out)
    return out.tolist()


def refused(text):
    """What is wrong with a text."""
    with pytest.raises(EmulatorError) as found:
        launch(text)
    return str(found.value)


REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<4>;\n"


@pytest.mark.parametrize(
    ("written", "value"),
    [("017", 15), ("0b101", 5), ("0x1fU", 31), ("0", 0), ("18446744073709551615", -1)],
)
def test_integers_have_the_base_that_they_begin_with(written, value):
    out = np.zeros(32, np.uint64)
    run_threads(f"mov.u64 %d2, {written};\nst.global.b64 [%d1], %d2;", EMPTY, out)
    assert out.view(np.int64).tolist() == [value] * 32


@pytest.mark.parametrize(
    "written", ["09", "0x", "1" * 5000, str(1 << 64), hex(1 << 64), "0" + "7" * 5000]
)
def test_numbers_that_are_none_or_have_too_many_bits(written):
    text = kernel(f"{REGISTERS}mov.u64 %d1, {written};")
    assert re.match("EP0101: line 9:", refused(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (kernel().replace(".target sm_90", ""), "`.target` is missing"),
        (kernel().replace("sm_90", "x86"), "an architecture"),
        (kernel().replace("8.4", "eight"), "a version"),
        (kernel(top=".section .x { .b8 1"), "does not end before `.visible`"),
        (kernel(top=".file " + "1" * 5000 + ' "a"'), "more than 64 bits"),
        (kernel("{" * 3000), "blocks are nested"),
        (kernel("mov.b64 %d1, " + "{" * 3000), "a number is missing"),
        (kernel("ld.b32 %r1, [" + "a, {[" * 3000), "a number is missing"),
        (kernel('.pragma "used_bytes_mask foo";'), "`foo` is no integer"),
        (kernel(".reg .b32 %r<200000000>;"), "more than 65536 registers"),
        (kernel(".reg .b32 %r<60000>, %q<60000>;"), "more than 65536 registers"),
        (kernel(".reg .b32 %r<-5>;"), "a number is missing before `-`"),
        (kernel(".reg .b32 %r; .reg .b32 %r;"), "`%r` is declared already"),
        (kernel(".reg .b32 %r.x;"), "`%r.x` cannot be declared"),
        (kernel(".reg .bf16 %r;"), "a type is missing before `.bf16`"),
        (kernel("mov.b64 %d1, {};"), "nothing stands in the braces"),
        (kernel("mov.b32 %r1 5;"), "`,` or `;` is missing before `5`"),
        (kernel("mov.f32 %f1, -0f3F800000;"), "the sign is among the bits"),
        (kernel() + kernel().partition("64\n")[2], "`kernel` is declared already"),
        (kernel(limits=".maxntid 0"), "takes other numbers"),
        (kernel(limits=".maxntid 1, 1, 1, 1"), "takes other numbers"),
        (kernel(limits=".minnctapersm"), "takes other numbers"),
        (kernel(limits=".frob 3"), "`.frob` is not supported here"),
        (kernel().replace("()", "(.param .u32 a, .param .u32 a)"), "declared already"),
        (kernel().replace("()", "(.param .u32 a[])"), "`a` has no size"),
        (kernel().replace("()", "(.param .pred a)"), "a type is missing"),
        (kernel(top=".shared .pred x;"), "a type is missing before `.pred`"),
        (kernel(top=".shared .align 3 .b8 x[4];"), "no power of two"),
        (kernel(top=".shared .align 0 .b8 x[4];"), "no power of two"),
        (kernel(top=".shared .b8 x[-4];"), "a number is missing"),
        (kernel(top=".shared .b8 x[0];"), "0 is too few"),
        (kernel(top=".shared .b8 x[];"), "`x` has no size"),
        (kernel(top=".shared .b8 x[2] = {1};"), "memory of .shared has no values"),
        (kernel(top=".global .b8 x[2] = {1, 2, 3};"), "3 values for `x[2]`"),
        (kernel(top=".global .f32 x = 1;"), "a value of `x` is no .f32"),
        (kernel(top=".global .b8 x; .global .b8 x;"), "`x` is declared already"),
        (kernel(top=".extern .global .b8 x;"), "`x` is declared elsewhere"),
        (kernel(top=".func f() { ret; }"), "have functions inlined"),
    ],
)  # fmt: skip
def test_texts_that_are_refused_when_read(text, words):
    with pytest.raises(PtxSyntaxError) as found:
        load(text)
    assert words in str(found.value)


@pytest.mark.parametrize(
    "declared",
    [
        ".shared .b8 x[300000];",
        ".shared .b8 x[200000]; .shared .b8 y[200000];",
        ".shared .align 1048576 .b8 x;",
        ".local .b8 x[99999999999];",
        ".global .b64 x[18446744073709551615];",
        ".global .b8 x[4000000000][4000000000];",
        ".const .b8 x[70000];",
    ],
)
def test_more_memory_than_there_is_is_refused_before_anything_is_allocated(declared):
    with pytest.raises(DeclarationError, match=r"EP0104: line 5:"):
        launch(kernel(top=declared))


MANY = f"x{'[18446744073709551615]' * 250}"
"""An array with more elements than Python prints digits of."""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (kernel(top=f".shared .b8 {MANY};"), 5),
        (kernel(top=f".shared .b8 a;\n.global .b8 {MANY} = {{1, 2, 3}};"), 6),
        (kernel(f".local .b8 {MANY};"), 8),
        (kernel().replace("()", f"(.param .b8 {MANY})"), 6),
    ],
)
def test_arrays_of_more_elements_than_addresses_are_refused_when_read(text, line):
    with pytest.raises(DeclarationError) as found:
        load(text)
    assert str(found.value).startswith(f"EP0104: line {line}: `x` has more than 1844")


def test_parameters_of_more_bytes_than_there_are():
    text = kernel().replace("()", "(.param .b8 a[40000])")
    with pytest.raises(DeclarationError, match=r"with `a` there are 40000 bytes"):
        launch(text)


SUMS = "{%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3}, {%f0, %f1, %f2, %f3}"

INSTRUCTIONS = [
    ("mad.lo.cc.u32 %r1, %r1, %r2, %r3", "no form of it that is executed has `.cc`"),
    ("mov.v2.u32 {%r1, %r2}, {%r3, %r4}", "`.v2`"),
    ("max.relu.s32 %r1, %r1, %r2", "`.relu`"),
    ("add.rz.f64 %d1, %d1, %d2", "`.f64`"),
    ("add.ftz.f16x2 %r1, %r1, %r2", "`.f16x2`"),
    ("mul.u32 %r1, %r1, %r2", "`.u32`"),
    ("mul.lo %r1, %r1, %r2", "a word is missing behind it"),
    ("set.eq.and.u32.u32 %r1, %r1, %r2, %p1", "`.and`"),
    ("slct.ftz.b32.f32 %r1, %r1, %r2, %f1", "`.ftz`"),
    ("shf.l.b32 %r1, %r1, %r2, %r3", "`.b32`"),
    ("prmt.b32.f4e %r1, %r1, %r2, 1", "`.f4e`"),
    ("setp.num.u32 %p1, %r1, %r2", "`.u32`"),
    ("setp.lt.b32 %p1, %r1, %r2", "`.b32`"),
    ("setp.eq.u32 %p1, %r1, %r2, %p2", "it takes"),
    ("cvt.sat.s32.s16 %r1, %h1", "`.s16`"),
    ("cvt.rn.sat.bf16.f32 %h1, %f1", "`.bf16`"),
    ("setp.eq.f16 %p1|%p2, %h1, %h1", "it takes a register"),
    ("cvt.rn.tf32.f32 %r1, %f1", "`.tf32`"),
    ("cvt.rn.sat.f32.s32 %f1, %r1", "has"),
    ("cvt.u32.f32 %r1, %f1", "`.f32`"),
    ("ld.global.v3.b32 {%r1, %r2, %r3}, [%d1]", "`.v3`"),
    ("ld.global.v2.b32 {%r1, %r2, %r3}, [%d1]", "it takes registers, an [address]"),
    ("ld.global.b32 %r1, [%d1], %r2", "it takes"),
    ("ld.shared.b32 %r1, %r2+4", "it takes"),
    ("mov.b64 %d1, [%d2]", "it takes"),
    ("mov.b32 %r1, %r2, %r3", "it takes"),
    ("add.u32 %r1, !%r2, 1", "it takes"),
    ("ret 5", "it takes no operands"),
    ("st.const.b32 [%d1], %r1", "`.const`"),
    ("red.async.relaxed.cluster.global.add.u32 [%d1], %r1", "`.async`"),
    ("atom.global.v2.f32.add %f1, [%d1], %f2", "has `.v2`"),
    ("cp.async.ca.shared.global [%r1], [%d1], 3", "it copies 4 or 8 or 16 bytes"),
    ("cp.async.cg.shared.global [%r1], [%d1], 8", "it copies 16 bytes"),
    ("cp.async.ca.shared.global [%r1], [%d1], 8, 9", "0 to 8 bytes"),
    ("cp.async.ca.shared.global [%r1], [%d1], 8, -1", "0 to 8 bytes"),
    ("and.pred %p1, %p1, 0f3F800000", "a number is no .pred"),
    ("cp.async.ca.shared.global [%r1], [%d1], 8, %p1", "`%p1` is no .u32"),
    ("cp.async.wait_all 1", "it takes no operands"),
    ("cp.async.wait_group 18446744073709551615", "0 to 2147483647 groups"),
    ("cp.async.bulk.wait_group -1", "0 to 2147483647 groups"),
    ("wgmma.wait_group.sync.aligned 2147483648", "0 to 2147483647 groups"),
    ("bar.sync 99", "0 to 15"),
    ("bar.sync 0, 33", "whole warps"),
    ("bar.red.popc.u32 %r1, 0, %p1", "`.red`"),
    ("lop3.b32 %r1, %r1, %r2, %r3, 999", "its table has eight bits"),
    ("lop3.and.b32 %r1, %r1, %r2, %r3, 1", "`.and`"),
    ("fence.proxy.tensormap::generic.release.gpu", "`.tensormap::generic`"),
    (f"mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {SUMS}", "`.sp`"),
    (f"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {SUMS}", "`.f32`"),
    (f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {SUMS}", "not its operands"),
    ("call.uni (%r1), f, (%r2, %r3)", "functions are not executed"),
    ("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [x, {%f0, %f1}]", "load from global"),
    ("add.u32 %r1, %d1, 5", "`%d1` is no .u32"),
    ("add.u32 %r1, %f1, 5", "`%f1` is no .u32"),
    ("add.u32 %d1, %r1, 5", "`%d1` is no .u32"),
    ("add.f32 %f1, %f1, 5", "a number is no .f32"),
    ("add.u32 %r1, %r1, 0f3F800000", "a number is no .u32"),
    ("selp.b32 %r1, %r1, %r2, %r3", "`%r3` is no .pred"),
    ("mov.b32 %r1, %p1", "`%p1` is no .b32"),
    ("@%r1 bra END", "`%r1` is no .pred"),
    ("ld.global.b32 %r1, [%f1]", "`%f1` is no .u64"),
]  # fmt: skip


@pytest.mark.parametrize(("instruction", "words"), INSTRUCTIONS)
def test_words_and_operands_that_nothing_executes_are_refused(instruction, words):
    text = kernel(f"{REGISTERS}{instruction};\nEND:")
    with pytest.raises(UnknownInstructionError) as found:
        launch(text)
    assert "line 9: `" in str(found.value)
    assert words in str(found.value)


@pytest.mark.parametrize("words", ["%r2", "0, %r2"])
def test_barriers_that_hardware_has_not_stop_it(words):
    with pytest.raises(ExecutionError, match="EP0305"):
        run_threads(f"mov.u32 %r2, 17;\nbar.sync {words};", EMPTY, EMPTY.copy())


def test_a_block_that_is_asked_for_exactly():
    text = kernel(limits=".reqntid 64")
    launch(text, threads=64)
    with pytest.raises(LaunchError, match="EP0203"):
        launch(text, threads=32)


def test_sizes_of_arrays_may_come_from_their_values():
    body = (
        "mov.u64 %d2, table;\nld.global.b32 %r2, [%d2+8];\n"
        "ld.global.b32 %r3, [%d2+4];\nadd.u32 %r2, %r2, %r3;\n"
        "st.global.b32 [%d1], %r2;"
    )
    text = TEXT.format(body=body, step_in=4, step_out=4).replace(
        ".visible", ".global .u32 table[] = {1, -2, 7};\n.visible"
    )
    out = EMPTY.copy()
    emulate(load(text), [EMPTY, out], grid=(1, 1, 1), block=(32, 1, 1))
    assert out.tolist() == [5] * 32


@pytest.mark.parametrize("value", [-1, 0, 1, 2])
def test_numbers_are_true_but_for_zero(value):
    body = (
        f"mov.pred %p1, {value};\nselp.u32 %r2, 7, 9, %p1;\nst.global.b32 [%d1], %r2;"
    )
    assert what_is_written(body) == [7 if value else 9] * 32


def test_memory_of_inner_blocks_is_their_own():
    body = (
        ".shared .align 4 .b8 here[4];\nmov.u32 %r2, here;\n"
        "{ .shared .align 4 .b8 here[4]; mov.u32 %r3, here; }\n"
        "sub.u32 %r2, %r3, %r2;\nst.global.b32 [%d1], %r2;"
    )
    assert what_is_written(body) == [4] * 32


def test_loops_within_loops_are_ordered_however_deep_they_are():
    depth = 1200
    text = "".join(f"L{i}:\nadd.u32 %r1, %r1, 1;\n" for i in range(depth))
    text += "".join(f"@%p1 bra L{depth - 1 - i};\n" for i in range(depth))
    launch(kernel(f"{REGISTERS}{text}"), options=LaunchOptions(hazards=False))


def test_directed_sums_see_what_does_not_fit_into_a_double():
    one, least = "0f3F800000", "0f00000001"
    body = (
        f"mov.f32 %r2, {one};\nmov.f32 %r3, {least};\nadd.rp.f32 %r2, %r2, %r3;\n"
        "st.global.b32 [%d1], %r2;"
    )
    assert what_is_written(body) == [0x3F800001] * 32


def test_subnormals_are_zero_before_they_are_rounded_up():
    body = (
        "mov.f32 %r2, 0f00000001;\ncvt.rpi.ftz.s32.f32 %r3, %r2;\n"
        "cvt.rpi.s32.f32 %r4, %r2;\nmad.lo.u32 %r4, %r4, 2, %r3;\n"
        "st.global.b32 [%d1], %r4;"
    )
    assert what_is_written(body) == [2] * 32
