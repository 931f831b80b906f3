"""Reductions over several dimensions at once, and the operator of products."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError
from wave_core.ops.reduce import identity_value

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = ("sim-logical", "sim", "emulator")
EXTENTS = ((1, 1), (7, 3), (16, 64), (15, 65), (1, 127), (16, 0))
KINDS = {
    "sum": (tkw.sum, torch.sum),
    "max": (tkw.max, torch.amax),
    "min": (tkw.min, torch.amin),
}


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, device, *arrays, **sizes):
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(subs=subs, target="gfx942", device=device)
    wave_compile(options, kernel, session=session)(*arrays)


@pytest.mark.covering(2)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.f16, tkl.i32], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_tile(session, kind, dtype, extents, device):
    reduce, reference = KINDS[kind]

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(K, 1, 0),
            tkw.HardwareConstraint(vector_shapes={M: 16, N: 128, K: 1}),
        ]
    )
    def kernel(
        a: tkl.Memory[K, M, N, GLOBAL, dtype],
        c: tkl.Memory[K, GLOBAL, dtype],
        d: tkl.Memory[K, GLOBAL, dtype],
    ):
        x = tkw.read(a)
        tkw.write(reduce(x, dim=[M, N]), c)
        start = tkl.Register[K, dtype](3)
        tkw.write(reduce(x, start, dim=(N, M)), d)

    rng = np.random.default_rng(5)
    a = (rng.standard_normal((2, *extents)) * 9).astype(dtype.numpy())
    c, d = np.full(2, 77, a.dtype), np.full(2, 77, a.dtype)
    sizes = dict(zip("KMN", a.shape, strict=True))
    launch(session, kernel, device, a, c, d, **sizes)
    wide = torch.from_numpy(a.astype(np.float64))
    empty = torch.full((2,), float(identity_value(kind, dtype)), dtype=torch.float64)
    wanted = reference(wide, dim=(1, 2)) if a.size else empty
    both = torch.stack((wanted, torch.full_like(wanted, 3)))
    # One rounding to the element type, and sums in f32 before it.
    spread = float(wide.abs().sum()) * 2.0**-20 if kind == "sum" else 0.0
    ulp = {tkl.f16: 2.0**-11, tkl.f32: 0.0, tkl.i32: 0.0}[dtype]
    for found, exact in ((c, wanted), (d, reference(both, dim=0))):
        with np.errstate(invalid="ignore"):
            bound = spread + ulp * np.abs(exact.numpy())
            close = np.abs(found - exact.numpy()) <= bound
        assert (close | (found == exact.numpy())).all(), (found, exact)


def test_no_dimension():
    @tkw.wave([tkw.HardwareConstraint(vector_shapes={M: 16})])
    def kernel(a: tkl.Memory[M, GLOBAL, tkl.f32]):
        tkw.sum(tkw.read(a), dim=[])

    with pytest.raises(UserError, match="needs a register and a dimension"):
        kernel.trace({"M": 16})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "total"), [("f16", "f32"), ("i8", "i32")])
def test_product_operator(session, dtype, total, device):
    dtype, total = getattr(tkl, dtype), getattr(tkl, total)
    names = {tkl.f16: "F32_16x16x16_F16", tkl.i8: "I32_16x16x32_I8"}

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 16, 0),
            tkw.WorkgroupConstraint(N, 16, 1),
            tkw.HardwareConstraint(mma_type=getattr(tkl.MMAType, names[dtype])),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, dtype],
        b: tkl.Memory[N, K, GLOBAL, dtype],
        c: tkl.Memory[M, N, GLOBAL, total],
    ):
        tkw.write(tkw.read(a) @ tkw.read(b), c)

    rng = np.random.default_rng(6)
    a, b = (rng.integers(-9, 9, (n, 32)).astype(dtype.numpy()) for n in (17, 33))
    c = np.full((17, 33), 77, total.numpy())
    launch(session, kernel, device, a, b, c, M=17, N=33, K=32)
    assert (c == a.astype(np.int64) @ b.T.astype(np.int64)).all()


def test_product_operator_with_a_choice():
    @tkw.wave([tkw.HardwareConstraint(vector_shapes={M: 16, N: 16, K: 16})])
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16], b: tkl.Memory[M, K, GLOBAL, tkl.f16]
    ):
        _ = tkw.read(a) @ tkw.read(b)

    with pytest.raises(UserError) as caught:
        kernel.trace({"M": 16, "K": 16})
    assert caught.value.code == "WV0203"
    assert "says by its accumulator which dims are kept" in str(caught.value)
