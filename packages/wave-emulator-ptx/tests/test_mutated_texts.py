"""However a text is changed, it is executed or refused with a code, and soon."""

from __future__ import annotations

import time

import group_products
import numpy as np
import pytest
import ring_kernel
from elementwise import text_of
from mutations import mutated
from warp_kernels import TEXT

from wave_emulator_ptx import EmulatorError, LaunchOptions, emulate, load

SECONDS = 20
"""Of a processor, for one text."""
LIMIT = 3000
"""Warp-instructions; the texts need a few hundred."""

WARPS = """
    mad.lo.u32 %r2, %r0, 16, %r1;
    cp.async.cg.shared.global [%r2], [%d0], 16, 8;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];
    shfl.sync.bfly.b32 %r7|%p1, %r3, 1, 31, 0xffffffff;
    vote.sync.ballot.b32 %r8, %p1, 0xffffffff;
    redux.sync.add.u32 %r9, %r8, 0xffffffff;
    setp.lt.and.u32 %p2, %r3, 9, !%p1;
    selp.b32 %r10, %r3, %r4, %p2;
    @%p2 bra DONE;
    atom.shared.add.u32 %r11, [%r1+1024], 1;
    red.global.max.u32 [%d1], %r10;
DONE:
    mul.hi.u32 %r12, %r3, %r4;
    bfe.u32 %r13, %r12, 3, 5;
    lop3.b32 %r14, %r12, %r13, %r4, 0x96;
    prmt.b32 %r15, %r12, %r13, 0x5410;
    cvt.rn.f32.s32 %r16, %r14;
    fma.rn.f32 %r17, %r16, 0f3F000000, %r16;
    ex2.approx.ftz.f32 %r18, %r17;
    cvt.rn.f16x2.f32 %r19, %r18, %r17;
    mov.b32 {%h0, %h1}, %r19;
    mul.wide.s16 %r20, %h0, %h1;
    { .reg .b32 %r20; mov.u32 %r20, %ctaid.x; }
    cvt.rzi.s64.f32 %d3, %r18;
    div.s64 %d4, %d3, 7;
    st.global.v2.b64 [%d1], {%d3, %d4};
"""
PRODUCTS = """
    mov.b32 %r2, 0x3c003c00;
    mad.lo.u32 %r3, %r0, 16, %r1;
    st.shared.v4.b32 [%r3], {%r2, %r2, %r2, %r2};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r8, %r9}, [%r3];
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13},
        {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r10, %r11, %r12, %r13};
    st.global.v4.b32 [%d1], {%r10, %r11, %r12, %r13};
"""


def of_threads(body):
    """Launches a kernel of one warp with 16 bytes of each thread."""
    text = TEXT.format(body=body, step_in=16, step_out=16)

    def launch(changed):
        given = [np.arange(512, dtype=np.uint8), np.zeros(512, np.uint8)]
        start(changed, given, shared=2048)

    return text, launch


def start(text, given, block=32, **asked):
    options = LaunchOptions(limit=LIMIT)
    shape = {"grid": (1, 1, 1), "block": (block, 1, 1)}
    emulate(load(text), given, **shape, options=options, **asked)


def of_elements():
    def launch(changed):
        start(changed, [np.arange(32, dtype=np.uint32) for _ in range(4)] + [32])

    return text_of("add.u32 %r, %x, %y;", [32] * 4), launch


def of_groups():
    """A product of a warpgroup from shared memory."""
    product = group_products.Product(
        8, ("f32", "f16", "f16"), (np.float32, np.float16, np.float16)
    )

    def launch(changed):
        given = [np.zeros(64, np.uint8), np.zeros(2048, np.uint8)]
        numbers = [0x4000004000010040, 0x4000004000010040, 4, 1]
        out = np.zeros(128 * 4, np.float32)
        start(changed, [*given, out, *numbers], block=128, shared=4096)

    return product.text(), launch


def of_rings():
    """Copies of tensors, barriers in memory and products."""

    def launch(changed):
        tensors = [ring_kernel.tensor(np.zeros((64, 64), np.float16)) for _ in range(3)]
        start(changed, [*tensors, 1], block=256, shared=ring_kernel.SHARED)

    return ring_kernel.text(), launch


KERNELS = {
    "elements": of_elements,
    "warps": lambda: of_threads(WARPS),
    "products": lambda: of_threads(PRODUCTS),
    "groups": of_groups,
    "rings": of_rings,
}
SEEDS = [
    pytest.param(0, 40, id="few"),
    *(pytest.param(seed, 500, marks=pytest.mark.fuzz) for seed in range(1, 5)),
]


@pytest.mark.parametrize("name", KERNELS)
def test_a_text_that_is_not_changed_is_executed(name):
    text, launch = KERNELS[name]()
    launch(text)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("seed", "count"), SEEDS)
@pytest.mark.parametrize("name", KERNELS)
def test_a_text_that_is_changed_is_executed_or_refused(name, seed, count):
    text, launch = KERNELS[name]()
    source = np.random.default_rng([seed, len(text)])
    for number in range(count):
        changed = mutated(text, source)
        before = time.process_time()
        try:
            launch(changed)
        except EmulatorError:
            pass
        except Exception as error:
            error.add_note(f"text {number} of {name}, seed {seed}:\n{changed}")
            raise
        assert time.process_time() - before < SECONDS, changed
