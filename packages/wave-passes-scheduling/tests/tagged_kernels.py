"""Kernels with tags, and schedules for them, for tests of manual schedules."""

from __future__ import annotations

import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import SchedulingType, Session

NAMES = ("B", "M", "N", "K", "L", "K1")
B, M, N, K, L, K1 = (getattr(tkl.sym, name) for name in NAMES)
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE


def tagged_gemm(tile=(64, 64, 32), space=SHARED):
    """The product of the documentation's example, its ops tagged."""
    rows = [
        tkw.WorkgroupConstraint(M, tile[0], 0),
        tkw.WorkgroupConstraint(N, tile[1], 1),
        tkw.TilingConstraint(K, tile[2]),
        tkw.WaveConstraint(M, tile[0] // 2),
        tkw.WaveConstraint(N, tile[1] // 2),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, space, tkl.f16],
        b: tkl.Memory[N, K, space, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[start], tag="k_loop")
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            x, y = tkw.read(a, tag="read_a"), tkw.read(b, tag="read_b")
            return tkw.mma(x, y, acc, tag="mma")

        tkw.write(repeat, c)

    return gemm


def two_products():
    """A product over K, then one over L that goes on with its sums."""
    rows = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 32),
        tkw.TilingConstraint(L, 32),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def products(
        a: tkl.Memory[M, K, SHARED, tkl.f16],
        b: tkl.Memory[N, K, SHARED, tkl.f16],
        d: tkl.Memory[M, L, SHARED, tkl.f16],
        e: tkl.Memory[N, L, SHARED, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[start], tag="k_loop")
        def first(acc):
            x, y = tkw.read(a, tag="a"), tkw.read(b, tag="b")
            return tkw.mma(x, y, acc, tag="first")

        @tkw.iterate(L, init_args=[first], tag="l_loop")
        def second(acc):
            x, y = tkw.read(d, tag="d"), tkw.read(e, tag="e")
            return tkw.mma(x, y, acc, tag="second")

        tkw.write(second, c)

    return products


def repeated_product():
    """A loop in a loop: L times the same product and a matrix, added up."""
    rows = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.TilingConstraint(K, 32),
        tkw.TilingConstraint(L, 1),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def repeated(
        a: tkl.Memory[M, K, SHARED, tkl.f16],
        b: tkl.Memory[N, K, SHARED, tkl.f16],
        d: tkl.Memory[M, N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        start = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(L, init_args=[start], tag="l_loop")
        def outer(total):
            @tkw.iterate(K, init_args=[total], tag="k_loop")
            def inner(acc):
                x, y = tkw.read(a, tag="a"), tkw.read(b, tag="b")
                return tkw.mma(x, y, acc, tag="first")

            return tkw.tag(inner + tkw.read(d), "add")

        tkw.write(outer, c)

    return repeated


def tagged_attention():
    """Attention with keys and values staged in LDS, its ops tagged."""
    rows = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
        tkw.WorkgroupConstraint(B, 1, 2),
        tkw.TilingConstraint(K, 16),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(vector_shapes={B: 0}),
    ]
    i, j, k = (tkw.IndexMapping.iterator(n) for n in range(3))
    swap = tkw.IndexMapping(3, {B: i, K: k, N: j}, {B: i, N: j, K: k})
    back = tkw.IndexMapping(3, {B: i, N: j, M: k}, {B: i, M: k, N: j})

    @tkw.wave(rows)
    def attention(
        q: tkl.Memory[B, M, K1, GLOBAL, tkl.f16],
        keys: tkl.Memory[B, K, K1, SHARED, tkl.f16],
        values: tkl.Memory[B, K, N, SHARED, tkl.f16],
        out: tkl.Memory[B, M, N, GLOBAL, tkl.f32],
    ):
        nil = tkl.Register[B, N, M, tkl.f32](0.0)
        no_sum = tkl.Register[B, M, tkl.f32](0.0)
        low = tkl.Register[B, M, tkl.f32](-1e6)

        @tkw.iterate(K, init_args=[low, no_sum, nil], tag="loop")
        def repeat(most, total, acc):
            zero = tkl.Register[B, K, M, tkl.f32](0.0)
            scores = tkw.mma(tkw.read(keys, tag="k"), tkw.read(q), zero, tag="qk")
            x = tkw.permute(scores, target_shape=[B, M, K])
            inside = tkw.apply_expr(tkw.self_index(K, tkl.i64), lambda e: e < K)
            inside = tkw.cast(tkw.broadcast(inside, target_shape=[M, K]), tkw.i1)
            hidden = tkl.Register[M, K, tkl.f32](float("-inf"))
            x = x + tkw.select(inside, tkl.Register[M, K, tkl.f32](0.0), hidden)
            now = tkw.max(x, most, dim=K, tag="softmax")
            down = tkw.exp2(most - now, tag="softmax")
            weights = tkw.exp2(x - now, tag="softmax")
            total = tkw.sum(weights, total * down, dim=K, tag="softmax")
            factor = tkw.cast(weights, tkl.f16)
            v = tkw.read(values, mapping=swap, tag="v")
            return now, total, tkw.mma(v, factor, acc * down, tag="pv")

        tkw.write(repeat[2] * tkw.reciprocal(repeat[1]), out, mapping=back)

    return attention


def split(tag):
    """Reads of global memory, writes to LDS and reads of LDS with a tag."""
    reads = tkw.get_node_by_tag_and_type(tag, tkw.Read)
    far, near = tkw.partition_by_address_space(reads, GLOBAL)
    return far, tkw.get_node_by_tag_and_type(tag, tkw.Write), near


def gemm_nodes():
    """Global reads, LDS writes, LDS reads and matrix ops of the product."""
    (fetch_a, store_a, load_a), (fetch_b, store_b, load_b) = map(
        split, ("read_a", "read_b")
    )
    mma = tkw.get_node_by_tag_and_type("mma", tkw.MMA)
    return (fetch_a, fetch_b), (store_a, store_b), (load_a, load_b), mma


@tkw.wave_schedule.wave_schedule()
def two_stages():
    """The documentation's example."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])


@tkw.wave_schedule
def three_stages():
    """A stage without ops between the others: more copies of the buffers."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop) as p:
        p.set_stage([fetches, stores])
        p.set_stage([(), ()])
        p.set_stage([loads, (mma,)])


@tkw.wave_schedule
def four_stages():
    """One place a stage."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop) as p:
        p.set_stage([fetches])
        p.set_stage([stores])
        p.set_stage([loads])
        p.set_stage([(mma,)])


@tkw.wave_schedule
def no_epilogue():
    """Two stages, the loop running to its end."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop, eliminate_epilogue=True, multi_buffer_count=2) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])


@tkw.wave_schedule
def unrolled_first():
    """Two iterations an iteration, then two stages."""
    tkw.unroll(tkw.get_node_by_tag("k_loop"), 2)
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])


@tkw.wave_schedule
def unrolled_last():
    """Two stages, then two turns in one."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])
        p.unroll_factor = 2


@tkw.wave_schedule
def clustered():
    """Two halves of the matrix ops at raised priority, between the data's moves."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])
    inside = [tkw.filter_nodes(each, subgraph=p.KERNEL) for each in (*fetches, *loads)]
    fetch_a, fetch_b, load_a, load_b = inside
    puts = [tkw.filter_nodes(each, subgraph=p.KERNEL) for each in stores]
    first, second = tkw.partition_by_dim(
        tkw.filter_nodes(mma, subgraph=p.KERNEL), K, num_partitions=2
    )
    wall = tkw.SchedulingBarrier
    clusters = [
        tkw.cluster([load_a, fetch_a, load_b, fetch_b, wall()]),
        tkw.cluster([tkw.SetWavePrio(1), first, tkw.SetWavePrio(0), wall()]),
        tkw.cluster([puts, wall()]),
        tkw.cluster([tkw.SetWavePrio(1), second, tkw.SetWavePrio(0)]),
    ]
    tkw.reorder_graph(p.KERNEL, clusters)
    tkw.insert_at_end(p.KERNEL, tkw.SharedMemoryBarrier())
    tkw.insert_at_start(p.PROLOGUE, tkw.SetWavePrio(2))
    tkw.insert_at_end(p.EPILOGUE, tkw.SetWavePrio(0))


@tkw.wave_schedule
def interleaved():
    """Global reads between the matrix ops, and a wait before the first of these."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])
    inside = [tkw.filter_nodes(each, subgraph=p.KERNEL) for each in (*fetches, mma)]
    mixed = tkw.interleave_operations(
        inside[2], inside[:2], intervals=2, start_offsets=[1, 2]
    )
    tkw.reorder_graph(p.KERNEL, [tkw.cluster([mixed])])
    tkw.insert_before(inside[2], tkw.MemoryCounterWait(ds=0))


@tkw.wave_schedule
def staggered():
    """Data in one cluster, matrix ops in another; halves of the waves alternate."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop, multi_buffer_count=2) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])
    rows = [*loads, *fetches, *stores]
    moves = [tkw.filter_nodes(each, subgraph=p.KERNEL) for each in rows]
    inner = tkw.filter_nodes(mma, subgraph=p.KERNEL)
    fence = [tkw.SharedMemoryBarrier(), tkw.SchedulingBarrier()]
    prio, normal = tkw.SetWavePrio(1), tkw.SetWavePrio(0)
    clusters = [
        tkw.cluster([moves, fence]),
        tkw.cluster([prio, inner, normal, tkw.SharedMemoryBarrier()]),
    ]
    tkw.reorder_graph(p.KERNEL, clusters)
    tkw.stagger(p.KERNEL)


@tkw.wave_schedule
def direct():
    """Copies that go to LDS directly, two iterations ahead."""
    fetches = [
        tkw.get_node_by_tag_and_type(tag, tkw.GatherToLDS)
        for tag in ("read_a", "read_b")
    ]
    loads = [
        tkw.get_node_by_tag_and_type(tag, tkw.Read) for tag in ("read_a", "read_b")
    ]
    with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
        p.set_stage([fetches, ()])
        p.set_stage([(), ()])
        p.set_stage([loads, (tkw.get_node_by_tag("mma"),)])


def stage_product(loop, tags, product):
    """Two stages of a loop with a product; its pipeline."""
    (fetch, store, load), (fetch_too, store_too, load_too) = map(split, tags)
    mma = tkw.get_node_by_tag_and_type(product, tkw.MMA)
    with tkw.pipeline(tkw.get_node_by_tag(loop)) as p:
        p.set_stage([(fetch, fetch_too), (store, store_too)])
        p.set_stage([(load, load_too), (mma,)])
    return p


@tkw.wave_schedule
def both_loops():
    """Each of two loops in two stages."""
    stage_product("k_loop", ("a", "b"), "first")
    p = stage_product("l_loop", ("d", "e"), "second")
    tkw.insert_at_start(p.KERNEL, tkw.SetWavePrio(1))


@tkw.wave_schedule
def inner_and_outer():
    """A loop in two stages, and the one around it, of which it is a stage."""
    loop = tkw.get_node_by_tag("k_loop")
    stage_product("k_loop", ("a", "b"), "first")
    with tkw.pipeline(tkw.get_node_by_tag("l_loop")) as p:
        p.set_stage([(loop,)])
        p.set_stage([(tkw.get_node_by_tag("add"),)])


GEMM_SCHEDULES = {
    each.name: each
    for each in (
        two_stages,
        three_stages,
        four_stages,
        no_epilogue,
        unrolled_first,
        unrolled_last,
        clustered,
        interleaved,
        staggered,
    )
}


@tkw.wave_schedule
def attention_stages():
    """Keys; their product and the softmax; values and theirs: an iteration apart."""
    loop = tkw.get_node_by_tag("loop")
    (fetch_k, store_k, load_k), (fetch_v, store_v, load_v) = map(split, ("k", "v"))
    first, second = tkw.get_node_by_tag("qk"), tkw.get_node_by_tag("pv")
    with tkw.pipeline(loop) as p:
        p.set_stage([(fetch_k,), (store_k,)])
        p.set_stage([(load_k, fetch_v), (first, store_v)])
        p.set_stage([(load_v,), (second,)])


@tkw.wave_schedule
def attention_clusters():
    """Two stages, with the second product at raised priority."""
    loop = tkw.get_node_by_tag("loop")
    (fetch_k, store_k, load_k), (fetch_v, store_v, load_v) = map(split, ("k", "v"))
    first, second = tkw.get_node_by_tag("qk"), tkw.get_node_by_tag("pv")
    softmax = tkw.get_node_by_tag("softmax")
    with tkw.pipeline(loop) as p:
        p.set_stage([(fetch_k, fetch_v), (), (store_k, store_v)])
        p.set_stage([(load_k, load_v), (first,), (softmax, second)])
    inner = tkw.filter_nodes(second, subgraph=p.KERNEL, node_type=tkw.MMA)
    tkw.insert_before(inner, tkw.SetWavePrio(1))
    tkw.insert_after(inner, tkw.SetWavePrio(0))


ATTENTION_SCHEDULES = {
    each.name: each for each in (attention_stages, attention_clusters)
}


def compiled(kernel, by_hand, sizes, *, dynamic=False, device="sim", **options):
    """A kernel compiled with a schedule, its sizes by symbol."""
    subs = {name: size for name, size in sizes.items() if not (dynamic and name == K)}
    kind = SchedulingType.NONE if by_hand is None else SchedulingType.MANUAL
    given = tkw.WaveCompileOptions(
        subs=subs,
        dynamic_symbols=(K,) if dynamic else (),
        device=device,
        **{"schedule": kind, "target": "gfx942"} | options,
    )
    session = Session(announce=lambda _: None)
    return tkw.wave_compile(given, kernel, by_hand, session=session)


def gemm_error(kernel, sizes):
    """The largest error of a product against f64, on random inputs."""
    m, n, k = (sizes[name] for name in (M, N, K))
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal((i, k)).astype(np.float16) for i in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, b, c)
    return np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max()


def attention_error(kernel, sizes):
    """The largest error of attention against f64, on random inputs."""
    b, m, n, k, k1 = (sizes[name] for name in (B, M, N, K, K1))
    rng = np.random.default_rng(k)
    shapes = (b, m, k1), (b, k, k1), (b, k, n)
    q, keys, values = (rng.standard_normal(s).astype(np.float16) for s in shapes)
    out = np.full((b, m, n), np.nan, np.float32)
    kernel(q, keys, values, out)
    q, keys, values = (x.astype(np.float64) for x in (q, keys, values))
    scores = q @ keys.swapaxes(1, 2)
    weights = np.exp2(scores - scores.max(axis=2, keepdims=True))
    wanted = weights @ values / weights.sum(axis=2, keepdims=True)
    return np.abs(out - wanted).max()


def statistics(kernel):
    """The counts of all passes."""
    rows = kernel.compiled.report.passes
    return {name: n for run in rows for name, n in run.statistics.items()}
