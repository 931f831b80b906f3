"""Products without a matrix instruction, against numpy in f64."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError

B, M, N, K = tkl.sym.B, tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    *(("emulator", chip) for chip in ("gfx90a", "gfx942", "gfx950", "gfx1100")),
)
PRESETS = ("default", "naive", "prefetch", "four-stage", "fetch-ahead", "modulo")
TYPES = ((tkl.f16, tkl.f32), (tkl.bf16, tkl.f32), (tkl.f64, tkl.f64), (tkl.i8, tkl.i32))


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def rows_of(**hardware):
    return [
        tkw.HardwareConstraint(**hardware),
        tkw.WorkgroupConstraint(B, 1, 2),
        tkw.WorkgroupConstraint(M, 2, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.WaveConstraint(N, 8),
        tkw.TilingConstraint(K, 32),
    ]


def dot(types, *, of_kernel):
    """A batch of thin products; the kernel asks for no instruction, or the op does."""
    narrow, wide = types
    generic = tkw.GenericDot(along_dim=tkw.MMAOperand.M, k_vec_size=8)
    rows = rows_of(mma_type=generic) if of_kernel else rows_of()

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[B, M, K, GLOBAL, narrow],
        b: tkl.Memory[K, N, SHARED, narrow],
        c: tkl.Memory[B, N, M, GLOBAL, wide],
    ):
        zero = tkl.Register[B, N, M, wide](0)

        @tkw.iterate(K, init_args=[zero])
        def total(acc):
            named = None if of_kernel else generic
            return tkw.mma(tkw.read(b), tkw.read(a), acc, named)

        tkw.write(total, c)

    return kernel


def launch(session, kernel, where, *arrays, preset="default", **sizes):
    device, target = where
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(
        subs=subs, target=target, device=device, preset=preset
    )
    wave_compile(options, kernel, session=session)(*arrays)


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("types", TYPES, ids=lambda pair: pair[0].name)
@pytest.mark.parametrize("of_kernel", [False, True])
def test_thin_products(session, types, of_kernel, where, preset):
    narrow, wide = types
    kernel = dot(types, of_kernel=of_kernel)
    rng = np.random.default_rng(11)
    for size, m, n, k in ((1, 1, 1, 1), (2, 3, 17, 67), (1, 2, 16, 32), (1, 1, 3, 0)):
        a = rng.integers(-8, 9, (size, m, k)).astype(narrow.numpy())
        b = rng.integers(-8, 9, (k, n)).astype(narrow.numpy())
        c = np.full((size, n, m), 77, wide.numpy())
        launch(session, kernel, where, a, b, c, preset=preset, B=size, M=m, N=n, K=k)
        wanted = np.einsum("bmk,kn->bnm", a.astype(np.float64), b.astype(np.float64))
        assert (c == wanted).all(), (size, m, n, k)


def test_the_operator_follows_the_kernel(session):
    @tkw.wave(
        [
            tkw.HardwareConstraint(mma_type=tkw.GenericDot()),
            tkw.WorkgroupConstraint(M, 4, 0),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        tkw.write(tkw.read(a) @ tkw.read(b), c)

    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((rows, 20)).astype(np.float16) for rows in (5, 3))
    c = np.zeros((5, 3), np.float32)
    launch(session, kernel, ("sim", "gfx1100"), a, b, c, M=5, N=3, K=20)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"k_vec_size": 0}, "`k_vec_size` of `GenericDot` is 0"),
        ({"k_mult": 1.5}, "it takes a positive integer"),
        ({"along_dim": "N"}, "it takes MMAOperand.M or MMAOperand.N"),
    ],
)
def test_numbers_that_count_nothing(given, says):
    with pytest.raises(UserError) as caught:
        tkw.GenericDot(**given)
    assert caught.value.code == "WV0222"
    assert says in str(caught.value)


def test_operands_that_form_no_product(session):
    @tkw.wave(rows_of(mma_type=tkw.GenericDot()))
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16], c: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)
        tkw.write(tkw.mma(tkw.read(a), tkw.read(a), zero), c)

    with pytest.raises(UserError) as caught:
        launch(session, kernel, ("sim", "gfx942"), M=4, N=4, K=4)
    assert caught.value.code == "WV0203"
    assert "`rhs` should have dims [N, K]" in str(caught.value)
