"""Corners of the language, from source to result, on lanes and on whole tiles."""

from __future__ import annotations

import pytest
import torch
from programs import distance

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session, wave_compile
from wave_core.symbols import symbol

sym = tkl.sym
A, B, D, E = sym.A, sym.B, sym.D, sym.E
M, N, K = sym.M, sym.N, sym.K
BLOCK_M, BLOCK_N, BLOCK_K = sym.BLOCK_M, sym.BLOCK_N, sym.BLOCK_K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SHARED = tkl.SHARED_ADDRESS_SPACE
ADDRESS_SPACE = sym.ADDRESS_SPACE
HARDWARE = tkw.HardwareConstraint(threads_per_wave=64)
TILES = {BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 16}

pytestmark = pytest.mark.parametrize("device", ["sim", "sim-logical"])


@pytest.fixture
def announced():
    return []


@pytest.fixture
def run(device, announced):
    session = Session(announce=announced.append)

    def compile_and_call(kernel, subs, *arguments, **options):
        chosen = tkw.WaveCompileOptions(subs=subs, device=device, **options)
        compiled = wave_compile(chosen, kernel, session=session)
        compiled(*arguments)
        assert compiled.last_run.reports == ()
        return compiled

    return compile_and_call


def half(*shape):
    return torch.randn(*shape, dtype=torch.float16)


def poisoned(*shape, dtype=torch.float32):
    return torch.full(shape, torch.nan, dtype=dtype)


def product_constraints(*more, m=BLOCK_M / 2, n=BLOCK_N / 2):
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, m),
        tkw.WaveConstraint(N, n),
        HARDWARE,
        *more,
    ]


def gemm_kernel(constraints, space=GLOBAL):
    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, space, tkl.f16],
        b: tkl.Memory[N, K, space, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


def test_five_workgroup_axes(run):
    dims = (A, B, D, E, N)
    tiles = (1, 2, 1, 3, 64)

    @tkw.wave(
        [
            HARDWARE,
            *(
                tkw.WorkgroupConstraint(dim, tile, axis)
                for axis, (dim, tile) in enumerate(zip(dims, tiles, strict=True))
            ),
        ]
    )
    def double(
        x: tkl.Memory[A, B, D, E, N, GLOBAL, tkl.f32],
        y: tkl.Memory[A, B, D, E, N, GLOBAL, tkl.f32],
    ):
        value = tkw.read(x)
        tkw.write(value + value, y)

    shape = (2, 3, 2, 4, 70)
    x, y = torch.randn(shape), poisoned(*shape)
    kernel = run(double, dict(zip(dims, shape, strict=True)), x, y)
    assert torch.equal(y, x + x)
    assert kernel.last_run.grid == (2, 2, 2, 2, 2)


@pytest.mark.parametrize("block", [1, 2])
def test_batched_product(run, block):
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, block, 2),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={B: 0}),
    ]

    @tkw.wave(constraints)
    def product(
        a: tkl.Memory[B, M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[B, N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[B, M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[B, M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    a, b, c = half(3, 40, 33), half(3, 35, 33), poisoned(3, 40, 35)
    run(product, {B: 3, M: 40, N: 35, K: 33} | TILES, a, b, c)
    assert distance(c, a.float() @ b.float().transpose(1, 2)) < 1e-3


@pytest.mark.parametrize("space", [SHARED, ADDRESS_SPACE], ids=["literal", "symbol"])
def test_staging_that_nobody_does_is_said_once(run, space, announced, device):
    a, b, c = half(40, 33), half(35, 33), poisoned(40, 35)
    subs = {M: 40, N: 35, K: 33} | TILES
    if space is ADDRESS_SPACE:
        subs |= {ADDRESS_SPACE: SHARED}
    for _ in range(2):
        run(gemm_kernel(product_constraints(), space), subs, a, b, c, preset="naive")
    assert distance(c, a.float() @ b.float().T) < 1e-3
    # Whole tiles are in no memory: there is nothing to say.
    assert [text.count("WV0408") for text in announced] == [1] * (device == "sim")


@pytest.mark.parametrize("block", [32, 64, 96])
def test_half_tiles(run, block):
    a, b, c = half(70, 33), half(100, 33), poisoned(70, 100)
    tiles = {BLOCK_M: block, BLOCK_N: block, BLOCK_K: 16}
    subs = {M: 70, N: 100, K: 33} | tiles
    run(gemm_kernel(product_constraints()), subs, a, b, c)
    assert distance(c, a.float() @ b.float().T) < 1e-3


@pytest.mark.parametrize("shape", [(5, 3), (64, 200), (129, 1)])
def test_no_vector_shapes_and_no_waves(run, shape):
    @tkw.wave(
        [
            HARDWARE,
            tkw.WorkgroupConstraint(M, BLOCK_M, 0),
            tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        ]
    )
    def scale(
        x: tkl.Memory[M, N, GLOBAL, tkl.f16], y: tkl.Memory[N, M, GLOBAL, tkl.f16]
    ):
        value = tkw.read(x) * tkl.Register[M, N, tkl.f16](2.0)
        tkw.write(tkw.permute(value, target_shape=[N, M]), y)

    x, y = half(*shape), poisoned(*shape[::-1], dtype=torch.float16)
    subs = {M: shape[0], N: shape[1], BLOCK_M: 8, BLOCK_N: 32}
    run(scale, subs, x, y)
    assert torch.equal(y, (x * 2).T)


def test_an_axis_left_out_has_one_workgroup(run):
    """The fused softmax as its page gives it: rows on axis 1, nothing on axis 0."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: N}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WaveConstraint(M, 1),
    ]

    @tkw.wave(constraints)
    def softmax(
        x: tkl.Memory[M, N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        row = tkw.read(x)
        largest = tkw.broadcast(tkw.max(row, dim=N), target_shape=[M, N])
        power = tkw.exp(row - largest)
        total = tkw.broadcast(tkw.sum(power, dim=N), target_shape=[M, N])
        tkw.write(power / total, y)

    x, y = torch.randn(5, 130), poisoned(5, 130)
    kernel = run(softmax, {M: 5, N: 130}, x, y)
    assert kernel.last_run.grid == (1, 5)
    assert distance(y, torch.softmax(x, dim=1)) < 1e-3


def test_reordered_workgroups(run):
    first, second = tkw.WORKGROUP_0, tkw.WORKGROUP_1
    reorder = tkw.ReorderingConstraint((first + 2 * second) % 4, 0)
    kernel = gemm_kernel(product_constraints(reorder))
    a, b, c = half(128, 32), half(60, 32), poisoned(128, 60)
    run(kernel, {M: 128, N: 60, K: 32} | TILES, a, b, c)
    assert distance(c, a.float() @ b.float().T) < 1e-3


def test_persistent_kernel(run):
    """Three workgroups share eleven tiles; each looks up its next one."""
    T, R, TILE = sym.T, sym.R, sym.TILE
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    from_tile = tkw.IndexMapping(
        num_iterators=2, inputs={M: TILE * 16 + i, N: j}, outputs={R: i, N: j}
    )
    to_tile = tkw.IndexMapping(
        num_iterators=2, inputs={R: i, N: j}, outputs={M: TILE * 16 + i, N: j}
    )
    workers = 3
    constraints = [
        HARDWARE,
        tkw.GridConstraint(workers),
        tkw.TilingConstraint(T, 1, iters=4),
    ]

    @tkw.wave(constraints)
    def shift(
        x: tkl.Memory[M, N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        @tkw.iterate(T, init_args=[])
        def each_tile():
            step = tkw.self_index(T, tkl.i32)
            tile = tkw.apply_expr(step, lambda s: s * workers + tkw.WORKGROUP_0)
            tkw.set_symbol(TILE, tile)

            @tkw.conditional(TILE < 11)
            def there_is_one():
                value = tkw.read(x, mapping=from_tile)
                one = tkl.Register[R, N, tkl.f32](1.0)
                tkw.write(value + one, y, mapping=to_tile)

    x, y = torch.randn(176, 20), poisoned(176, 20)
    kernel = run(shift, {M: 176, N: 20, R: 16, T: 4}, x, y)
    assert kernel.last_run.grid == (3,)
    assert torch.equal(y, x + 1)


def test_alias_follows_its_dimension(run):
    HALF = sym.HALF
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    even = tkw.IndexMapping(
        num_iterators=2, inputs={M: i, N: 2 * j}, outputs={M: i, HALF: j}
    )
    constraints = [
        HARDWARE,
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.SymbolicAlias(HALF, N, lambda n: n // 2),
    ]

    @tkw.wave(constraints)
    def every_other(
        x: tkl.Memory[M, N, GLOBAL, tkl.f32], y: tkl.Memory[M, HALF, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(x, mapping=even), y)

    x, y = torch.randn(9, 200), poisoned(9, 100)
    run(every_other, {M: 9, N: 200, BLOCK_M: 4, BLOCK_N: 64}, x, y)
    assert torch.equal(y, x[:, ::2])


def test_memories_have_the_shape_of_their_storage(run):
    longer = tkl.MemoryLayout(shape=(None, N + 8))

    @tkw.wave([HARDWARE, tkw.WorkgroupConstraint(M, BLOCK_M, 0)])
    def doubled(
        x: tkl.Memory[M, N, SHARED, tkl.f32, longer],
        y: tkl.Memory[M, N, GLOBAL, tkl.f32, longer],
    ):
        tkw.write(tkw.read(x) * 2.0, y)

    x, y = torch.randn(5, 18), poisoned(5, 18)
    run(doubled, {M: 5, N: 10, BLOCK_M: 4}, x, y)
    assert torch.equal(y[:, :10], 2 * x[:, :10])
    assert y[:, 10:].isnan().all()


def test_scalars_bind_sizes_and_values(run):
    LIMIT = sym.LIMIT

    @tkw.wave([HARDWARE, tkw.WorkgroupConstraint(N, 64, 0)])
    def clipped(
        x: tkl.Memory[N, GLOBAL, tkl.f32],
        y: tkl.Memory[N, GLOBAL, tkl.f32],
        factor: tkl.f32,
        LIMIT: tkl.SymbolBind[tkl.i32],
    ):
        index = tkw.self_index(N, tkl.i32)
        inside = tkw.apply_expr(index, lambda n: n < sym.LIMIT)
        scaled = tkw.read(x) * tkw.broadcast(factor, target_shape=[N])
        tkw.write(tkw.select(inside, scaled, tkl.Register[N, tkl.f32](0.0)), y)

    x, y = torch.randn(150), poisoned(150)
    run(clipped, {N: 150}, x, y, 3.0, 77)
    wanted = torch.where(torch.arange(150) < 77, x * 3, 0.0)
    assert torch.equal(y, wanted)
    assert str(LIMIT) == symbol("LIMIT").name


def test_reduction_across_waves(run):
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, 1, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, BLOCK_N / 4),
    ]

    @tkw.wave(constraints)
    def largest(
        x: tkl.Memory[M, N, GLOBAL, tkl.f32], y: tkl.Memory[M, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.max(tkw.read(x), dim=N), y)

    x, y = torch.randn(5, 250) - 100, poisoned(5)
    run(largest, {M: 5, N: 250, BLOCK_N: 256}, x, y)
    assert torch.equal(y, x.max(dim=1).values)


def test_breakpoint_shows_registers(device):
    if device != "sim":
        return
    from wave_core.targets import generic_target
    from wave_sim_cpu import lanes
    from wave_sim_cpu.options import SimulationOptions

    @tkw.wave([HARDWARE, tkw.WorkgroupConstraint(N, 64, 0)])
    def watched(x: tkl.Memory[N, GLOBAL, tkl.f32], y: tkl.Memory[N, GLOBAL, tkl.f32]):
        value = tkw.read(x)
        tkw.breakpoint_here(shown=value)
        tkw.write(value, y)

    options = tkw.WaveCompileOptions(subs={N: 100}, device=device)
    graph = wave_compile(options, watched).graph
    x, y = torch.randn(100).numpy(), poisoned(100).numpy()
    seen = []
    stops = SimulationOptions(breakpoint=seen.append)
    lanes.run(graph, {"x": x, "y": y}, {}, generic_target(), stops)
    assert seen[0].dims == {"shown": ("N",)}
    assert (seen[0].tensors["shown"][:100] == x).all()
