"""Kernels of one product, their operands, and a check of the result."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
}
SUMS = {"i8": "i32", "f64": "f64"}
NUMPY_SUMS = {"i8": np.int32, "f64": np.float64}
TILE = (32, 32, 32)


def product(dtype, *, across=False, tile=TILE, space=SHARED, mma=None, sums=None):
    """``c = a b^T``, or ``a b`` where ``across``; two by two waves."""
    m, n, k = tile
    rows = [
        tkw.WorkgroupConstraint(M, m, 0),
        tkw.WorkgroupConstraint(N, n, 1),
        tkw.TilingConstraint(K, k),
        tkw.WaveConstraint(M, m // 2),
        tkw.WaveConstraint(N, n // 2),
        tkw.HardwareConstraint(mma_type=mma),
    ]
    kind, total = getattr(tkl, dtype), getattr(tkl, sums or SUMS.get(dtype, "f32"))
    dims = (K, N) if across else (N, K)

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, K, space, kind],
        b: tkl.Memory[(*dims, space, kind)],
        c: tkl.Memory[M, N, GLOBAL, total],
    ) -> None:
        zero = tkl.Register[M, N, total](0.0 if dtype != "i8" else 0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, total]) -> tkl.Register[M, N, total]:
            right = tkw.read(b)
            if across:
                right = tkw.permute(right, [N, K])
            return tkw.mma(tkw.read(a), right, acc)

        tkw.write(repeat, c)

    return kernel


def numbers(rng, shape, dtype):
    if dtype == "i8":
        return rng.integers(-128, 127, shape, dtype=np.int8, endpoint=True)
    return rng.standard_normal(shape).astype(NUMPY[dtype])


def matrices(sizes, dtype, *, across=False):
    """Operands, and where the result goes."""
    m, n, k = sizes
    rng = np.random.default_rng(sum(sizes))
    a = numbers(rng, (m, k), dtype)
    b = numbers(rng, (k, n) if across else (n, k), dtype)
    return a, b, np.full((m, n), 7, NUMPY_SUMS.get(dtype, np.float32))


def check(a, b, c, *, across=False, bound=1e-6):
    """Against f64: each sum within ``bound`` of the size of its products."""
    left, right = a.astype(np.float64), b.astype(np.float64)
    right = right if across else right.T
    most = bound * (np.abs(left) @ np.abs(right))
    assert (np.abs(c - left @ right) <= most).all()
