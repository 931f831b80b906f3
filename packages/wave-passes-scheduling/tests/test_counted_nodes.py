"""Schedules that count nodes and walk through them, run for each kernel."""

from __future__ import annotations

import pytest
from tagged_kernels import (
    K,
    M,
    N,
    compiled,
    gemm_error,
    gemm_nodes,
    tagged_gemm,
    two_stages,
)

import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.ir import first_difference
from wave_core.ops.control import Iterate
from wave_core.ops.sync import SetWavePrio, WorkgroupBarrier

SIZES = {M: 40, N: 33, K: 160}


def pipelined():
    """The product in two stages, and the nodes of the loop that is left."""
    k_loop = tkw.get_node_by_tag("k_loop")
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(k_loop) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])
    return p, [tkw.filter_nodes(nodes, subgraph=p.KERNEL) for nodes in (*loads, mma)]


@tkw.wave_schedule
def counting():
    """Reads of LDS, half of the matrix ops, a priority, the other half."""
    p, (load_a, load_b, mma) = pipelined()
    half = len(mma) // 2
    order = [*load_a, load_b, *mma[:half], tkw.SetWavePrio(1), *mma[half:]]
    tkw.reorder_graph(p.KERNEL, [tkw.cluster(order)])


def counted_by_hand(half):
    """The same for a known number of nodes."""

    @tkw.wave_schedule
    def known():
        p, (load_a, load_b, mma) = pipelined()
        order = [load_a, load_b, mma[:half], tkw.SetWavePrio(1), mma[half:]]
        tkw.reorder_graph(p.KERNEL, [tkw.cluster(order)])

    return known


def test_counting_is_the_same_as_knowing():
    found = compiled(tagged_gemm(), counting, SIZES)
    known = compiled(tagged_gemm(), counted_by_hand(4), SIZES)
    assert first_difference(found.graph, known.graph) is None
    assert gemm_error(found, SIZES) < 1e-4


@pytest.mark.covering(1)
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("dynamic", [False, True])
def test_each_kernel_has_its_own_numbers(trips, dynamic):
    for tile in ((64, 64, 32), (32, 64, 64)):
        sizes = SIZES | {K: tile[2] * trips}
        kernel = compiled(tagged_gemm(tile), counting, sizes, dynamic=dynamic)
        assert gemm_error(kernel, sizes) < 1e-4


@tkw.wave_schedule
def around_the_loop():
    p, _ = pipelined()
    tkw.insert_before(p.KERNEL, tkw.SetWavePrio(2))
    tkw.insert_after(p.KERNEL, tkw.SetWavePrio(1))
    tkw.insert_before(p.PROLOGUE, tkw.WorkgroupBarrier())
    tkw.insert_after(p.EPILOGUE, tkw.SetWavePrio(0))


def test_ops_around_the_parts_of_a_pipeline():
    kernel = compiled(tagged_gemm(), around_the_loop, SIZES)
    names = (Iterate, SetWavePrio, WorkgroupBarrier)
    body = [op for op in kernel.graph.body.ops if isinstance(op, names)]
    loop = next(i for i, op in enumerate(body) if isinstance(op, Iterate))
    assert body[loop - 1].attributes == {"priority": 2}
    assert body[loop + 1].attributes == {"priority": 1}
    assert isinstance(body[0], WorkgroupBarrier)
    assert body[-1].attributes == {"priority": 0}
    assert gemm_error(kernel, SIZES) < 1e-4


@tkw.wave_schedule
def with_waits():
    p, _ = pipelined()
    both = tkw.MemoryCounterWaitBarrier(load=0)
    tkw.insert_before(p.KERNEL, [tkw.SetWavePrio(3), *both])
    tkw.insert_after(p.KERNEL, both)
    tkw.insert_at_start(p.KERNEL, tkw.MemoryCounterWaitBarrier(ds=0))
    tkw.insert_at_end(p.KERNEL, tkw.MemoryCounterWaitBarrier(store=0))


def test_several_ops_are_inserted_in_their_order():
    kernel = compiled(tagged_gemm(), with_waits, SIZES)
    around = [op.op_name for op in kernel.graph.body.ops]
    loop = around.index("iterate")
    pair = ["memory_counter_wait", "workgroup_barrier"]
    assert around[loop - 3 : loop] == ["set_wave_prio", *pair]
    assert around[loop + 1 : loop + 3] == pair
    body = [op.op_name for op in list(kernel.graph.body.ops)[loop].body.ops]
    assert body[:2] == pair
    assert body[-3:-1] == pair
    assert gemm_error(kernel, SIZES) < 1e-4


def test_an_error_of_a_step_names_its_line():
    @tkw.wave_schedule
    def wrong():
        for node in tkw.get_node_by_tag("mma"):
            tkw.cluster([node, tkw.get_node_by_tag("nothing")])

    with pytest.raises(UserError, match="has tag `nothing`") as caught:
        compiled(tagged_gemm(), wrong, SIZES)
    assert caught.value.code == "WV0503"
    where = caught.value.diagnostics[0].location
    assert "tkw.cluster([node" in where.source_line(where.line)


def test_nothing_is_remembered_of_a_schedule_that_counts():
    limit = []

    @tkw.wave_schedule
    def changing():
        p, (_, _, mma) = pipelined()
        if len(mma) > len(limit):
            tkw.insert_before(p.KERNEL, tkw.SetWavePrio(2))

    def priorities():
        graph = compiled(tagged_gemm(), changing, SIZES).graph
        return sum(isinstance(op, SetWavePrio) for op in graph.walk())

    assert priorities() == 1
    limit += range(100)
    assert priorities() == 0


def test_schedules_that_do_not_count_are_data():
    assert two_stages.replay is None
    assert two_stages.steps
