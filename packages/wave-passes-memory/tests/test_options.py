"""What compile options say about buffers in LDS, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from staged import compiled_gemm, ops, session, simulate

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.diagnostics import UserError

M, K = tkl.sym.M, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 32, 0),
    tkw.WaveConstraint(M, 16),
    tkw.TilingConstraint(K, 16),
    tkw.HardwareConstraint(threads_per_wave=64),
]
SWAPPED = tkw.IndexMapping(
    num_iterators=2,
    inputs={
        M: (tkw.IndexMapping.iterator(0) + 16) % 32,
        K: tkw.IndexMapping.iterator(1),
    },
    outputs={M: tkw.IndexMapping.iterator(0), K: tkw.IndexMapping.iterator(1)},
)


def swaps(padding=0):
    """Two copies whose waves exchange rows, through a small and a large buffer."""

    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[M, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, K, GLOBAL, tkl.f32],
        d: tkl.Memory[M, K, GLOBAL, tkl.f32],
    ):
        one = tkw.allocate((M, K), (32, 16), tkl.f16, padding=padding)
        two = tkw.allocate((M, K), (32, 16), tkl.f32)
        tkw.write(tkw.read(a), one)
        tkw.write(tkw.read(one, mapping=SWAPPED), b)
        tkw.write(tkw.read(c), two)
        tkw.write(tkw.read(two, mapping=SWAPPED), d)

    return kernel


def compiled(padding=0, **options):
    asked = tkw.WaveCompileOptions(subs={M: 32, K: 16}, **options)
    return wave_compile(asked, swaps(padding), session=session())


def check(kernel):
    """The outputs, exactly."""
    rng = np.random.default_rng(1)
    a, c = (rng.integers(-4, 5, (32, 16)).astype(t) for t in ("float16", "float32"))
    b, d = np.zeros_like(a), np.zeros_like(c)
    assert simulate(kernel, [a, b, c, d]).reports == ()
    half = np.roll(np.arange(32), 16)
    assert np.array_equal(b, a[half])
    assert np.array_equal(d, c[half])


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({}, [0, 0]),
        ({"minimize_shared_allocs": True}, [0, 0]),
        ({"minimize_shared_allocs": False}, [None, None]),
        ({"reorder_allocs": False}, [0, 0]),
    ],
)
def test_buffers_share_memory_unless_told_not_to(options, offsets):
    kernel = compiled(**options)
    assert [op.offset for op in ops(kernel.graph, "allocate")] == offsets
    check(kernel)


@pytest.mark.parametrize("swizzle", [None, True, False])
def test_swizzles_can_be_left_out(swizzle):
    sizes, tile = (128, 128, 64), (128, 128, 32)
    kernel = compiled_gemm(sizes, tile, enable_swizzle=swizzle)
    assert ("xor" in str(kernel.graph)) is (swizzle is not False)


def test_padding_of_the_author_is_kept():
    kernel = compiled(padding=4)
    padded = {op.dtype.name: op.padding for op in ops(kernel.graph, "allocate")}
    assert padded["f16"] == 4
    check(kernel)


def test_padding_and_a_swizzle_contradict_each_other():
    with pytest.raises(UserError, match=r"padded and swizzled") as caught:
        compiled(padding=4, enable_swizzle=True)
    assert caught.value.code == "WV0416"
    text = str(caught.value)
    assert "one = tkw.allocate((M, K), (32, 16), tkl.f16, padding=padding)" in text
    assert "leave `padding` out" in text
