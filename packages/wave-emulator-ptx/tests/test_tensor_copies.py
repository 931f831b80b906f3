"""Bulk copies of tensors and of plain bytes, by the rules of the driver's encoder."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from assembler import complaints
from group_products import HEAD
from operand_tiles import swizzled
from test_hazards import ORDERS

from wave_emulator_ptx import (
    ExecutionError,
    LaunchError,
    LaunchOptions,
    TensorMap,
    emulate,
    load,
)
from wave_emulator_ptx.device import EmulatorDevice
from wave_runtime import (
    Artifact,
    BindingInfo,
    ConstantInfo,
    LoadedKernel,
    Manifest,
    TensorMapInfo,
)
from wave_runtime.manifest import digest

KERNEL = (
    HEAD
    + """
.visible .entry kernel(.param .align 64 .b8 tensor[128], .param .u64 out,
    .param .s32 c0, .param .s32 c1, .param .s32 c2, .param .s32 c3, .param .s32 c4,
    .param .u32 bytes, .param .u32 at)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %d<8>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, memory;
    mov.b64 %d0, tensor;
    cvta.param.u64 %d0, %d0;
    ld.param.u64 %d1, [out];
    ld.param.u32 %r2, [c0];
    ld.param.u32 %r3, [c1];
    ld.param.u32 %r4, [c2];
    ld.param.u32 %r5, [c3];
    ld.param.u32 %r6, [c4];
    ld.param.u32 %r7, [bytes];
    ld.param.u32 %r8, [at];
    add.u32 %r8, %r8, %r1;
    setp.ne.u32 %p0, %r0, 0;
{body}
DONE:
    ret;
}}
"""
)

INTO = """
    @%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%r1], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 %d5, [%r1], %r7;
    cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile{completed}
        [%r8], [%d0, {{{where}}}], [%r1];
READY:
    bar.sync 0;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
    @!%p1 bra WAIT;
    mov.u32 %r9, %r0;
COPY:
    setp.ge.u32 %p2, %r9, %r7;
    @%p2 bra DONE;
    add.u32 %r10, %r8, %r9;
    ld.shared.u8 %r11, [%r10];
    cvt.u64.u32 %d3, %r9;
    add.u64 %d3, %d1, %d3;
    st.global.u8 [%d3], %r11;
    add.u32 %r9, %r9, 32;
    bra COPY;
"""

OUT = """
    mov.u32 %r9, %r0;
COPY:
    setp.ge.u32 %p2, %r9, %r7;
    @%p2 bra COPIED;
    add.u32 %r10, %r8, %r9;
    cvt.u64.u32 %d3, %r9;
    add.u64 %d3, %d1, %d3;
    ld.global.u8 %r11, [%d3];
    st.shared.u8 [%r10], %r11;
    add.u32 %r9, %r9, 32;
    bra COPY;
COPIED:
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p0 bra DONE;
    {operation}.{rank}d.global.shared::cta{words}.bulk_group [%d0, {{{where}}}], [%r8];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
"""
COMPLETED = ".mbarrier::complete_tx::bytes"
COORDINATES = ("%r2", "%r3", "%r4", "%r5", "%r6")


def text_of(body, rank, **words):
    """A kernel that copies a box of a tensor."""
    where = ", ".join(COORDINATES[:rank])
    words = {"rank": rank, "where": where, "completed": COMPLETED} | words
    return KERNEL.format(body=body.format(**words))


def launch(text, tensor, out, start, order=None, at=1024):
    given = [*start, *[0] * (5 - len(start)), tensor.box_bytes, at]
    return emulate(
        load(text),
        [tensor, out, *given],
        grid=(1, 1, 1),
        block=(32, 1, 1),
        shared=at + tensor.box_bytes,
        options=LaunchOptions(order=order),
    )


def map_of(array, box, name="u8", swizzle=0):
    """All of an array, whose last axis is the innermost dimension."""
    return TensorMap(
        name,
        array,
        array.shape[::-1],
        array.strides[-2::-1],
        tuple(box),
        swizzle,
    )


def boxed(array, box, start):
    """What a copy should bring: zeros outside."""
    found = np.zeros(tuple(box)[::-1], array.dtype)
    for at in np.ndindex(found.shape):
        place = tuple(a + b for a, b in zip(at, tuple(start)[::-1], strict=True))
        if all(0 <= p < n for p, n in zip(place, array.shape, strict=True)):
            found[at] = array[place]
    return found


def numbers(shape, dtype):
    return np.random.default_rng(1).integers(1, 200, shape).astype(dtype)


CASES = [
    ((100,), (64,), (0,), "u8", np.uint8),
    ((100,), (64,), (48,), "u8", np.uint8),
    ((7, 64), (32, 4), (16, 5), "u16", np.uint16),
    ((7, 64), (32, 4), (-16, -2), "u16", np.uint16),
    ((7, 64), (32, 4), (64, 0), "u16", np.uint16),
    ((3, 5, 20), (8, 3, 2), (16, 4, 2), "f32", np.float32),
    ((2, 3, 4, 32), (16, 2, 2, 2), (0, 3, 2, -1), "u8", np.uint8),
    ((2, 2, 2, 3, 16), (16, 2, 1, 2, 2), (0, 1, 1, 1, 0), "u8", np.uint8),
]


@pytest.mark.parametrize(("shape", "box", "start", "name", "dtype"), CASES)
@pytest.mark.parametrize("order", [None, 1, 3])
def test_boxes_arrive_with_zeros_outside(shape, box, start, name, dtype, order):
    array = numbers(shape, dtype)
    tensor = map_of(array, box, name)
    out = np.zeros(tensor.box_bytes, np.uint8)
    result = launch(text_of(INTO, len(box)), tensor, out, start, order)
    assert result.reports == []
    wanted = boxed(array, box, start)
    np.testing.assert_array_equal(out.view(dtype), wanted.ravel())


@pytest.mark.parametrize(("shape", "box", "start", "name", "dtype"), CASES)
@pytest.mark.parametrize("order", [None, 1, 3])
def test_boxes_leave_and_are_clipped(shape, box, start, name, dtype, order):
    array = numbers(shape, dtype)
    before = array.copy()
    given = numbers(tuple(box)[::-1], dtype) + dtype(1)
    text = text_of(OUT, len(box), operation="cp.async.bulk.tensor", words=".tile")
    tensor = map_of(array, box, name)
    if min(start) < 0:
        with pytest.raises(ExecutionError, match=r"EP0305.*below zero"):
            launch(text, tensor, given, start, order)
        np.testing.assert_array_equal(array, before)
        return
    assert launch(text, tensor, given, start, order).reports == []
    for at in np.ndindex(given.shape):
        place = tuple(a + b for a, b in zip(at, tuple(start)[::-1], strict=True))
        if all(0 <= p < n for p, n in zip(place, array.shape, strict=True)):
            before[place] = given[at]
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_swizzles_both_ways(swizzle):
    array = numbers((20, swizzle), np.uint8)
    tensor = map_of(array, (swizzle, 16), swizzle=swizzle)
    out = np.zeros(tensor.box_bytes, np.uint8)
    assert launch(text_of(INTO, 2), tensor, out, (0, 2)).reports == []
    places = [swizzled(at, swizzle) for at in range(len(out))]
    np.testing.assert_array_equal(out[places], array[2:18].ravel())
    back = np.zeros_like(array)
    text = text_of(OUT, 2, operation="cp.async.bulk.tensor", words="")
    other = map_of(back, (swizzle, 16), swizzle=swizzle)
    assert launch(text, other, out, (0, 2)).reports == []
    np.testing.assert_array_equal(back[2:18], array[2:18])


@pytest.mark.parametrize(
    ("operation", "function", "name"),
    [
        ("add", np.add, "f32"),
        ("add", np.add, "s32"),
        ("min", np.minimum, "s32"),
        ("max", np.maximum, "s32"),
        ("xor", np.bitwise_xor, "u32"),
        ("min", np.minimum, "f16"),
    ],
)
def test_reductions(operation, function, name):
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32, "u32": np.uint32}
    dtype = dtype[name]
    array, given = numbers((6, 8), dtype), numbers((4, 8), dtype)[::-1].copy()
    wanted = array.copy()
    wanted[3:] = function(wanted[3:], given[:3])
    text = text_of(
        OUT, 2, operation="cp.reduce.async.bulk.tensor", words=f".{operation}.tile"
    )
    assert launch(text, map_of(array, (8, 4), name), given, (0, 3)).reports == []
    np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [("min", [2, 2, 0x7FFF]), ("max", [2, 2, 0x7FFF]), ("add", [0x7FFF] * 3)],
)
def test_a_reduction_prefers_numbers(operation, wanted):
    nothing = [2, 0x7E01, 0xFE01], [0x7E00, 2, 0xFC01]
    array, given = (np.tile(np.array(each, np.uint16), (4, 8)) for each in nothing)
    text = text_of(
        OUT, 2, operation="cp.reduce.async.bulk.tensor", words=f".{operation}.tile"
    )
    tensor = map_of(array.view(np.float16), (24, 4), "f16")
    assert launch(text, tensor, given, (0, 0)).reports == []
    assert array[0, :3].tolist() == wanted


@pytest.mark.parametrize(
    ("operation", "name", "dtype"),
    [
        ("min", "f32", np.float32),
        ("max", "f32", np.float32),
        ("max", "f64", np.float64),
        ("xor", "f32", np.float32),
        ("add", "u16", np.uint16),
        ("add", "s64", np.int64),
    ],
)
def test_reductions_that_no_card_has(operation, name, dtype):
    array, given = numbers((6, 8), dtype), numbers((4, 8), dtype)
    before = array.copy()
    text = text_of(
        OUT, 2, operation="cp.reduce.async.bulk.tensor", words=f".{operation}.tile"
    )
    with pytest.raises(ExecutionError, match=f"EP0305.*no {operation} .* {name}"):
        launch(text, map_of(array, (8, 4), name), given, (0, 2))
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("rank", range(1, 6))
def test_the_assembler_takes_the_texts(tmp_path, rank):
    assert complaints(text_of(INTO, rank), tmp_path) == ""
    for operation, words in (("cp", ".tile"), ("cp.reduce", ".add.tile")):
        name = f"{operation}.async.bulk.tensor"
        assert (
            complaints(text_of(OUT, rank, operation=name, words=words), tmp_path) == ""
        )


# ------------------------------------------------------------------ rules

HALVES = np.zeros((64, 64), np.float16)
GOOD = map_of(HALVES, (64, 8), "f16", 128)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "e4m3"},
        {"extents": (64,) * 6, "strides": (128,) * 5, "box": (8,) * 6},
        {"strides": ()},
        {"strides": (120,)},
        {"offset": 8},
        {"extents": (64, 0)},
        {"box": (64, 257)},
        {"box": (4, 8), "swizzle": 0},
        {"swizzle": 64},
        {"swizzle": 16},
    ],
)
def test_maps_that_the_encoder_refuses(change):
    GOOD.check()
    with pytest.raises(LaunchError, match="EP0204"):
        replace(GOOD, **change).check()


def test_a_launch_asks_for_maps_where_the_kernel_takes_them():
    text, out = text_of(INTO, 2), np.zeros(1024, np.uint8)
    with pytest.raises(LaunchError, match="EP0204"):
        launch(text, replace(GOOD, offset=8), out, (0, 0))
    wrong = text.replace(".align 64 .b8 tensor[128]", ".u64 tensor")
    with pytest.raises(LaunchError, match="EP0201"):
        launch(wrong, GOOD, out, (0, 0))


@pytest.mark.parametrize("start", [1, 3, 4, 63])
def test_an_innermost_start_between_16_bytes_stops_the_hardware(start):
    with pytest.raises(ExecutionError, match="EP0305") as found:
        launch(text_of(INTO, 2), GOOD, np.zeros(1024, np.uint8), (start, 0))
    assert f"byte {2 * start}" in str(found.value)


@pytest.mark.parametrize(("at", "swizzle"), [(1024 + 64, 0), (1024 + 512, 128)])
def test_misaligned_places_are_reported(at, swizzle):
    tensor = map_of(HALVES, (64, 8), "f16", swizzle)
    result = launch(text_of(INTO, 2), tensor, np.zeros(1024, np.uint8), (0, 0), at=at)
    assert "EP0509" in {each.code for each in result.reports}


def test_a_tensor_beyond_its_array_is_reported():
    tensor = replace(GOOD, extents=(64, 70))
    result = launch(text_of(INTO, 2), tensor, np.zeros(1024, np.uint8), (0, 60))
    assert "EP0503" in {each.code for each in result.reports}


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (("    fence.mbarrier_init.release.cluster;\n", ""), {"EP0514"}),
        (("    fence.proxy.async.shared::cta;\n", ""), {"EP0510"}),
        (("proxy.async.shared::cta;", "proxy.async.global;"), {"EP0510"}),
        (("    bar.sync 0;\n", ""), {"EP0501", "EP0514", "EP0510", "EP0505"}),
        (("    cp.async.bulk.commit_group;\n", ""), {"EP0507"}),
        (("    cp.async.bulk.wait_group.read 0;\n", ""), {"EP0507"}),
        (("    @!%p1 bra WAIT;\n", ""), {"EP0506", "EP0501"}),
        (("    mbarrier.init.shared::cta.b64 [%r1], 1;\n", ""), {"EP0514"}),
    ],
)
@pytest.mark.parametrize("order", ORDERS[:3])
def test_each_fence_and_wait_is_missed(change, codes, order):
    array, out = numbers((20, 64), np.uint8), numbers(1024, np.uint8)
    tensor = map_of(array, (64, 16))
    words = {"operation": "cp.async.bulk.tensor", "words": ""}
    texts = [text_of(INTO, 2), text_of(OUT, 2, **words)]
    texts = [each.replace(*change) for each in texts if change[0] in each]
    found = set[str]()
    for text in texts:
        reports = launch(text, tensor, out, (0, 0), order).reports
        assert reports
        found |= {each.code for each in reports}
    assert found & codes


# ------------------------------------------------------------------ plain

PLAIN = """
    @%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%r1], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 %d5, [%r1], %r7;
    ld.param.u64 %d2, [from];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r8], [%d2], %r7, [%r1];
READY:
    bar.sync 0;
WAIT:
    mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;
    @!%p1 bra WAIT;
    @%p0 bra DONE;
    cp.async.bulk.prefetch.L2.global [%d1], %r7;
    cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r8], %r7;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
"""


@pytest.mark.parametrize("order", ORDERS)
def test_plain_bytes_there_and_back(order, tmp_path):
    text = KERNEL.format(body=PLAIN).replace(
        ".param .align 64 .b8 tensor[128]", ".param .u64 from"
    )
    text = text.replace("    mov.b64 %d0, tensor;\n    cvta.param.u64 %d0, %d0;\n", "")
    assert order or complaints(text, tmp_path) == ""
    given, out = numbers(480, np.uint8), np.zeros(480, np.uint8)
    result = emulate(
        load(text),
        [given, out, 0, 0, 0, 0, 0, 480, 1024],
        grid=(1, 1, 1),
        block=(64, 1, 1),
        shared=2048,
        options=LaunchOptions(order=order),
    )
    assert result.reports == []
    np.testing.assert_array_equal(out, given)


def test_every_array_of_a_map_is_written_in_place():
    arrays = [numbers((8, 64), np.uint8) for _ in range(2)]
    for array, start in product(arrays, (0, 4)):
        given = numbers(256, np.uint8)
        text = text_of(OUT, 2, operation="cp.async.bulk.tensor", words="")
        launch(text, map_of(array, (64, 4)), given, (0, start))
        np.testing.assert_array_equal(array[start : start + 4].ravel(), given)


DEVICE = """
.visible .entry move(.param .u64 a, .param .u64 b, .param .u32 M, .param .u32 N,
    .param .align 64 .b8 map[128])
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, memory;
    mov.b64 %d0, map;
    cvta.param.u64 %d0, %d0;
    ld.param.u64 %d1, [b];
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%r1], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 %d5, [%r1], 512;
    mov.u32 %r2, 8;
    mov.u32 %r3, 2;
    add.u32 %r4, %r1, 1024;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [%r4], [%d0, {%r2, %r3}], [%r1];
READY:
    bar.sync 0;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
    @!%p1 bra WAIT;
    mul.lo.u32 %r5, %r0, 16;
    add.u32 %r6, %r5, %r1;
    ld.shared.v2.u64 {%d2, %d3}, [%r6+1024];
    cvt.u64.u32 %d4, %r5;
    add.u64 %d4, %d1, %d4;
    st.global.v2.u64 [%d4], {%d2, %d3};
    ret;
}
"""


def test_the_device_makes_the_maps_of_a_manifest():
    """A box of 8 x 32 elements from (2, 8) on, of a matrix of 9 x 32."""
    code = (HEAD + DEVICE).encode()
    manifest = Manifest(
        name="move",
        target="sm_90a",
        parameters=("a", "b"),
        bindings=(
            BindingInfo("a", "f16", ("M", "N"), written=False),
            BindingInfo("b", "f16", ("8", "32"), written=True),
        ),
        constants=(
            ConstantInfo("M", "i32", 1, parameter=False),
            ConstantInfo("N", "i32", 1, parameter=False),
        ),
        grid=("1",),
        threads=32,
        wave_size=32,
        lds_bytes=2048,
        max_extent=1 << 30,
        code_bytes=len(code),
        code_digest=digest(code),
        versions={},
        form="ptx",
        tensor_maps=(TensorMapInfo("a", (8, 32)),),
    )
    source = np.random.default_rng(3).standard_normal((9, 32)).astype("f2")
    found = np.full((8, 32), 7, "f2")
    device = EmulatorDevice()
    LoadedKernel(Artifact(manifest, code), device)(source, found)
    wanted = np.zeros((8, 32), "f2")
    wanted[:7, :24] = source[2:, 8:]
    assert (found == wanted).all()
    assert device.reports() == []
