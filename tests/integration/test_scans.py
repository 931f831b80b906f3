"""Scans against numpy in wide types: any layout, any number of waves, any device."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError
from wave_core.ir import parse_graph

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
)
PRESETS = ("default", "prefetch", "four-stage", "fetch-ahead", "modulo", "pingpong")
LAYOUTS = {
    "one wave": ([tkw.WorkgroupConstraint(M, 4, 0)], N),
    "four waves": (
        [
            tkw.WorkgroupConstraint(M, 3, 0),
            tkw.WorkgroupConstraint(N, 1024, 1),
            tkw.WaveConstraint(N, 256),
        ],
        N,
    ),
    "waves that lanes overlap": (
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, 144, 1),
            tkw.WaveConstraint(N, 48),
        ],
        N,
    ),
    "not the fastest dim": (
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WaveConstraint(M, 16),
            tkw.WorkgroupConstraint(N, 32, 1),
        ],
        M,
    ),
}
EXTENTS = {
    "one wave": ((1, 1), (5, 127), (3, 0)),
    "four waves": ((2, 257), (3, 1024), (4, 1)),
    "waves that lanes overlap": ((3, 143), (3, 144), (2, 47)),
    "not the fastest dim": ((33, 40), (64, 31), (17, 32)),
}
CASES = [(name, extents) for name in LAYOUTS for extents in EXTENTS[name]]
FORMS = ({}, {"reverse": True}, {"exclusive": True})


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, where, *arrays, preset="default", dynamic=(), **sizes):
    device, target = where
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(
        subs={name: size for name, size in subs.items() if name not in dynamic},
        dynamic_symbols=tuple(dynamic),
        target=target,
        device=device,
        preset=preset,
    )
    wave_compile(options, kernel, session=session)(*arrays)


def rows_of(name, **more):
    constraints, dim = LAYOUTS[name]
    return [*constraints, tkw.HardwareConstraint(threads_per_wave=64, **more)], dim


def in_order(step, arrays, axis, *, reverse=False):
    """Element after element, in numpy; ``arrays`` are scanned together."""
    turned = [np.moveaxis(np.flip(a, axis) if reverse else a, axis, 0) for a in arrays]
    found = [a.copy() for a in turned]
    with np.errstate(all="ignore"):
        for i in range(1, len(found[0])):
            both = step([f[i - 1] for f in found], [a[i] for a in turned])
            for result, value in zip(found, both, strict=True):
                result[i] = value
    back = [np.moveaxis(f, 0, axis) for f in found]
    return [np.flip(b, axis) if reverse else b for b in back]


def sums(a, axis, *, reverse=False, exclusive=False):
    wide = a.astype(np.float64 if a.dtype.kind == "f" else a.dtype)
    (found,) = in_order(lambda x, y: [x[0] + y[0]], [wide], axis, reverse=reverse)
    return found - wide if exclusive else found


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.f16, tkl.i32], ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize(("name", "extents"), CASES)
def test_cumsum(session, name, extents, form, dtype, where):
    rows, dim = rows_of(name)

    @tkw.wave(rows)
    def kernel(a: tkl.Memory[M, N, GLOBAL, dtype], b: tkl.Memory[M, N, GLOBAL, dtype]):
        tkw.write(tkw.cumsum(tkw.read(a), dim=dim, **form), b)

    rng = np.random.default_rng(7)
    a = (rng.standard_normal(extents) * 9).astype(dtype.numpy())
    b = np.full_like(a, 77)
    launch(session, kernel, where, a, b, M=extents[0], N=extents[1])
    axis = (M, N).index(dim)
    wanted = sums(a, axis, **form)
    # Sums in f32, then one rounding to the element type.
    size = np.abs(a.astype(np.float64)).sum(axis, keepdims=True)
    ulp = {tkl.f16: 2.0**-11, tkl.f32: 2.0**-24, tkl.i32: 0}[dtype]
    bound = size * (2.0**-20 if dtype.is_float else 0) + ulp * np.abs(wanted)
    assert (np.abs(b.astype(np.float64) - wanted) <= bound).all()


def affine(first, second):
    """Of two maps ``x -> a * x + b``, the first one and then the second."""
    return first[0] * second[0], first[1] * second[0] + second[1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("name", "extents"), CASES)
def test_several_values_in_their_order(session, name, extents, reverse, where):
    """A function that is not commutative and has no identity to fill up with."""
    rows, dim = rows_of(name)

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.i32],
        c: tkl.Memory[M, N, GLOBAL, tkl.i32],
        d: tkl.Memory[M, N, GLOBAL, tkl.i32],
    ):
        pair = tkw.read(a), tkw.read(b)
        slope, offset = tkw.scan(affine, pair, dim=dim, reverse=reverse)
        tkw.write(slope, c)
        tkw.write(offset, d)

    rng = np.random.default_rng(8)
    a, b = (rng.integers(-9, 9, extents).astype(np.int32) for _ in range(2))
    c, d = np.full_like(a, 77), np.full_like(a, 77)
    launch(session, kernel, where, a, b, c, d, M=extents[0], N=extents[1])
    axis = (M, N).index(dim)
    wanted = in_order(affine, [a, b], axis, reverse=reverse)
    assert (c == wanted[0]).all()
    assert (d == wanted[1]).all()


@pytest.mark.covering(2)
@pytest.mark.parametrize("dim", [M, N])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("shape", ["F32_16x16x16_F16", "F32_32x32x8_F16"])
def test_the_result_of_a_product(session, dim, reverse, where, shape):
    """Its elements are interleaved over registers and lanes."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WaveConstraint(M, 32),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.HardwareConstraint(mma_type=getattr(tkl.MMAType, shape)),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        product = tkw.read(a) @ tkw.read(b)
        (last,) = tkw.scan(
            lambda x, y: (x[0] * 0 + y[0],), (product,), dim=dim, reverse=reverse
        )
        tkw.write(tkw.cumsum(product, dim=dim, reverse=reverse) + last, c)

    rng = np.random.default_rng(9)
    a, b = (rng.integers(-4, 4, (n, 16)).astype(np.float16) for n in (50, 39))
    c = np.full((50, 39), 77, np.float32)
    launch(session, kernel, where, a, b, c, M=50, N=39, K=16)
    product = a.astype(np.float64) @ b.astype(np.float64).T
    wanted = sums(product, (M, N).index(dim), reverse=reverse) + product
    assert (c == wanted).all()


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_every_target(session, target):
    """Waves of 64 and of 32 lanes, two of them."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 2, 0),
            tkw.WorkgroupConstraint(N, 256, 1),
            tkw.WaveConstraint(N, 128),
            tkw.HardwareConstraint(),
        ]
    )
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.cumsum(tkw.read(a)), b)

    a = np.random.default_rng(1).integers(-99, 99, (3, 201)).astype(np.float32)
    b = np.full_like(a, 77)
    launch(session, kernel, ("emulator", target), a, b, M=3, N=201)
    assert (b == a.cumsum(1)).all()


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("where", DEVICES[1:3], ids="-".join)
@pytest.mark.parametrize("tiles", [0, 1, 2, 5])
def test_a_loop_that_carries_the_sum(session, preset, where, tiles):
    """Each tile starts from the sum of those before it."""
    tile = 64

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.TilingConstraint(N, tile),
            tkw.HardwareConstraint(threads_per_wave=64),
        ]
    )
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.i32],
    ):
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.i32](0)])
        def loop(before):
            x = tkw.read(a)
            tkw.write(tkw.cumsum(x, before, dim=N), b)
            return tkw.sum(x, before, dim=N)

    extents = (5, max(0, tiles * tile - 3))
    a = np.random.default_rng(2).integers(-99, 99, extents).astype(np.int32)
    b = np.full_like(a, 77)
    launch(session, kernel, where, a, b, preset=preset, M=5, N=extents[1])
    assert (b == a.cumsum(1)).all()


def test_what_differs_is_asked_before_a_scan_is_lowered():
    """The values that its function combines lie in different lanes."""

    def body(x, b):
        tkw.set_symbol(tkl.sym.PLACE, 1)
        tkw.write(tkw.cumsum(x), b)

    graph = one_argument(ROWS, body).trace({"M": 8, "N": 64})
    assert not Uniformity(graph).differing


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("where", DEVICES[1:3], ids="-".join)
def test_waves_in_a_loop(session, preset, where):
    """Totals of one iteration must not meet those of the next in LDS."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 64, 0),
            tkw.WaveConstraint(M, 16),
            tkw.TilingConstraint(N, 16),
            tkw.HardwareConstraint(threads_per_wave=64),
        ]
    )
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.i32],
        c: tkl.Memory[M, GLOBAL, tkl.i32],
    ):
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.i32](0)])
        def loop(total):
            x = tkw.cumsum(tkw.read(a), dim=M)
            tkw.write(tkw.cumsum(x, dim=M, reverse=True), b)
            return tkw.sum(x, total, dim=N)

        tkw.write(loop, c)

    a = np.random.default_rng(6).integers(-9, 9, (61, 75)).astype(np.int32)
    b, c = np.full_like(a, 77), np.full(61, 77, np.int32)
    launch(session, kernel, where, a, b, c, preset=preset, M=61, N=75)
    once = a.cumsum(0)
    assert (b == once[::-1].cumsum(0)[::-1]).all()
    assert (c == once.sum(1)).all()


@pytest.mark.parametrize("where", DEVICES, ids="-".join)
def test_a_size_known_at_the_launch(session, where):
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, 512, 1),
            tkw.WaveConstraint(N, 128),
            tkw.Assumption(N <= 512),
            tkw.HardwareConstraint(threads_per_wave=64),
        ]
    )
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.cumsum(tkw.read(a), 5.0, block=True), b)

    for extents in ((3, 1), (5, 130), (4, 512)):
        a = np.random.default_rng(3).integers(-99, 99, extents).astype(np.float32)
        b = np.full_like(a, 77)
        launch(session, kernel, where, a, b, dynamic=(M, N))
        assert (b == a.cumsum(1) + 5).all()


@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_special_values(session, where, dtype):
    dtype = getattr(tkl, dtype)
    rows, _ = rows_of("waves that lanes overlap")

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        b: tkl.Memory[M, N, GLOBAL, dtype],
        c: tkl.Memory[M, N, GLOBAL, dtype],
    ):
        x = tkw.read(a)
        tkw.write(tkw.cumsum(x), b)
        tkw.write(tkw.scan(tkw.maximum, x), c)

    a = np.ones((4, 100), dtype.numpy())
    a[0] = -0.0
    a[1, 50:60] = np.inf
    a[2, [20, 70]] = np.inf, -np.inf
    a[3, 99] = np.nan
    b, c = np.full_like(a, 77), np.full_like(a, 77)
    launch(session, kernel, where, a, b, c, M=4, N=100)
    wide = a.astype(np.float32)
    with np.errstate(invalid="ignore"):
        wanted = wide.cumsum(1)
    np.testing.assert_array_equal(b.astype(np.float32), wanted)
    assert np.signbit(b[0].astype(np.float32)).all()
    greatest = np.maximum.accumulate(wide, axis=1)
    np.testing.assert_array_equal(c.astype(np.float32), greatest)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("dtype", ["i8", "u16", "i64", "f64"])
def test_other_element_types(session, where, dtype):
    """Integers wrap; the function may take a value from outside that has no dims."""
    dtype = getattr(tkl, dtype)
    rows, _ = rows_of("four waves")

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, dtype],
        b: tkl.Memory[M, N, GLOBAL, dtype],
        c: tkl.Memory[M, N, GLOBAL, dtype],
        most: dtype,
    ):
        x = tkw.read(a)
        tkw.write(tkw.cumsum(x), b)
        capped = lambda p, q: tkw.minimum(tkw.maximum(p, q), most)  # noqa: E731
        tkw.write(tkw.scan(capped, tkw.minimum(x, most)), c)

    a = np.random.default_rng(4).integers(0, 99, (3, 300)).astype(dtype.numpy())
    b, c = np.full_like(a, 77), np.full_like(a, 77)
    launch(session, kernel, where, a, b, c, 90, M=3, N=300)
    assert (b == a.cumsum(1, dtype=a.dtype)).all()
    assert (c == np.minimum(np.maximum.accumulate(a, axis=1), 90)).all()


def refused(session, kernel, device="sim", **sizes):
    with pytest.raises(UserError) as caught:
        launch(session, kernel, (device, "gfx942"), **sizes)
    return caught.value


def one_argument(constraints, body):
    @tkw.wave([*constraints, tkw.HardwareConstraint(threads_per_wave=64)])
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.i32], b: tkl.Memory[M, N, GLOBAL, tkl.i32]
    ):
        x = tkw.read(a)
        body(x, b)

    return kernel


ROWS = [tkw.WorkgroupConstraint(M, 4, 0)]


@pytest.mark.parametrize("device", ["sim-logical", "sim", "emulator"])
def test_a_dimension_that_is_spread_across_workgroups(session, device):
    rows = [*ROWS, tkw.WorkgroupConstraint(N, 64, 1)]
    kernel = one_argument(rows, lambda x, b: tkw.write(tkw.cumsum(x), b))
    error = refused(session, kernel, device, M=8, N=100)
    assert error.code == "WV0340"
    text = str(error)
    assert "a scan goes along `N`, which is spread across workgroups" in text
    assert "tkw.WorkgroupConstraint(N, 64, 1)" in text
    assert "- 64 of 100" in text
    assert "^ goes along `N`" in text
    assert "carry the last sum as `acc`" in text


def test_a_size_that_may_be_more_than_a_tile(session):
    rows = [*ROWS, tkw.WorkgroupConstraint(N, 64, 1)]
    kernel = one_argument(rows, lambda x, b: tkw.write(tkw.cumsum(x), b))
    error = refused(session, kernel, dynamic=(N,), M=8)
    assert error.code == "WV0340"
    assert "Assumption(N <= 64) says that it is one tile" in str(error)


def test_waves_that_the_author_numbers(session):
    wave = tkw.WaveConstraint(N, 64, wave_id=1 - tkw.WORKGROUP_1)
    rows = [*ROWS, tkw.WorkgroupConstraint(N, 128, 1), wave]
    kernel = one_argument(rows, lambda x, b: tkw.write(tkw.cumsum(x), b))
    error = refused(session, kernel, M=8, N=100)
    assert error.code == "WV0340"
    assert "leave `wave_id` out" in str(error)


@pytest.mark.parametrize("several", [False, True])
def test_inside_a_conditional(session, several):
    """Rows decide for themselves, or waves do."""

    def body(x, b):
        total = tkw.sum(x, dim=[M, N] if several else N)

        @tkw.conditional(total > 0)
        def then():
            tkw.write(tkw.cumsum(x), b)

    rows = [*ROWS, tkw.WorkgroupConstraint(N, 128, 1), tkw.WaveConstraint(N, 64)]
    kernel = one_argument(rows if several else ROWS, body)
    error = refused(session, kernel, M=8, N=100)
    assert error.code == "WV0341"
    assert "^ combines elements of all lanes" in str(error)
    assert "- some of them do not run this" in str(error)


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        (lambda x: tkw.cumsum(x, dim=K), "WV0214", "`cumsum` along `K` of reg<M, N,"),
        (lambda x: tkw.cumsum(x, dim=[M, N]), "WV0214", "is one of the register's"),
        (lambda _: tkw.cumsum(3), "WV0214", "write `cumsum(x, dim=K)`"),
        (lambda x: tkw.cumsum(x, x), "WV0215", "start from a register without `N`"),
        (lambda x: tkw.cumsum(x > 0), "WV0205", "needs a number"),
        (lambda x: tkw.scan(max, x), "WV0108", "a function of two values"),
        (lambda x: tkw.scan(lambda p: p, x), "WV0108", "a function of two values"),
        (lambda x: tkw.scan(lambda p, q: p < q, x), "WV0109", "`cast(value, i32)`"),
        (lambda x: tkw.scan(lambda p, _: (p, p), x), "WV0109", "returns 2 values"),
        (lambda x: tkw.scan(lambda p, _: p + x, x), "WV0230", "comes from outside"),
        (
            lambda x: tkw.scan(lambda p, q: tkw.cumsum(p) + q, x),
            "WV0230",
            "`scan` is not done element by element",
        ),
        (
            lambda x: tkw.scan(lambda p, q: p + q, x, exclusive=True),
            "WV0106",
            "needs 1 numbers as `identity`",
        ),
        (
            lambda x: tkw.scan(lambda p, q: p + q, x, identity=0.5),
            "WV0209",
            "`0.5` is not a value of element type `i32`",
        ),
        (
            lambda x: tkw.scan(lambda p, _: p, (x, tkw.sum(x, dim=N))),
            "WV0208",
            "every source needs dims [M, N]",
        ),
        (lambda _: tkw.scan(lambda p, q: p + q, ()), "WV0214", "scan(f, x, dim=K)"),
    ],
)
def test_what_a_scan_cannot_be(session, body, code, says):
    kernel = one_argument(ROWS, lambda x, _: body(x))
    error = refused(session, kernel, M=8, N=100)
    assert error.code == code
    assert says in str(error)


def test_the_text_of_a_scan_parses_to_the_same_graph():
    kernel = one_argument(ROWS, lambda x, b: tkw.write(tkw.cumsum(x), b))
    graph = kernel.trace({"M": 8, "N": 64})
    text = str(graph)
    assert "scan [" in text
    assert str(parse_graph(text)) == text
