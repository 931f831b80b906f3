"""Matrix instructions against products of whole matrices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from warp_kernels import run_threads

HALF, BRAIN, SINGLE = np.float16, ml_dtypes.bfloat16, np.float32
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2

PRODUCTS = [
    ("m16n8k16", "f32.f16.f16.f32", HALF, HALF, SINGLE),
    ("m16n8k8", "f32.f16.f16.f32", HALF, HALF, SINGLE),
    ("m16n8k16", "f16.f16.f16.f16", HALF, HALF, HALF),
    ("m16n8k16", "f32.bf16.bf16.f32", BRAIN, BRAIN, SINGLE),
    ("m16n8k8", "f32.tf32.tf32.f32", SINGLE, SINGLE, SINGLE),
    ("m16n8k4", "f32.tf32.tf32.f32", SINGLE, SINGLE, SINGLE),
    ("m16n8k32", "s32.s8.s8.s32", np.int8, np.int8, np.int32),
    ("m16n8k32", "s32.u8.s8.s32", np.uint8, np.int8, np.int32),
    ("m16n8k16", "s32.s8.s8.s32", np.int8, np.int8, np.int32),
    ("m16n8k32", "f32.e4m3.e4m3.f32", E4M3, E4M3, SINGLE),
    ("m16n8k32", "f32.e4m3.e5m2.f32", E4M3, E5M2, SINGLE),
    ("m8n8k4", "f64.f64.f64.f64", np.float64, np.float64, np.float64),
]


def places_a(lane, element, size, m):
    """Row and column of A: by the drawings of the ISA, section 9.7.14.5."""
    run = max(4 // size, 1)
    register, within = divmod(element, run)
    group, turn = divmod(lane, 4)
    tall = m // 8
    return group + 8 * (register % tall), turn * run + within + 4 * run * (
        register // tall
    )


def places_b(lane, element, size):
    run = max(4 // size, 1)
    register, within = divmod(element, run)
    return lane // 4, lane % 4 * run + within + 4 * run * register


def places_c(lane, element):
    return lane // 4 + 8 * (element // 2), lane % 4 * 2 + element % 2


def nineteen_bits(values):
    """What a product reads of f32: the upper bits."""
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def values(source, shape, dtype):
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        low, high = max(limits.min, -1000), min(limits.max, 1000)
        return source.integers(low, high, shape, endpoint=True).astype(dtype)
    return source.standard_normal(shape).astype(dtype)


def taken(matrix, places, elements):
    """[32, elements] of a matrix."""
    return np.array(
        [[matrix[places(lane, e)] for e in range(elements)] for lane in range(32)],
        matrix.dtype,
    )


def loads(first, count, offset, wide):
    kind, letter, step = ("f64", "f", 8) if wide else ("b32", "r", 4)
    lines = [
        f"ld.global.{kind} %{letter}{first + i}, [%d0+{offset + i * step}];"
        for i in range(count)
    ]
    names = ", ".join(f"%{letter}{first + i}" for i in range(count))
    return "\n".join(lines), "{" + names + "}"


@pytest.mark.parametrize(("shape", "kinds", "left", "right", "sums"), PRODUCTS)
def test_products(shape, kinds, left, right, sums):
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    source = np.random.default_rng(5)
    a, b = values(source, (m, k), left), values(source, (n, k), right)
    c = values(source, (m, n), sums)
    size = np.dtype(left).itemsize
    parts = [
        taken(a, lambda lane, e: places_a(lane, e, size, m), m * k // 32),
        taken(b, lambda lane, e: places_b(lane, e, size), n * k // 32),
        taken(c, places_c, m * n // 32),
    ]
    given = np.concatenate([p.view(np.uint8).reshape(32, -1) for p in parts], axis=1)
    wide = sums == np.float64
    unit = 8 if wide else 4
    counts = [p.nbytes // 32 // unit for p in parts]
    firsts = (0, counts[0], counts[0] + counts[1]) if wide else (10, 20, 30)
    texts, names, offset = [], [], 0
    for first, count in zip(firsts, counts, strict=True):
        text, name = loads(first, count, offset, wide)
        texts.append(text)
        names.append(name)
        offset += count * unit
    result = names[2]
    letter, kind = ("f", "f64") if wide else ("r", "b32")
    stores = [
        f"st.global.{kind} [%d1+{i * unit}], %{letter}{firsts[2] + i};"
        for i in range(counts[2])
    ]
    body = "\n".join(
        [
            *texts,
            f"mma.sync.aligned.{shape}.row.col.{kinds} {', '.join((result, *names))};",
            *stores,
        ]
    )
    out = np.zeros((32, counts[2] * unit), np.uint8)
    assert run_threads(body, given, out).reports == []
    found = out.view(sums)
    if "tf32" in kinds:
        a, b = nineteen_bits(a), nineteen_bits(b)
    exact = a.astype(np.float64) @ b.astype(np.float64).T + c.astype(np.float64)
    wanted = taken(exact.astype(sums), places_c, m * n // 32)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_of_shared_memory(count, transposed):
    """Rows of 16 bytes go to shared memory, and matrices to registers and back."""
    given = np.arange(32 * 8, dtype=np.uint16).reshape(32, 8)
    registers = ", ".join(f"%r{10 + i}" for i in range(count))
    trans = ".trans" if transposed else ""
    fill = (
        "mad.lo.u32 %r2, %r0, 16, %r1;\n"
        "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%d0];\n"
        "st.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7};\n"
        "bar.warp.sync 0xffffffff;\n"
    )
    op = f"sync.aligned.m8n8.x{count}{trans}.shared.b16"
    read = f"ldmatrix.{op} {{{registers}}}, [%r2];\n"
    stores = "\n".join(
        f"st.global.b32 [%d1+{4 * i}], %r{10 + i};" for i in range(count)
    )
    out = np.zeros((32, 2 * count), np.uint16)
    body = fill + read + stores
    assert run_threads(body, given.copy(), out, shared=512).reports == []
    for lane in range(32):
        for matrix in range(count):
            for half in range(2):
                row, column = lane // 4, 2 * (lane % 4) + half
                if transposed:
                    row, column = column, row
                wanted = given[matrix * 8 + row, column]
                assert out[lane, 2 * matrix + half] == wanted
    again = np.zeros((32, 8), np.uint16)
    back = (
        fill + read + "add.u32 %r3, %r2, 512;\n"
        f"stmatrix.{op} [%r3], {{{registers}}};\nbar.warp.sync 0xffffffff;\n"
        f"setp.ge.u32 %p1, %r0, {8 * count};\n@%p1 bra END;\n"
        "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];\n"
        "st.global.v4.b32 [%d1], {%r4, %r5, %r6, %r7};\nEND:"
    )
    assert run_threads(back, given.copy(), again, shared=1024).reports == []
    np.testing.assert_array_equal(again[: 8 * count], given[: 8 * count])


def test_a_part_of_a_warp_multiplies_nothing():
    given, out = np.zeros((32, 4), np.uint32), np.zeros((32, 4), np.uint32)
    body = (
        "setp.gt.u32 %p1, %r0, 3;\n"
        "@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r1];"
    )
    (report,) = run_threads(body, given, out, shared=128).reports
    assert report.code == "EP0511"


def test_a_product_of_half_a_warp_is_reported_and_does_nothing():
    given, out = np.zeros((32, 4), np.uint32), np.full((32, 4), 7, np.uint32)
    operands = "{%r4, %r5, %r6, %r7}"
    body = (
        "setp.gt.u32 %p1, %r0, 15;\n"
        "@%p1 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        f"{operands}, {operands}, {{%r4, %r5}}, {operands};"
    )
    (report,) = run_threads(body, given, out, shared=128).reports
    assert report.code == "EP0511"


@pytest.mark.parametrize("word", ["fence", "commit_group", "wait_group"])
def test_what_surrounds_products_takes_whole_warps(word):
    given = np.zeros((128, 4), np.uint32)
    text = f"wgmma.{word}.sync.aligned{' 0' * (word == 'wait_group')};"
    body = f"setp.eq.u32 %p1, %r0, 0;\n@%p1 {text}"
    (report,) = run_threads(body, given, given.copy(), threads=128).reports
    assert (report.code, report.count, report.thread) == ("EP0511", 1, 0)
    assert run_threads(text, given, given.copy(), threads=128).reports == []
