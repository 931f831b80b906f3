"""Products whose operands stay in LDS are right in the lane simulator, on any way."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import InternalError
from wave_core.ir import BOX, LANDING, erase, resolve, set_attributes
from wave_core.ir.rewrite import redeclare
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.memory import Allocate, GatherToLDS
from wave_core.ops.sync import MemoryCounterWait, SharedMemoryBarrier, WorkgroupBarrier
from wave_core.types import BufferLayout
from wave_kernels.definitions.gemm import gemm_kernel
from wave_kernels.definitions.products import (
    BLOCK_K,
    BLOCK_M,
    BLOCK_N,
    WAVES_M,
    WAVES_N,
)
from wave_sim_cpu import lanes

pytest.importorskip("wave_backend_nvgpu")

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
TILE = (128, 64, 64)
PRESETS = ("default", "naive")


def product(tile=TILE, *, across=False, space=SHARED, grown=False, waves=2):
    """``c = a b^T``, or ``a b`` where ``across``; ``b`` is doubled where ``grown``."""
    m, n, k = tile
    dims = (K, N) if across else (N, K)

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, m, 0),
            tkw.WorkgroupConstraint(N, n, 1),
            tkw.TilingConstraint(K, k),
            tkw.WaveConstraint(M, m // waves),
            tkw.WaveConstraint(N, n),
            tkw.HardwareConstraint(mma_type="F32_64x64x16_F16"),
        ]
    )
    def gemm(
        a: tkl.Memory[M, K, space, tkl.f16],
        b: tkl.Memory[(*dims, space, tkl.f16)],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[M, N, tkl.f32]):
            right = tkw.read(b)
            if across:
                right = tkw.permute(right, [N, K])
            if grown:
                right = right + right
            return tkw.mma(tkw.read(a), right, acc)

        tkw.write(repeat, c)

    return gemm


def compiled(kernel, sizes, **options):
    bound = dict(zip((M, N, K), sizes, strict=True))
    return tkw.wave_compile(
        tkw.WaveCompileOptions(subs=bound, target="sm_90a", device="sim", **options),
        kernel,
    )


def check(kernel, sizes, *, across=False, factor=1):
    """The result against f64, and that the simulator found nothing."""
    m, n, k = sizes
    rng = np.random.default_rng(m + n + k)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n) if across else (n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, b, c)
    left, right = a.astype(np.float64), b.astype(np.float64)
    right = factor * (right if across else right.T)
    bound = 1e-6 * (np.abs(left) @ np.abs(right)) + 1e-30
    assert (np.abs(c - left @ right) <= bound).all()
    assert not kernel.last_run.reports


@pytest.mark.covering(1)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (127, 65, 63), (129, 64, 131)], ids=str)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.filterwarnings("ignore")
def test_sums_are_right_at_the_edges_of_tiles(preset, sizes):
    check(compiled(product(), sizes, preset=preset), sizes)


@pytest.mark.parametrize(
    "form",
    [{"grown": True}, {"space": GLOBAL}, {"across": True, "grown": True}],
    ids=str,
)
def test_what_is_no_plain_read_of_lds_goes_through_a_buffer(form):
    sizes = (100, 72, 80)
    kernel = compiled(product(**form), sizes, preset="default")
    products = [op for op in kernel.graph.walk() if isinstance(op, Mma)]
    assert all(isinstance(op.rhs, SharedTile) for op in products)
    assert any(resolve(op.rhs.memory).shape[0].name == "$WAVE" for op in products)
    check(
        kernel,
        sizes,
        across=form.get("across", False),
        factor=1 + form.get("grown", False),
    )


@pytest.mark.parametrize("depth", [16, 32, 64])
def test_plain_reads_stay_in_lds_in_the_order_of_their_rows(depth):
    sizes = (130, 64, 2 * depth)
    kernel = compiled(product((128, 64, depth)), sizes, preset="default")
    products = [op for op in kernel.graph.walk() if isinstance(op, Mma)]
    assert len(products) == depth // 16
    for op in products:
        assert [resolve(t.memory).layout.panel for t in op.shared_tiles] == [
            2 * depth,
            2 * depth,
        ]
    check(kernel, sizes)


ORDERING = (MemoryCounterWait, SharedMemoryBarrier, WorkgroupBarrier)


def simulated(kernel, graph, sizes):
    """What the simulator finds in a graph of the kernel, with its result."""
    m, n, k = sizes
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    arguments = {"a": a, "b": b, "c": c}
    return lanes.run(graph, arguments, {}, kernel.compiled.target)


def gemm_of(layout, tile, sizes, dtype="bf16", **options):
    """The library's product, its operands stored as ``layout`` says."""
    m, n, k, columns = tile
    instruction = "F32_64x{}x32_F8" if dtype == "f8e4m3fn" else "F32_64x{}x16_F16"
    kernel = gemm_kernel(
        getattr(tkl, dtype), instruction.format(n // columns), layout=layout
    )
    names = (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N, M, N, K)
    bound = dict(zip(names, (m, n, k, 2, columns, *sizes), strict=True))
    asked = tkw.WaveCompileOptions(
        subs={**bound, tkl.sym.ADDRESS_SPACE: SHARED},
        target="sm_90a",
        device="sim",
        **{"preset": "default"} | options,
    )
    return tkw.wave_compile(asked, kernel)


def check_gemm(kernel, layout, sizes, dtype="bf16"):
    """The result against f64, and that the simulator found nothing."""
    m, n, k = sizes
    rng = np.random.default_rng(m + n + k)
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else ml_dtypes.float8_e4m3fn
    shapes = [(m, k), (k, n)]
    a, b = (
        rng.standard_normal(shape if way == "N" else shape[::-1]).astype(kind)
        for shape, way in zip(shapes, layout, strict=True)
    )
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, b, c)
    left, right = (
        each.astype(np.float64) if way == "N" else each.astype(np.float64).T
        for each, way in zip((a, b), layout, strict=True)
    )
    bound = 1e-6 * (np.abs(left) @ np.abs(right)) + 1e-30
    assert (np.abs(c - left @ right) <= bound).all()
    assert not kernel.last_run.reports


def tiles_of(kernel):
    """The operands of the products, which lie in LDS, with their boxes."""
    graph = kernel.graph
    found = [op for op in graph.walk() if isinstance(op, Mma)]
    tiles = [tile for op in found for tile in op.shared_tiles]
    assert len(tiles) == 2 * len(found) > 0
    return [(resolve(tile.memory), graph.facts.known(BOX, tile)) for tile in tiles]


DIRECT = {"use_global_to_shared": True}


@pytest.mark.parametrize(
    ("layout", "tile", "sizes", "options"),
    [
        ("NT", (128, 64, 128, 1), (129, 65, 256), {}),
        ("NT", (128, 64, 96, 1), (64, 63, 192), DIRECT),
        ("NN", (128, 128, 64, 1), (127, 129, 64), {}),
        ("NN", (128, 256, 32, 1), (64, 264, 96), DIRECT),
        ("NN", (128, 128, 128, 2), (1, 1, 128), {}),
        ("NN", (128, 96, 64, 1), (65, 97, 192), {"schedule": "prefetch"}),
        ("TN", (128, 128, 64, 1), (136, 136, 128), DIRECT),
        ("NT", (128, 64, 64, 1), (129, 72, 136), {}),
        ("NN", (128, 128, 64, 1), (65, 136, 72), DIRECT),
        ("TT", (128, 64, 128, 1), (129, 72, 384), {"schedule": "modulo"}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_operands_of_several_panels_stay_in_lds(layout, tile, sizes, options):
    kernel = gemm_of(layout, tile, sizes, **options)
    for buffer, box in tiles_of(kernel):
        assert "$WAVE" not in str(buffer.type)
        *_, length = buffer.memory_type.storage_shape
        assert length.constant_value * 2 == buffer.layout.panel
        across = buffer.memory_type.dims[-1] != "K"
        assert box.extents[-1] == (length.constant_value if across else 16)
        assert bool(box.apart) == (box.panels > 1)
    check_gemm(kernel, layout, sizes)


@pytest.mark.covering(1)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (65, 129, 72), (127, 63, 127)], ids=str)
@pytest.mark.parametrize("layout", ["NN", "TT"])
@pytest.mark.filterwarnings("ignore")
def test_rows_of_panels_end_where_sizes_do(layout, sizes):
    check_gemm(gemm_of(layout, (128, 128, 64, 1), sizes), layout, sizes)


@pytest.mark.fuzz
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("n", [16, 24, 64, 96, 192, 256])
@pytest.mark.parametrize("k", [16, 48, 64, 128])
@pytest.mark.filterwarnings("ignore")
def test_every_tile_and_layout_is_right(layout, n, k):
    for sizes in ((1, 1, 1), (128, n, k), (129, n + 1, k + 1), (127, n - 1, 2 * k - 1)):
        check_gemm(gemm_of(layout, (128, n, k, 1), sizes), layout, sizes)


@pytest.mark.parametrize("layout", ["NN", "TN"])
def test_bytes_are_taken_along_k_alone(layout):
    """Instructions of bytes know no tile with K outermost: it takes the detour."""
    sizes = (64, 48, 96)
    kernel = gemm_of(layout, (128, 64, 64, 1), sizes, "f8e4m3fn")
    products = [op for op in kernel.graph.walk() if isinstance(op, Mma)]
    tiles = [resolve(tile.memory) for op in products for tile in op.shared_tiles]
    assert tiles
    assert all("K" in buffer.memory_type.dims[-1] for buffer in tiles)
    check_gemm(kernel, layout, sizes, "f8e4m3fn")


def test_a_box_with_panels_elsewhere_is_found():
    sizes = (64, 128, 64)
    kernel = gemm_of("NN", (128, 128, 64, 1), sizes)
    graph = kernel.graph.clone()
    tile = next(
        op
        for op in graph.walk()
        if isinstance(op, SharedTile) and graph.facts.known(BOX, op).panels > 1
    )
    box = graph.facts.known(BOX, tile)
    graph.facts.put(BOX, tile, replace(box, apart=box.apart - 8))
    with pytest.raises(InternalError, match="not what its access row says"):
        lanes.run(
            graph,
            {
                "a": np.ones((64, 64), ml_dtypes.bfloat16),
                "b": np.ones((64, 128), ml_dtypes.bfloat16),
                "c": np.zeros((64, 128), np.float32),
            },
            {},
            kernel.compiled.target,
        )


def test_a_missing_wait_or_barrier_is_found():
    sizes = (100, 72, 200)
    kernel = compiled(product(), sizes, preset="default")
    whole = kernel.graph
    assert not simulated(kernel, whole.clone(), sizes).reports
    places = [i for i, op in enumerate(whole.walk()) if isinstance(op, ORDERING)]
    assert len(places) >= 3
    for place in places:
        graph = whole.clone()
        gone = list(graph.walk())[place]
        erase(gone)
        found = simulated(kernel, graph, sizes).reports
        assert found, f"{gone.op_name} at {place} is missed"
        assert {each.code for each in found} == {"WV0901"}


def test_a_buffer_in_another_order_is_found():
    sizes = (64, 64, 64)
    kernel = compiled(product(), sizes, preset="default")
    graph = kernel.graph.clone()
    buffer = next(op for op in graph.walk() if isinstance(op, Allocate))
    redeclare(buffer, layout=BufferLayout(16, 2, 4, 64))
    with pytest.raises(InternalError, match="not what its access row says"):
        simulated(kernel, graph, sizes)


SCHEDULES = (
    {"use_global_to_shared": True},
    {"schedule": "prefetch"},
    {"schedule": "four-stage", "unroll_factor": 2},
    {"schedule": "modulo", "eliminate_epilogue": True},
    {"schedule": "modulo", "use_global_to_shared": True},
    {"preset": "auto"},
)


@pytest.mark.covering(1)
@pytest.mark.parametrize("sizes", [(100, 72, 136), (129, 65, 449)], ids=str)
@pytest.mark.parametrize("options", SCHEDULES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_schedules_are_right(options, sizes):
    kernel = compiled(product(), sizes, **{"preset": "default"} | options)
    check(kernel, sizes)


def test_copies_in_flight_follow_the_order_of_the_buffer():
    """Without a barrier of the loop, or without its waits, there is a race."""
    sizes = (64, 64, 512)
    kernel = compiled(product(), sizes, preset="auto")
    whole = kernel.graph
    assert any(isinstance(op, GatherToLDS) for op in whole.walk())
    assert not simulated(kernel, whole.clone(), sizes).reports
    loop = next(op for op in whole.walk() if isinstance(op, Iterate))
    ordering = [op for op in loop.body.ops if isinstance(op, ORDERING)]
    waits = {op.ident for op in ordering if isinstance(op, MemoryCounterWait)}
    barriers = [{op.ident} for op in ordering if op.ident not in waits]
    assert waits
    assert barriers
    for gone in (waits, *barriers):
        graph = whole.clone()
        pairs = zip(list(whole.walk()), list(graph.walk()), strict=True)
        for copy in [copy for op, copy in pairs if op.ident in gone]:
            erase(copy)
        assert simulated(kernel, graph, sizes).reports


IN_FLIGHT = {"use_global_to_shared": True, "preset": "default"}
AHEAD = {"fetch-ahead": 3, "four-stage": 4}
"""Buffers, by schedule."""


def in_flight(schedule, sizes):
    """A kernel in whose loop products go on from one iteration into the next."""
    kernel = compiled(product(), sizes, schedule=schedule, **IN_FLIGHT)
    waits = [op for op in kernel.graph.walk() if isinstance(op, MemoryCounterWait)]
    return kernel, [op for op in waits if op.mma]


@pytest.mark.covering(1)
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("schedule", AHEAD)
@pytest.mark.filterwarnings("ignore")
def test_products_go_on_into_the_next_iteration(schedule, trips):
    for sizes in ((128, 64, 64 * trips), (127, 65, 64 * trips + 8)):
        kernel, waits = in_flight(schedule, sizes)
        check(kernel, sizes)
        # Where all rows exist, enough iterations leave a loop.
        long = trips > AHEAD[schedule] and sizes[0] == TILE[0]
        assert bool(waits) or not long


@pytest.mark.parametrize("schedule", AHEAD)
def test_waiting_for_one_group_less_is_found(schedule):
    sizes = (128, 64, 640)
    kernel, waits = in_flight(schedule, sizes)
    assert not simulated(kernel, kernel.graph.clone(), sizes).reports
    (wait,) = waits
    set_attributes(wait, mma=2 * wait.mma)
    found = simulated(kernel, kernel.graph.clone(), sizes).reports
    assert {each.code for each in found} == {"WV0901"}


@pytest.mark.parametrize("schedule", AHEAD)
def test_a_buffer_that_is_taken_a_turn_too_early_is_found(schedule):
    """Its copies land where products of the iteration before are reading."""
    sizes = (128, 64, 640)
    kernel, _ = in_flight(schedule, sizes)
    facts = kernel.graph.facts
    loop = next(op for op in kernel.graph.walk() if isinstance(op, Iterate))
    assert loop.induction is not None
    turn = {loop.induction: loop.induction + 1}
    for op in loop.body.ops:
        if isinstance(op, GatherToLDS):
            row = facts.known(LANDING, op)
            facts.put(LANDING, op, row.mapped(lambda expr: expr.subs(turn)))
    found = simulated(kernel, kernel.graph.clone(), sizes).reports
    assert "WV0901" in {each.code for each in found}
