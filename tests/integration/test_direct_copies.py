"""Machine code of tiles copied directly to LDS: right, free of hazards, and guarded."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.compile.backend import Settings, compile_graph
from wave_core.compile import Config, Session, wave_compile
from wave_core.ir import erase, region_of, set_attributes
from wave_emulator_amdgcn import LaunchOptions, emulate, load
from wave_emulator_amdgcn.hazards.planted import planted

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
F8 = {"gfx942": tkl.f8e4m3fnuz, "gfx950": tkl.f8e4m3fn}
TARGETS = pytest.mark.parametrize("target", ["gfx942", "gfx950"])


def gemm(tile, waves, dtype):
    constraints = [
        tkw.WorkgroupConstraint(M, tile[0], 0),
        tkw.WorkgroupConstraint(N, tile[1], 1),
        tkw.TilingConstraint(K, tile[2]),
        tkw.WaveConstraint(M, tile[0] // waves[0]),
        tkw.WaveConstraint(N, tile[1] // waves[1]),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, tkl.SHARED_ADDRESS_SPACE, dtype],
        b: tkl.Memory[N, K, tkl.SHARED_ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return kernel


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False))


class Product:
    """A product of one tile, compiled with direct copies."""

    def __init__(self, session, sizes, tile, waves, target, dtype=tkl.f16, **more):
        options = tkl.WaveCompileOptions(
            subs=dict(zip((M, N, K), sizes, strict=True)),
            target=target,
            **{"use_global_to_shared": True, **more},
        )
        kernel = gemm(tile, waves, dtype)
        self.compiled = wave_compile(options, kernel, session=session)
        self.sizes, self.dtype = sizes, dtype
        self.grid = (-(-sizes[0] // tile[0]), -(-sizes[1] // tile[1]), 1)
        self.target = self.compiled.compiled.target

    def code(self, graph=None):
        return compile_graph(graph or self.compiled.graph, self.target).artifact.code

    def hot_loop(self):
        """The lines of the longest loop of the assembly."""
        settings = Settings(intermediates=True)
        output = compile_graph(self.compiled.graph, self.target, settings)
        lines = [line.strip() for line in output.assembly.splitlines()]
        starts = {line.split(":")[0]: at for at, line in enumerate(lines)}
        jumps = [
            (starts[line.split()[1]], at)
            for at, line in enumerate(lines)
            if line.startswith(("s_cbranch", "s_branch"))
        ]
        first, last = max(jumps, key=lambda jump: jump[1] - jump[0])
        return lines[first:last]

    def launch(self, code, **options):
        """What the emulator says, and the largest error."""
        m, n, k = self.sizes
        rng = np.random.default_rng(0)
        a, b = (
            rng.integers(-2, 3, (rows, k)).astype(self.dtype.numpy()) for rows in (m, n)
        )
        c = np.full((m, n), np.nan, np.float32)
        launch = LaunchOptions(**options)
        result = emulate(load(code), [a, b, c], grid=self.grid, options=launch)
        wanted = a.astype(np.float64) @ b.astype(np.float64).T
        return result, np.abs(c - wanted).max()


ROWS = [
    ((256, 256, 96), (256, 256, 32), (4, 2), "f16"),
    ((128, 128, 96), (128, 128, 32), (2, 2), "f16"),
    ((130, 120, 72), (128, 128, 32), (2, 2), "f16"),
    ((128, 128, 128), (128, 128, 64), (2, 2), "f8"),
    ((128, 128, 64), (128, 128, 32), (2, 2), "f32"),
]


@pytest.mark.covering(1)
@TARGETS
@pytest.mark.parametrize(("sizes", "tile", "waves", "dtype"), ROWS)
def test_right_without_conflict_or_hazard(session, sizes, tile, waves, dtype, target):
    kind = {"f16": tkl.f16, "f8": F8[target], "f32": tkl.f32}[dtype]
    product = Product(session, sizes, tile, waves, target, kind)
    result, error = product.launch(product.code(), counters=True)
    assert (error, result.reports) == (0, ())
    samples = result.meter.samples.values()
    assert sum(sample.lds_cycles for sample in samples) > 0
    assert sum(sample.lds_cycles - sample.lds_ideal for sample in samples) == 0


@TARGETS
def test_any_order_of_completion_gives_the_same(session, target):
    product = Product(session, (128, 128, 96), (128, 128, 32), (2, 2), target)
    code = product.code()
    assert [product.launch(code, order=seed)[1] for seed in range(3)] == [0] * 3


@TARGETS
def test_weaker_waits_for_copies_are_reported(session, target):
    product = Product(session, (128, 128, 96), (128, 128, 32), (2, 2), target)
    waits = [
        defect
        for defect in planted(product.code())
        if defect.kind == "wait" and defect.what.startswith("vmcnt 0 to ")
    ]
    assert waits
    for defect in waits:
        result, _ = product.launch(defect.code, strict=True)
        assert {row.code for row in result.reports} & {"EM0501", "EM0506"}


@TARGETS
def test_missing_barriers_are_reported(session, target):
    product = Product(session, (128, 128, 96), (128, 128, 32), (2, 2), target)
    for position in range(2):
        graph = product.compiled.graph.clone()
        barriers = [op for op in graph.walk() if op.op_name == "shared_memory_barrier"]
        erase(barriers[position])
        result, _ = product.launch(product.code(graph))
        assert "EM0501" in {row.code for row in result.reports}


AHEAD = {"preset": "fetch-ahead"}
THREE = AHEAD | {"multi_buffer_count": 3}
PIPELINED = {
    "prefetch": {"preset": "prefetch"},
    "fetch-ahead": AHEAD,
    "three buffers": THREE,
    "four-stage": {"preset": "four-stage", "multi_buffer_count": 3},
    "pingpong": {"preset": "pingpong"},
    "pingpong, three buffers": {"preset": "pingpong", "multi_buffer_count": 3},
}
WAYS = pytest.mark.parametrize("way", PIPELINED)


SIDES = {"gfx942": 64, "gfx950": 128}
COPIES = {"gfx942": 8, "gfx950": 4}
"""Of each lane in an iteration, 4 bytes and 16 each."""


PRODUCTS = {"gfx942": 4, "gfx950": 16}
"""Of a wave in an iteration: half of them."""


def pipelined(session, target, way, trips):
    side = SIDES[target]
    sizes, tile = (side, side, 32 * trips), (side, side, 32)
    return Product(session, sizes, tile, (2, 2), target, **PIPELINED[way])


def waiting(graph):
    barriers = [op for op in graph.walk() if op.op_name == "shared_memory_barrier"]
    return [op for op in barriers if op.wait_async_ops]


@pytest.mark.covering(1)
@TARGETS
@WAYS
@pytest.mark.parametrize("trips", range(10))
def test_pipelines_are_free_of_hazards(session, target, way, trips):
    product = pipelined(session, target, way, trips)
    result, error = product.launch(product.code())
    assert (error, result.reports) == (0, ())


EDGES = [
    (1, 1, 1),
    (127, 129, 320),
    (129, 127, 322),
    (128, 257, 31),
    (67, 131, 33),
    (255, 1, 97),
    (128, 128, 0),
]
"""Sizes around tiles of 128 x 128 x 32; rows of odd sizes are not copied directly."""


@pytest.mark.covering(1)
@TARGETS
@pytest.mark.parametrize("way", ["pingpong", "pingpong, three buffers"])
@pytest.mark.parametrize("sizes", EDGES)
def test_edges_of_tiles_while_halves_alternate(session, target, way, sizes):
    chosen = PIPELINED[way] | {"passes": ("copy-direct-to-lds{cheaper=true}",)}
    chosen |= {"use_global_to_shared": False}
    product = Product(session, sizes, (128, 128, 32), (2, 2), target, **chosen)
    result, error = product.launch(product.code())
    assert (error, result.reports) == (0, ())


@pytest.mark.covering(1)
@TARGETS
@WAYS
def test_pipelines_in_any_order_of_completion(session, target, way):
    product = pipelined(session, target, way, 6)
    assert [product.launch(product.code(), order=seed)[1] for seed in range(2)] == [
        0,
        0,
    ]


THREE_BUFFERS = pytest.mark.parametrize(
    ("way", "meetings"), [("three buffers", 1), ("pingpong, three buffers", 2)]
)
"""Ways with the barriers of an iteration."""


@TARGETS
@THREE_BUFFERS
def test_three_buffers_leave_the_copies_of_an_iteration(session, target, way, meetings):
    loop = pipelined(session, target, way, 128).hot_loop()
    turns = sum(line.startswith("s_barrier") for line in loop) // meetings
    waits = [line for line in loop if "vmcnt" in line]
    assert sum(line.endswith(" lds") for line in loop) == turns * COPIES[target]
    assert len(waits) == turns > 0
    assert all(f"vmcnt({COPIES[target]})" in line for line in waits)


@TARGETS
def test_matrix_work_is_done_while_copies_are_on_their_way(session, target):
    loop = pipelined(session, target, "fetch-ahead", 128).hot_loop()
    (first, *_) = [at for at, line in enumerate(loop) if "vmcnt(0)" in line]
    turned = loop[first:] + loop[:first]
    products = copies = 0
    for line in [*turned[1:], turned[0]]:
        copies += line.endswith(" lds")
        products = 0 if line.endswith(" lds") else products + ("v_mfma" in line)
        if "vmcnt" in line:
            assert (copies, "vmcnt(0)" in line) == (COPIES[target], True)
            assert products >= PRODUCTS[target]
            copies = 0


@pytest.mark.covering(1)
@TARGETS
@THREE_BUFFERS
def test_a_group_left_too_many_is_reported(session, target, way, meetings):
    product = pipelined(session, target, way, 8)
    graph = product.compiled.graph.clone()
    (op,) = [op for op in waiting(graph) if any(region_of(op).around)]
    assert op.groups_left == meetings
    set_attributes(op, groups_left=2 * meetings)
    result, _ = product.launch(product.code(graph))
    assert {row.code for row in result.reports} & {"EM0501", "EM0506"}


@pytest.mark.covering(1)
@TARGETS
@pytest.mark.parametrize("way", ["three buffers", "pingpong, three buffers"])
def test_a_count_of_one_more_is_reported(session, target, way):
    product = pipelined(session, target, way, 8)
    weaker = f"vmcnt {COPIES[target]} to {COPIES[target] + 1}"
    *found, _ = [each for each in planted(product.code()) if weaker in each.what]
    assert found
    # The loop is unrolled, and what follows the last wait waits for all copies.
    for defect in found:
        result, _ = product.launch(defect.code, strict=True)
        assert {row.code for row in result.reports} & {"EM0501", "EM0506"}


@pytest.mark.parametrize("preset", ["prefetch", "fetch-ahead"])
def test_copies_of_some_lanes_do_not_move_those_of_all(session, preset):
    # The last three rows of both tiles are copied by the same lanes of the wave, which
    # is one condition; the rows before them are copied by all lanes in between.
    product = Product(
        session, (67, 35, 128), (128, 128, 64), (2, 2), "gfx950", preset=preset
    )
    result, error = product.launch(product.code())
    assert not result.reports
    assert error == 0
