"""A GEMM with roles: a thread copies tiles into a ring, a warpgroup multiplies them."""

from __future__ import annotations

import numpy as np
from group_products import HEAD

from wave_emulator_ptx import LaunchOptions, LaunchResult, TensorMap, emulate, load

COPY = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
SIZE, SUMS = 64, 32
FULL, EMPTY, STAGED, SHARED = 32768, 32784, 33792, 33792 + 8192

TEXT = (
    HEAD
    + """
.visible .entry kernel(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128],
    .param .align 64 .b8 c[128], .param .u32 steps)
.maxntid 256
{{
    .reg .pred %p<8>;
    .reg .b32 %r<32>, %s<32>, %h<16>;
    .reg .b64 %d<16>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, memory;
    ld.param.u32 %r2, [steps];
    mov.b64 %d0, a;
    cvta.param.u64 %d0, %d0;
    mov.b64 %d1, b;
    cvta.param.u64 %d1, %d1;
    mov.b64 %d2, c;
    cvta.param.u64 %d2, %d2;
    mov.u32 %r10, %ctaid.x;
    shl.b32 %r10, %r10, 6;
    mov.u32 %r11, %ctaid.y;
    shl.b32 %r11, %r11, 6;
    mov.b32 %r3, 0;
    mov.b32 %r9, 0;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%r1+32768], 1;
    mbarrier.init.shared::cta.b64 [%r1+32776], 1;
    mbarrier.init.shared::cta.b64 [%r1+32784], 4;
    mbarrier.init.shared::cta.b64 [%r1+32792], 4;
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
    setp.lt.u32 %p1, %r0, 128;
    @%p1 bra CONSUME;
    setp.ne.u32 %p2, %r0, 128;
    @%p2 bra DONE;
    mov.b32 %r4, 1;
LOAD:
    setp.ge.u32 %p3, %r9, %r2;
    @%p3 bra DONE;
    mad.lo.u32 %r5, %r3, 8, %r1;
WAIT_EMPTY:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5+32784], %r4;
    @!%p4 bra WAIT_EMPTY;
    add.u32 %r6, %r5, 32768;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 16384;
    mad.lo.u32 %r7, %r3, 16384, %r1;
    shl.b32 %r8, %r9, 6;
    {copy}
        [%r7], [%d0, {{%r8, %r10}}], [%r6];
    add.u32 %r12, %r7, 8192;
    {copy}
        [%r12], [%d1, {{%r8, %r11}}], [%r6];
    add.u32 %r9, %r9, 1;
    xor.b32 %r3, %r3, 1;
    setp.eq.u32 %p5, %r3, 0;
    @%p5 xor.b32 %r4, %r4, 1;
    bra LOAD;
CONSUME:
    mov.b32 %r4, 0;
{zeros}
MULTIPLY:
    mad.lo.u32 %r5, %r3, 8, %r1;
WAIT_FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5+32768], %r4;
    @!%p4 bra WAIT_FULL;
    mad.lo.u32 %r7, %r3, 16384, %r1;
    shr.u32 %r7, %r7, 4;
    cvt.u64.u32 %d3, %r7;
    or.b64 %d3, %d3, 0x4000004000010000;
    add.u64 %d4, %d3, 512;
    wgmma.fence.sync.aligned;
{products}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    elect.sync %r13|%p6, 0xffffffff;
    @%p6 mbarrier.arrive.shared::cta.b64 _, [%r5+32784];
    add.u32 %r9, %r9, 1;
    xor.b32 %r3, %r3, 1;
    setp.eq.u32 %p5, %r3, 0;
    @%p5 xor.b32 %r4, %r4, 1;
    setp.lt.u32 %p3, %r9, %r2;
    @%p3 bra MULTIPLY;
    shr.u32 %r14, %r0, 5;
    and.b32 %r15, %r0, 31;
    shr.u32 %r16, %r15, 2;
    and.b32 %r17, %r15, 3;
    mad.lo.u32 %r18, %r14, 16, %r16;
    mad.lo.u32 %r18, %r18, 128, %r1;
    mad.lo.u32 %r18, %r17, 4, %r18;
{stores}
    fence.proxy.async.shared::cta;
    bar.sync 1, 128;
    @%p0 bra DONE;
    add.u32 %r20, %r1, 33792;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
        [%d2, {{%r11, %r10}}], [%r20];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
DONE:
    ret;
}}
"""
)


def text() -> str:
    """The kernel."""
    registers = ", ".join(f"%s{i}" for i in range(SUMS))
    products = [
        f"    add.u64 %d5, %d3, {2 * step};\n    add.u64 %d6, %d4, {2 * step};\n"
        "    wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
        f" {{{registers}}}, %d5, %d6, 1, 1, 1, 0, 0;"
        for step in range(4)
    ]
    stores = [
        f"    cvt.rn.f16x2.f32 %h0, %s{4 * j + 2 * half + 1}, %s{4 * j + 2 * half};\n"
        f"    xor.b32 %r19, %r16, {j};\n    shl.b32 %r19, %r19, 4;\n"
        f"    add.u32 %r19, %r19, %r18;\n"
        f"    st.shared.b32 [%r19+{STAGED + 1024 * half}], %h0;"
        for j in range(SUMS // 4)
        for half in range(2)
    ]
    return TEXT.format(
        copy=COPY,
        zeros="\n".join(f"    mov.b32 %s{i}, 0f00000000;" for i in range(SUMS)),
        products="\n".join(products),
        stores="\n".join(stores),
    )


def tensor(matrix: np.ndarray, swizzle: int = 128) -> TensorMap:
    """Tiles of 64 by 64 halves of a matrix."""
    rows, columns = matrix.shape
    return TensorMap(
        "f16", matrix, (columns, rows), (2 * columns,), (SIZE, SIZE), swizzle
    )


def run(
    given: str,
    sizes: tuple[int, int, int],
    order: int | None = None,
    swizzle: int = 128,
) -> tuple[float, LaunchResult]:
    """The largest error, and what was reported."""
    m, n, k = sizes
    source = np.random.default_rng(sum(sizes))
    a = source.standard_normal((m, k)).astype(np.float16)
    b = source.standard_normal((n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    result = emulate(
        load(given),
        [tensor(a, swizzle), tensor(b), tensor(c), -(-k // SIZE)],
        grid=(-(-m // SIZE), -(-n // SIZE), 1),
        block=(256, 1, 1),
        shared=SHARED,
        options=LaunchOptions(order=order, limit=200_000, poison=frozenset({2})),
    )
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    error = np.abs(c - wanted).max()
    return float(np.nan_to_num(error, nan=np.inf)), result
