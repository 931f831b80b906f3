"""Elements that share bytes, and products with scales, against numpy in f64."""

from __future__ import annotations

import gemm_mxfp4
import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError
from wave_core.ops.shape import reinterpreted

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
DEVICES = (
    ("sim-logical", "gfx950"),
    ("sim", "gfx950"),
    ("emulator", "gfx950"),
)
EVERYWHERE = (*DEVICES, ("emulator", "gfx942"))
PRESETS = (
    *("default", "naive", "prefetch", "four-stage"),
    *("fetch-ahead", "modulo", "pingpong"),
)
SMALL = (tkl.f4e2m1fn, tkl.f6e2m3fn, tkl.f6e3m2fn, tkl.f8e4m3fn, tkl.f8e5m2)
INSTRUCTIONS = tuple(tkw.ScaledMMAType)[:4]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, where, *arrays, preset="default", subs, dynamic=()):
    device, target = where
    options = tkl.WaveCompileOptions(
        subs={name: size for name, size in subs.items() if name not in dynamic},
        dynamic_symbols=tuple(dynamic),
        target=target,
        device=device,
        preset=preset,
    )
    wave_compile(options, kernel, session=session)(*arrays)


ROWS = [
    tkw.HardwareConstraint(threads_per_wave=64),
    tkw.WorkgroupConstraint(M, 16, 0),
    tkw.TilingConstraint(K, 32),
]
WIDTHS = (
    (tkl.i8, tkl.i32, 4 * K, K),
    (tkl.i32, tkl.i8, K, 4 * K),
    (tkl.f16, tkl.i8, K / 2, K),
    (tkl.i8, tkl.f16, K, K / 2),
    (tkl.i64, tkl.bf16, K, 4 * K),
    (tkl.f32, tkl.u32, K, K),
    (tkl.i8, tkl.f8e8m0fnu, K, K),
)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", EVERYWHERE, ids="-".join)
@pytest.mark.parametrize("widths", WIDTHS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_bitcast(session, widths, where):
    old, new, *dims = widths

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, dims[0], GLOBAL, old], b: tkl.Memory[M, dims[1], GLOBAL, new]
    ):
        @tkw.iterate(K, init_args=[])
        def body():
            tkw.write(tkw.bitcast(tkw.read(a), new), b)

    rng = np.random.default_rng(7)
    for m, k in ((1, 2), (17, 66), (16, 32)):
        extent = int(dims[0].subs(dict.fromkeys(dims[0].free_symbols, k)))
        a = rng.integers(0, 256, (m, extent * old.bytes), np.uint8).view(old.numpy())
        wanted = a.view(new.numpy())
        b = np.full_like(wanted.view(np.uint8), 77).view(new.numpy())
        launch(session, kernel, where, a, b, subs={M: m, K: k})
        assert (b.view(np.uint8) == wanted.view(np.uint8)).all(), (m, k)


def test_cut_elements_and_join_them_again(session):
    """Registers of i8 as i32 and back, computed with in between."""

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, 4 * K, GLOBAL, tkl.u8], b: tkl.Memory[M, 4 * K, GLOBAL, tkl.u8]
    ):
        @tkw.iterate(K, init_args=[])
        def body():
            x = tkw.bitcast(tkw.read(a), tkl.u32)
            tkw.write(tkw.bitcast(x ^ tkw.scalar(0x01020304, tkl.u32), tkl.u8), b)

    a = np.random.default_rng(1).integers(0, 256, (5, 140), np.uint8)
    wanted = (a.view(np.uint32) ^ np.uint32(0x01020304)).view(np.uint8)
    for where in EVERYWHERE:
        b = np.zeros_like(a)
        launch(session, kernel, where, a, b, subs={M: 5, K: 35})
        assert (b == wanted).all(), where


CHIPS = (*DEVICES, *(("emulator", f"gfx{chip}") for chip in ("90a", 942, 1100, 1201)))
CONVERTED = (
    *((each, wide) for each in SMALL[:3] for wide in (tkl.f32, tkl.f16)),
    *((tkl.i4, wide) for wide in (tkl.f32, tkl.f16, tkl.i32, tkl.i8)),
    *((tkl.f8e8m0fnu, wide) for wide in (tkl.f32, tkl.bf16)),
)
SPECIAL = [0, 1e-45, 1e-40, 0.25, 0.75, 1.25, 1.5, 2.5, 5, 7.25, 30, 3e38, np.inf]
"""Zeros, ties, numbers around the least and the greatest."""


def numbers(rng, small, wide, shape):
    """Elements to round; an integer out of range would be any value."""
    if wide.is_integer:
        return rng.integers(-128, 128, shape).astype(wide.numpy())
    if small.is_integer:
        return rng.uniform(-8.9, 7.9, shape).astype(wide.numpy())
    found = rng.normal(size=shape) * np.exp2(rng.integers(-5, 6, shape))
    special = [*SPECIAL, *(-each for each in SPECIAL), np.nan, -np.nan]
    found.ravel()[: len(special)] = special[: found.size]
    with np.errstate(over="ignore"):
        return found.astype(np.float32).astype(wide.numpy())


def rounded(x, small):
    """The nearest number of the type, found by looking at all: even codes win ties."""
    bytes_of_all = np.arange(256, dtype=np.uint8)
    codes = bytes_of_all[: 1 << (small.bits - 1)]
    values = codes.view(small.numpy()).astype(np.float64)
    size = np.minimum(np.abs(x.astype(np.float64)), values[-1])
    size = np.where(np.isnan(size), values[-1], size)[..., None]
    far = np.abs(values - size)
    nearest = np.where(far == far.min(-1, keepdims=True), codes % 2, 2).argmin(-1)
    return (nearest | np.signbit(x) << (small.bits - 1)).astype(np.uint8)


def meaning(x, small):
    """Codes of elements, by another way than the one that is tested."""
    if small.is_integer:
        return np.trunc(x).astype(np.int32).astype(np.uint8) & 15
    if small == tkl.f8e8m0fnu:
        plain = torch.from_numpy(x.astype(np.float32)).to(torch.float8_e8m0fnu)
        return plain.view(torch.uint8).numpy()
    return rounded(x, small)


def bits_of(codes, small):
    """Codes, a byte each, as they lie in memory."""
    return reinterpreted(codes.view(small.numpy()), small, tkl.i8)


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", CHIPS, ids="-".join)
@pytest.mark.parametrize("types", CONVERTED, ids=lambda row: f"{row[0]}-{row[1]}")
@pytest.mark.parametrize("shared", [GLOBAL, SHARED], ids=str)
def test_casts(session, types, where, shared):
    small, wide = types
    width = K * small.bits / 8

    @tkw.wave([*ROWS[1:], tkw.HardwareConstraint()])
    def kernel(
        x: tkl.Memory[M, K, shared, wide],
        codes: tkl.Memory[M, width, GLOBAL, tkl.i8],
        given: tkl.Memory[M, width, shared, tkl.i8],
        y: tkl.Memory[M, K, GLOBAL, wide],
    ):
        @tkw.iterate(K)
        def body():
            made = tkw.cast(tkw.read(x), small)
            tkw.write(tkw.bitcast(made, tkl.i8), codes)
            tkw.write(tkw.cast(tkw.bitcast(tkw.read(given), small), wide), y)

    rng = np.random.default_rng(small.bits)
    for m, k in ((1, 32), (17, 40)):
        x = numbers(rng, small, wide, (m, k))
        given = rng.integers(-128, 128, (m, k * small.bits // 8), np.int8)
        codes, y = np.full_like(given, 77), np.full_like(x, 77)
        launch(session, kernel, where, x, codes, given, y, subs={M: m, K: k})
        np.testing.assert_array_equal(codes, bits_of(meaning(x, small), small))
        wanted = reinterpreted(given, tkl.i8, small).astype(np.float32)
        wanted = wanted.astype(wide.numpy()).astype(np.float32)
        found = y.astype(np.float32)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.covering(1)
@pytest.mark.parametrize("where", CHIPS, ids="-".join)
@pytest.mark.parametrize("elements", [tkl.i4, *SMALL[:3]], ids=str)
@pytest.mark.parametrize("preset", PRESETS)
def test_weights_of_few_bits(session, elements, where, preset):
    """A product in f16 whose weights are widened between LDS and the instruction."""
    width = K * elements.bits / 8
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WaveConstraint(N, 16),
        tkw.TilingConstraint(K, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, K, SHARED, tkl.f16],
        w: tkl.Memory[N, width, SHARED, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def total(acc):
            weights = tkw.cast(tkw.bitcast(tkw.read(w), elements), tkl.f16)
            return tkw.mma(tkw.read(a), weights, acc)

        tkw.write(total, c)

    rng = np.random.default_rng(2)
    m, n, k = 33, 40, 136
    a = rng.normal(size=(m, k)).astype(np.float16)
    w = rng.integers(-128, 128, (n, k * elements.bits // 8), np.int8)
    c = np.full((m, n), np.nan, np.float32)
    launch(session, kernel, where, a, w, c, subs={M: m, N: n, K: k}, preset=preset)
    wanted = a.astype(np.float64) @ reinterpreted(w, tkl.i8, elements).astype(float).T
    np.testing.assert_allclose(c, wanted, rtol=1e-4, atol=2e-3)


IN_F32 = (
    *(("sim-logical", "gfx942"), ("sim", "gfx942"), ("sim", "gfx950")),
    *(("emulator", f"gfx{chip}") for chip in ("90a", 942, 950)),
    *(("emulator", chip) for chip in ("sm_80", "sm_90a")),
)


def in_f32(elements, sides, depth, tall, shared):
    """A product of elements that are widened on one side of it, or on both."""
    kinds = [(K * elements.bits / 8, tkl.i8) if s else (K, tkl.f32) for s in sides]
    (left, lhs), (right, rhs) = kinds
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, depth),
        tkw.HardwareConstraint(mma_type=tkl.MMAType.F32_32x32x2_F32 if tall else None),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, left, shared, lhs],
        b: tkl.Memory[N, right, shared, rhs],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def total(acc):
            x, y = (
                tkw.cast(tkw.bitcast(tkw.read(memory), elements), tkl.f32)
                if small
                else tkw.read(memory)
                for memory, small in zip((a, b), sides, strict=True)
            )
            return tkw.mma(x, y, acc)

        tkw.write(total, c)

    return kernel


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", IN_F32, ids="-".join)
@pytest.mark.parametrize("elements", [tkl.i4, *SMALL[:3]], ids=str)
@pytest.mark.parametrize("sides", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("depth", [4, 12, 32, 64])
@pytest.mark.parametrize("tall", [False, True])
@pytest.mark.parametrize("shared", [GLOBAL, SHARED], ids=str)
def test_products_in_f32(session, elements, sides, depth, tall, shared, where):
    """A lane has less of K for an instruction than shares bytes."""
    tall = tall and where[1].startswith("gfx")
    kernel = in_f32(elements, sides, depth, tall, shared)
    rng = np.random.default_rng(5)
    m, n, k = 33, 40, 104
    given, wide = [], []
    for rows, small in zip((m, n), sides, strict=True):
        numbers = rng.normal(size=(rows, k)).astype(np.float32)
        codes = rng.integers(-128, 128, (rows, k * elements.bits // 8), np.int8)
        given.append(codes if small else numbers)
        wide.append(reinterpreted(codes, tkl.i8, elements) if small else numbers)
    c = np.full((m, n), np.nan, np.float32)
    launch(session, kernel, where, *given, c, subs={M: m, N: n, K: k})
    x, y = (each.astype(np.float64) for each in wide)
    np.testing.assert_allclose(c, x @ y.T, rtol=1e-4, atol=5e-3)


@pytest.mark.parametrize("wide", [tkl.f32, tkl.f16], ids=str)
def test_elements_that_share_bytes_along_the_columns(session, wide):
    """Order along N is that of the result, so lanes would have parts of bytes."""
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.TilingConstraint(K, 32),
        tkw.HardwareConstraint(),
    ]

    def kernel(*, passed):
        @tkw.wave(rows)
        def product(
            a: tkl.Memory[M, K, GLOBAL, wide],
            b: tkl.Memory[K, N / 2, GLOBAL, tkl.i8],
            c: tkl.Memory[M, N, GLOBAL, tkl.f32],
        ):
            @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
            def total(acc):
                read = tkw.cast(tkw.bitcast(tkw.read(b), tkl.i4), tkl.i8)
                if passed:
                    kept = tkw.allocate((K, N), (32, 16), tkl.i8)
                    tkw.write(read, kept)
                    read = tkw.read(kept)
                turned = tkw.permute(tkw.cast(read, wide), target_shape=[N, K])
                return tkw.mma(tkw.read(a), turned, acc)

            tkw.write(total, c)

        return product

    rng = np.random.default_rng(3)
    a = rng.normal(size=(17, 40)).astype(wide.numpy())
    b = rng.integers(-128, 128, (40, 9), np.int8)
    c = np.full((17, 18), np.nan, np.float32)
    sizes = {M: 17, N: 18, K: 40}
    with pytest.raises(UserError, match="LDS moves whole bytes") as caught:
        launch(session, kernel(passed=False), ("sim", "gfx942"), a, b, c, subs=sizes)
    assert caught.value.code == "WV0309"
    assert "pass that through `allocate`d memory" in str(caught.value)
    launch(session, kernel(passed=True), ("sim", "gfx942"), a, b, c, subs=sizes)
    wanted = a.astype(np.float64) @ reinterpreted(b, tkl.i8, tkl.i4).astype(float)
    np.testing.assert_allclose(c, wanted, rtol=1e-4, atol=2e-3)


def scaled(elements, instruction, shared=GLOBAL):
    rows = [
        tkw.HardwareConstraint(mma_type=instruction),
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.WaveConstraint(N, 32),
        tkw.TilingConstraint(K, 256),
    ]
    width = K * elements.bits / 8

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, width, shared, tkl.i8],
        a_scale: tkl.Memory[M, K / 32, shared, tkl.i8],
        b: tkl.Memory[N, width, shared, tkl.i8],
        b_scale: tkl.Memory[N, K / 32, shared, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def total(acc):
            x = tkw.bitcast(tkw.read(a), elements)
            y = tkw.bitcast(tkw.read(b), elements)
            s, t = (
                tkw.bitcast(tkw.read(each), tkl.f8e8m0fnu)
                for each in (a_scale, b_scale)
            )
            return tkw.scaled_mma(x, s, y, t, acc)

        tkw.write(total, c)

    return kernel


def operand(rng, elements, rows, k):
    """Bytes of finite elements and of scales, and the numbers that they stand for."""
    if elements.bits == 8:
        data = rng.normal(size=(rows, k)).astype(elements.numpy()).view(np.int8)
    else:
        data = rng.integers(-128, 128, (rows, k * elements.bits // 8), np.int8)
    scales = rng.integers(118, 134, (rows, k // 32), np.uint8)
    numbers = reinterpreted(data, tkl.i8, elements).astype(np.float64)
    factors = np.ldexp(1.0, scales.astype(np.int32) - 127).repeat(32, axis=1)
    return data, scales.view(np.int8), numbers * factors


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=str)
@pytest.mark.parametrize("elements", SMALL, ids=str)
def test_scaled_products(session, elements, instruction, where):
    rng = np.random.default_rng(elements.bits)
    kernel = scaled(elements, instruction)
    for m, n, k in ((1, 1, 32), (33, 65, 416)):
        a, a_scale, x = operand(rng, elements, m, k)
        b, b_scale, y = operand(rng, elements, n, k)
        c = np.full((m, n), np.nan, np.float32)
        subs = {M: m, N: n, K: k}
        launch(session, kernel, where, a, a_scale, b, b_scale, c, subs=subs)
        np.testing.assert_allclose(c, x @ y.T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("where", DEVICES)
def test_scales_of_any_exponent(session, where):
    """2**-127 to 2**127, and 255, which is NaN: in the rows that have it alone."""
    rng = np.random.default_rng(3)
    kernel = scaled(tkl.f4e2m1fn, INSTRUCTIONS[0])
    a, a_scale, _ = operand(rng, tkl.f4e2m1fn, 4, 64)
    b, b_scale, y = operand(rng, tkl.f4e2m1fn, 5, 64)
    a_scale.view(np.uint8)[:] = [[255, 127], [0, 127], [254, 254], [127, 1]]
    factors = np.ldexp(1.0, a_scale.view(np.uint8).astype(np.int32) - 127)
    factors[0, 0] = np.nan
    x = reinterpreted(a, tkl.i8, tkl.f4e2m1fn).astype(np.float64)
    with np.errstate(over="ignore"):
        wanted = ((x * factors.repeat(32, axis=1)) @ y.T).astype(np.float32)
    c = np.zeros((4, 5), np.float32)
    subs = {M: 4, N: 5, K: 64}
    launch(session, kernel, where, a, a_scale, b, b_scale, c, subs=subs)
    assert np.isnan(c[0]).all()
    np.testing.assert_allclose(c[1:], wanted[1:], rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("instruction", INSTRUCTIONS[::2], ids=str)
@pytest.mark.parametrize("byte", [0, 126])
def test_scales_that_the_compiler_knows(session, byte, instruction, where):
    """The byte 0 is 2**-127; LLVM takes it for no scale where it stands alone."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 32, 0),
            tkw.WorkgroupConstraint(N, 32, 1),
            tkw.TilingConstraint(K, 256),
            tkw.HardwareConstraint(mma_type=instruction),
        ]
    )
    def kernel(
        a: tkl.Memory[M, K / 2, GLOBAL, tkl.i8],
        b: tkl.Memory[N, K / 2, GLOBAL, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def total(acc):
            x, y = (tkw.bitcast(tkw.read(each), tkl.f4e2m1fn) for each in (a, b))
            s, t = (
                tkw.bitcast(tkl.Register[dim, K / 32, tkl.i8](byte), tkl.f8e8m0fnu)
                for dim in (M, N)
            )
            return tkw.scaled_mma(x, s, y, t, acc)

        tkw.write(total, c)

    rng = np.random.default_rng(5)
    a, b = (rng.integers(-128, 128, (rows, 128), np.int8) for rows in (5, 33))
    x, y = (reinterpreted(each, tkl.i8, tkl.f4e2m1fn).astype(float) for each in (a, b))
    c = np.full((5, 33), np.nan, np.float32)
    launch(session, kernel, where, a, b, c, subs={M: 5, N: 33, K: 256})
    np.testing.assert_allclose(c, x @ y.T * 4.0 ** (byte - 127), rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("where", DEVICES)
def test_no_contracted_elements(session, where):
    kernel = scaled(tkl.f4e2m1fn, INSTRUCTIONS[0])
    empty = [np.zeros((rows, 0), np.int8) for rows in (3, 3, 4, 4)]
    c = np.full((3, 4), np.nan, np.float32)
    launch(session, kernel, where, *empty, c, subs={M: 3, N: 4, K: 0})
    assert (c == 0).all()


@pytest.mark.parametrize("where", DEVICES)
def test_sizes_of_the_launch(session, where):
    rng = np.random.default_rng(4)
    kernel = scaled(tkl.f4e2m1fn, INSTRUCTIONS[0], SHARED)
    for m, n, k in ((31, 33, 96), (64, 1, 256)):
        a, a_scale, x = operand(rng, tkl.f4e2m1fn, m, k)
        b, b_scale, y = operand(rng, tkl.f4e2m1fn, n, k)
        c = np.full((m, n), np.nan, np.float32)
        arrays = (a, a_scale, b, b_scale, c)
        launch(session, kernel, where, *arrays, subs={}, dynamic=(M, N, K))
        np.testing.assert_allclose(c, x @ y.T, rtol=1e-5, atol=1e-4)


@pytest.mark.covering(2)
@pytest.mark.parametrize("where", DEVICES, ids="-".join)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("sizes", [(65, 63, 352), (1, 130, 128), (64, 64, 32)])
def test_mxfp4_example(sizes, preset, where):
    m, n, k = sizes
    device, target = where
    torch.manual_seed(k)
    kernel, arguments, expected = gemm_mxfp4.build(
        m, n, k, device=device, target=target, preset=preset
    )
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-5, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "direct"), [("fetch-ahead", True), ("four-stage", False)]
)
def test_tiles_of_256(preset, direct):
    """Registers of 4-bit elements are counted as what they are, or it does not fit."""
    torch.manual_seed(1)
    kernel, arguments, expected = gemm_mxfp4.build(
        *(255, 257, 544, (256, 256, 256)),
        device="emulator",
        preset=preset,
        use_global_to_shared=direct,
    )
    kernel(*arguments)
    atol = 1e-6 * float(expected.abs().max())
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-5, atol=atol)


@pytest.mark.covering(1)
@pytest.mark.parametrize("device", ["sim", "emulator"])
@pytest.mark.parametrize("sizes", [(1, 67, 416), (63, 65, 384), (64, 1, 544)])
def test_small_floats_are_copied_directly(sizes, device):
    torch.manual_seed(2)
    kernel, arguments, expected = gemm_mxfp4.build(
        *sizes,
        device=device,
        preset="fetch-ahead",
        passes="copy-direct-to-lds{cheaper=true}",
    )
    assert any(op.op_name == "gather_to_lds" for op in kernel.compiled.lowered.walk())
    kernel(*arguments)
    torch.testing.assert_close(arguments[-1], expected, rtol=1e-5, atol=1e-4)


def refused(session, kernel, subs, target="gfx950"):
    with pytest.raises(UserError) as caught:
        launch(session, kernel, ("sim", target), subs=subs)
    return caught.value.code, str(caught.value)


def small_product(block=32, scale=tkl.f8e8m0fnu, rows=M, instruction=None):
    """One product whose scales may not fit."""
    rows = [
        tkw.HardwareConstraint(),
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.TilingConstraint(K, 128),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, K / 2, GLOBAL, tkl.i8],
        s: tkl.Memory[M, K / block, GLOBAL, tkl.i8],
        b: tkl.Memory[N, K / 2, GLOBAL, tkl.i8],
        t: tkl.Memory[N, K / 32, GLOBAL, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def total(acc):
            x, y = (tkw.bitcast(tkw.read(each), tkl.f4e2m1fn) for each in (a, b))
            u, v = (tkw.bitcast(tkw.read(each), scale) for each in (s, t))
            return tkw.scaled_mma(x, u, y, v, acc, mma_type=instruction)

        tkw.write(total, c)

    return kernel


SIZES = {M: 16, N: 16, K: 128}


def test_blocks_of_two_sizes(session):
    code, text = refused(session, small_product(block=16), SIZES)
    assert code == "WV0223"
    assert "the scales of `scaled_mma` do not fit: both operands have blocks" in text
    assert "multiplies [M, K] by [N, K]" in text
    assert "this register has dims [N, K // 32]" in text
    assert "one for each block of K" in text


def test_scales_over_all_of_k(session):
    code, text = refused(session, small_product(block=1), SIZES)
    assert code == "WV0223"
    assert "the scales of [M, K] have dims [M, K // 32]" in text


def test_scales_that_are_no_scales(session):
    code, text = refused(session, small_product(scale=tkl.i8), SIZES)
    assert code == "WV0205"
    assert "`scaled_mma` needs f8e8m0fnu as `lhs_scale` and got `i8`" in text
    assert "write `bitcast(lhs_scale, f8e8m0fnu)`" in text


def test_an_instruction_without_scales(session):
    kernel = small_product(instruction="F32_16x16x32_F8")
    code, text = refused(session, kernel, SIZES)
    assert code == "WV0223"
    assert "`F32_16x16x32_F8` takes no scales" in text
    assert "leave `mma_type` out, or use a `ScaledMMAType`" in text


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_a_target_without_scales(session, target):
    code, text = refused(session, small_product(), SIZES, target)
    assert code == "WV0702"
    assert "has no scaled matrix instruction for `f4e2m1fn` operands" in text
    assert "targets with it: gfx950" in text


def test_tiles_that_cut_a_block(session):
    @tkw.wave([tkw.HardwareConstraint(), tkw.TilingConstraint(K, 48)])
    def kernel(
        s: tkl.Memory[K / 32, GLOBAL, tkl.i8], t: tkl.Memory[K / 32, GLOBAL, tkl.i8]
    ):
        @tkw.iterate(K, init_args=[])
        def body():
            tkw.write(tkw.read(s), t)

    code, text = refused(session, kernel, {K: 96})
    assert code == "WV0329"
    assert (
        "48 elements along `K` are not proved to be a whole number of `K // 32`" in text
    )
    assert "multiples of 32" in text


def test_memories_of_shared_bytes():
    for make in (
        lambda: tkl.Memory[M, K, GLOBAL, tkl.f4e2m1fn],
        lambda: tkl.Memory[M, K, GLOBAL, tkl.i4],
    ):
        with pytest.raises(UserError) as caught:
            make()
        assert caught.value.code == "WV0425"
        assert "elements of 4 bits have no addresses" in str(caught.value)
        assert "`K * 4 / 8` bytes" in str(caught.value)


@pytest.mark.parametrize(
    ("compute", "code", "way"),
    [
        (lambda x: x + x, "WV0205", "`mma` and `scaled_mma` multiply it"),
        (lambda x: tkw.sum(x, dim=K), "WV0205", "`cast` converts it"),
        (lambda x: tkw.bitcast(x, tkl.bool), "WV0224", "`cast` converts numbers"),
        (lambda x: tkw.allocate((M, K), (16, 32), x.dtype), "WV0425", "declare the"),
    ],
)
def test_what_shared_bytes_cannot_do(session, compute, code, way):
    @tkw.wave(ROWS)
    def kernel(a: tkl.Memory[M, K / 2, GLOBAL, tkl.i8]):
        @tkw.iterate(K, init_args=[])
        def body():
            compute(tkw.bitcast(tkw.read(a), tkl.f4e2m1fn))

    found, text = refused(session, kernel, {M: 16, K: 64})
    assert found == code
    assert way in text
