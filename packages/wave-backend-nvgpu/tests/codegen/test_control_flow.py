"""Loops, branches, masks and exchanges between lanes, executed as PTX."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.emission import emit

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
TARGETS = ("sm_80", "sm_90a")
NUMBERS = tkl.Memory[N, GLOBAL, tkl.i32]
BLOCK = tkw.HardwareConstraint(waves_per_block=(4,))
THREADS = [tkw.WorkgroupConstraint(N, 128, 0), BLOCK]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def asked(subs, target="sm_80", dynamic=(), **more):
    return tkw.WaveCompileOptions(
        subs=subs, dynamic_symbols=dynamic, target=target, device="emulator", **more
    )


def run(session, kernel, options, *arrays):
    made = wave_compile(options, kernel, session=session)
    made(*arrays)
    assert made.last_run.reports == ()


def steps_of(n):
    count = 0
    while n > 1:
        n, count = 3 * n + 1 if n % 2 else n // 2, count + 1
    return count


@tkw.thread(THREADS)
def collatz(a: NUMBERS, out: NUMBERS):
    t = tkw.thread_id(0)
    i = tkw.program_id(0) * 128 + t
    zero = tkw.scalar(0, tkl.i32)
    first = tkw.load(a, i, mask=i < N, other=1)

    @tkw.iterate(init_args=[first, zero], condition=lambda n, _: n > 1)
    def steps(n, count):
        @tkw.conditional(n % 2 == 1, else_return=n // 2)
        def odd():
            return 3 * n + 1

        return odd, count + 1

    tkw.store(steps[1], out, i, mask=i < N)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 127, 129])
def test_lanes_leave_loops_when_they_like(session, n, target):
    a = np.random.default_rng(n).integers(1, 1000, n, dtype=np.int32)
    out = np.full(n, -1, np.int32)
    run(session, collatz, asked({N: n}, target), a, out)
    assert out.tolist() == [steps_of(int(x)) for x in a]


@tkw.thread(THREADS)
def halves(a: NUMBERS, out: NUMBERS):
    """Lanes of the lower half of a wave exchange, while the others do not."""
    t = tkw.thread_id(0)
    zero = tkw.scalar(0, tkl.i32)
    mine = tkw.load(a, t)

    @tkw.conditional(mine > zero, else_return=zero)
    def lower():
        return tkw.shuffle(mine, 1, 16)

    tkw.store(lower, out, t)


@pytest.mark.parametrize("target", TARGETS)
def test_a_shuffle_in_a_branch_asks_the_lanes_that_are_there(session, target):
    place = np.arange(128, dtype=np.int32)
    a = np.where(place % 32 < 16, place + 1, -1).astype(np.int32)
    out = np.full(128, -1, np.int32)
    run(session, halves, asked({N: 128}, target), a, out)
    assert out.tolist() == np.where(a > 0, a[place ^ 1], 0).tolist()


def row_sums(dtype):
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WaveConstraint(M, 1),
            tkw.TilingConstraint(N, 64),
            tkw.HardwareConstraint(vector_shapes={M: 1, N: 64}),
        ]
    )
    def kernel(a: tkl.Memory[M, N, GLOBAL, dtype], out: tkl.Memory[M, GLOBAL, tkl.f32]):
        start = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(N, init_args=[start])
        def total(sums):
            return tkw.sum(tkw.cast(tkw.read(a), tkl.f32), sums, dim=N)

        tkw.write(total, out)

    return kernel


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 64), (5, 63), (9, 65), (3, 200)])
def test_sums_in_loops_of_sizes_that_the_launch_brings(session, m, n, target):
    a = np.random.default_rng(n).standard_normal((m, n)).astype(np.float16)
    out = np.full(m, np.nan, np.float32)
    kernel = row_sums(tkl.f16)
    run(session, kernel, asked({}, target, (M, N), poison_outputs=True), a, out)
    wanted = a.astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bool", "i8", "bf16", "f64"])
@pytest.mark.parametrize("n", [1, 31, 64, 65])
def test_copies_of_any_element(session, dtype, n):
    element = getattr(tkl, dtype)

    @tkw.wave([tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()])
    def copy(
        a: tkl.Memory[N, GLOBAL, element],
        b: tkl.Memory[N, GLOBAL, element],
    ):
        tkw.write(tkw.read(a), b)

    numpy = element.numpy()
    a = np.random.default_rng(n).integers(0, 2, n).astype(numpy)
    b = np.zeros(n, numpy)
    run(session, copy, asked({N: n}), a, b)
    assert (a.view(np.uint8) == b.view(np.uint8)).all()


def code(session, kernel, form, options):
    (text,) = emit(options, kernel, form, session).files.values()
    return text.decode()


def test_a_row_that_fits_is_moved_in_16_bytes_a_lane(session):
    @tkw.wave([tkw.WorkgroupConstraint(N, 128, 0), tkw.HardwareConstraint()])
    def twice(a: tkl.Memory[N, GLOBAL, tkl.f32], b: tkl.Memory[N, GLOBAL, tkl.f32]):
        x = tkw.read(a)
        tkw.write(x + x, b)

    text = code(session, twice, "ptx", asked({N: 512}))
    body = [line.strip() for line in text.splitlines()]
    found = [
        line for line in body if line.startswith(("ld.g", "add.rn", "st.g", "bra"))
    ]
    assert [line.split()[0] for line in found] == [
        "ld.global.v4.b32", *["add.rn.f32"] * 4, "st.global.v4.b32"
    ]  # fmt: skip
    assert ".maxntid 32" in text


def test_what_a_mask_leaves_out_is_not_read(session):
    text = code(session, row_sums(tkl.f16), "ptx", asked({M: 4, N: 63}))
    assert "ld.global.v" not in text
    llvm = code(session, row_sums(tkl.f16), "llvm", asked({M: 4, N: 63}))
    assert "br i1" in llvm


def test_lines_of_the_program_are_in_the_code(session):
    kernel = row_sums(tkl.f32)
    text = code(session, kernel, "ptx", asked({M: 4, N: 64}))
    start = row_sums.__code__.co_firstlineno
    body = text.split(".visible .entry")[1]
    lines = {int(row.split()[2]) for row in body.splitlines() if ".loc" in row}
    inside = [line for line in lines if start < line < start + 25]
    assert len(inside) >= 3
    assert __file__ in text


@pytest.mark.parametrize("name", ["WARP_SZ", "wave_shared", "add", "größe", "_"])
def test_kernels_may_have_any_name(session, name):
    def body(a: NUMBERS, out: NUMBERS):
        t = tkw.thread_id(0)
        mine = tkw.allocate(128, dtype=tkl.i32)
        tkw.store(tkw.load(a, t), mine, t)
        tkw.shared_memory_barrier()
        tkw.store(tkw.load(mine, 127 - t), out, t)

    body.__name__ = name
    a = np.arange(128, dtype=np.int32)
    out = np.full(128, -1, np.int32)
    kernel = tkw.thread(THREADS)(body)
    run(session, kernel, asked({N: 128}), a, out)
    assert out.tolist() == a[::-1].tolist()
    files = emit(asked({N: 128}), kernel, "cubin", session).files
    assert any(data.startswith(b"\x7fELF") for data in files.values())


@tkw.thread(THREADS)
def of_many(
    a: NUMBERS,
    b: NUMBERS,
    c: NUMBERS,
    d: NUMBERS,
    e: NUMBERS,
    f: NUMBERS,
    g: NUMBERS,
    h: NUMBERS,
    j: NUMBERS,
    k: NUMBERS,
    l: NUMBERS,
    m: NUMBERS,
    out: NUMBERS,
):
    """Blocks of code beside arguments by their dozen."""
    t = tkw.thread_id(0)

    @tkw.iterate(init_args=[t], condition=lambda n: n > 9)
    def digit(n):
        return n - 10

    for each in (a, b, c, d, e, f, g, h, j, k, l, m):
        digit = digit + tkw.load(each, t, mask=t < N, other=0)
    tkw.store(digit, out, t, mask=t < N)


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_and_blocks_of_code_have_names_of_their_own(session, target):
    given = np.random.default_rng(1).integers(0, 900, (12, 100)).astype(np.int32)
    out = np.zeros(100, np.int32)
    run(session, of_many, asked({N: 100}, target), *given, out)
    assert (out == given.sum(0) + np.arange(100) % 10).all()
