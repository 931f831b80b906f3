"""Matrix products in PTX, against f64, and how their operands are fetched."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_kernels import compiled
from product_kernels import (
    GLOBAL,
    NUMPY,
    SHARED,
    K,
    M,
    N,
    check,
    matrices,
    product,
)

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.ops.memory import Allocate

K2 = tkl.sym.K2
BOUNDS = {"i8": 0.0, "f64": 1e-15}


@pytest.mark.covering(1)
@pytest.mark.parametrize("across", [False, True], ids=["nt", "nn"])
@pytest.mark.parametrize("sizes", [(32, 32, 64), (50, 41, 44), (3, 70, 33)])
@pytest.mark.parametrize("dtype", NUMPY)
def test_products(dtype, sizes, across):
    target = "sm_89" if dtype.startswith("f8") else "sm_80"
    subs = dict(zip((M, N, K), sizes, strict=True))
    made = compiled(product(dtype, across=across), subs, target)
    a, b, c = matrices(sizes, dtype, across=across)
    assert made.run(a, b, c) == []
    check(a, b, c, across=across, bound=BOUNDS.get(dtype, 1e-6))


@pytest.mark.parametrize("k", [8, 16, 32, 64])
@pytest.mark.parametrize("dtype", ["f16", "i8", "f32", "f64"])
def test_tiles_of_any_k(dtype, k):
    made = compiled(product(dtype, tile=(32, 32, k)), {M: 32, N: 32, K: 64})
    a, b, c = matrices((32, 32, 64), dtype)
    assert made.run(a, b, c) == []
    check(a, b, c, bound=BOUNDS.get(dtype, 1e-6))


@pytest.mark.parametrize("space", [GLOBAL, SHARED], ids=["global", "shared"])
def test_the_simulator_finds_the_same(space):
    made = compiled(product("f16", space=space), {M: 64, N: 64, K: 64})
    a, b, c = matrices((64, 64, 64), "f16")
    again = np.zeros_like(c)
    made.kernel(a, b, again)
    assert made.run(a, b, c) == []
    np.testing.assert_allclose(c, again, rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f16", "i8", "f64"])
def test_llvm_may_not_move_products_to_where_some_lanes_are(dtype):
    """It knows of no product of this kind that the lanes of a wave are together."""
    made = compiled(product(dtype), {M: 5, N: 33, K: 64}, "sm_80")
    calls = [row for row in made.generated.text.splitlines() if "call" in row]
    products = [row for row in calls if "@llvm.nvvm.mma." in row]
    assert products
    assert all(row.partition(") ")[2].startswith("convergent") for row in products)


def test_operands_along_k_are_fetched_by_matrices():
    """A wave has 64 by 64 by 32: each fetch is one of 8 by 8 four times."""
    kernel = product("f16", tile=(128, 128, 32))
    made = compiled(kernel, {M: 128, N: 128, K: 256}, preset="default")
    assert made.count("mma.sync.aligned.m16n8k16") == 64
    assert made.count("ldmatrix.sync.aligned.m8n8.x4.shared") == 16
    assert made.count("ld.shared") == 0


def test_operands_across_k_are_fetched_transposed():
    kernel = product("bf16", across=True, tile=(128, 128, 32))
    made = compiled(kernel, {M: 128, N: 128, K: 256}, preset="default")
    assert made.count("ldmatrix.sync.aligned.m8n8.x4.shared") == 8
    assert made.count("ldmatrix.sync.aligned.m8n8.x4.trans.shared") == 8
    assert made.count("ld.shared") == 0


def in_buffer(padding):
    """``b`` in a buffer of the author's; ``a`` is read where it is."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 32, 0),
            tkw.WorkgroupConstraint(N, 32, 1),
            tkw.TilingConstraint(K, 32),
            tkw.HardwareConstraint(),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ) -> None:
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            held = tkw.allocate((N, K), (32, 32), tkl.f16, padding=padding)
            tkw.write(tkw.read(b), held)
            return tkw.mma(tkw.read(a), tkw.read(held), acc)

        tkw.write(repeat, c)

    return kernel


@pytest.mark.parametrize(
    ("padding", "fetched"), [(0, True), (8, True), (2, False), (4, False)]
)
def test_rows_that_begin_anywhere_are_not_fetched_by_matrices(padding, fetched):
    """`ldmatrix` faults where a row is not at a multiple of 16 bytes."""
    made = compiled(in_buffer(padding), {M: 32, N: 32, K: 64}, "sm_80")
    assert (made.count("ldmatrix") > 0) is fetched
    a, b, c = matrices((32, 32, 64), "f16")
    assert made.run(a, b, c) == []
    check(a, b, c)


def test_products_of_f32_are_nearly_exact_at_the_ends_of_the_range():
    made = compiled(product("f32"), {M: 32, N: 32, K: 32})
    a, b, c = matrices((32, 32, 32), "f32")
    a[0], a[1], a[2], a[3] = 0.0, 0.0, 0.0, 0.0
    a[0, 0], a[1, 3], a[2, 5], a[3, 7] = 3.4028e38, np.inf, np.nan, -np.inf
    b[:, 0], b[:, 3], b[:, 7] = 1.0, 2.0, 0.5
    assert made.run(a, b, c) == []
    np.testing.assert_allclose(c[0], 3.4028e38, rtol=1e-6)
    assert (c[1] == np.inf).all()
    assert np.isnan(c[2]).all()
    assert (c[3] == -np.inf).all()
    check(a[4:], b, c[4:])


def test_products_of_19_bits_are_asked_for_by_name():
    kernel = product("f32", mma="F32_16x8x8_TF32")
    made = compiled(kernel, {M: 32, N: 32, K: 32})
    a, b, c = matrices((32, 32, 32), "f32")
    assert made.run(a, b, c) == []
    check(a, b, c, bound=2**-10)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(c - exact).max() > 1e-5  # Nineteen bits are fewer than f32 has.


def test_a_sum_of_another_type_is_refused():
    with pytest.raises(UserError, match="adds up in f32, not f64") as caught:
        compiled(product("f16", sums="f64"), {M: 32, N: 32, K: 32})
    assert caught.value.code == "WV0601"


def chained(*, turned):
    """``c = (q k^T) v``, the scores with rows or columns of ``q``."""
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K2, 32),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        q: tkl.Memory[M, K, GLOBAL, tkl.f16],
        k: tkl.Memory[K2, K, SHARED, tkl.f16],
        v: tkl.Memory[K2, N, SHARED, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ) -> None:
        zero = tkl.Register[N, M, tkl.f32](0.0)

        @tkw.iterate(K2, init_args=[zero])
        def repeat(acc: tkl.Register[N, M, tkl.f32]) -> tkl.Register[N, M, tkl.f32]:
            queries, keys = tkw.read(q), tkw.read(k)
            if turned:
                scores = tkw.mma(keys, queries, tkl.Register[K2, M, tkl.f32](0.0))
            else:
                scores = tkw.mma(queries, keys, tkl.Register[M, K2, tkl.f32](0.0))
            values = tkw.permute(tkw.read(v), [N, K2])
            return tkw.mma(values, tkw.cast(scores, tkl.f16), acc)

        tkw.write(tkw.permute(repeat, [M, N]), c)

    return kernel


@pytest.mark.parametrize("turned", [False, True])
def test_products_of_products_stay_in_their_lanes(turned):
    sizes = {M: 32, N: 32, K: 32, K2: 64}
    made = compiled(chained(turned=turned), sizes)
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((n, 32)).astype("f2") for n in (32, 64, 64))
    c = np.zeros((32, 32), np.float32)
    assert made.run(q, k, v, c) == []
    scores = (q.astype("f4") @ k.astype("f4").T).astype("f2")
    np.testing.assert_allclose(c, scores.astype("f8") @ v.astype("f8"), atol=0.05)
    # Keys and values are staged; no score moves to another lane.
    assert sum(isinstance(op, Allocate) for op in made.kernel.graph.walk()) == 2
    assert made.count("shfl") == 0
