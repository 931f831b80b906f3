"""Random schedules: each is refused with the edge that fails, or right."""

from __future__ import annotations

import numpy as np
import pytest
from tagged_kernels import (
    K1,
    B,
    K,
    M,
    N,
    attention_error,
    compiled,
    gemm_error,
    split,
    tagged_attention,
    tagged_gemm,
)

import wave_core.lang as tkw
from wave_core.diagnostics import UserError

REFUSALS = {"WV0406", "WV0502", "WV0513"}
"""Buffers that do not fit, dependences, and reads that one conditional holds."""

FEW, MANY = range(6), range(6, 200)
SEEDS = [*FEW, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in MANY)]


def slots(rng, groups):
    """Stages with the groups at random places, mostly in order."""
    depth, length = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    times = np.sort(rng.integers(0, depth * length, len(groups)))
    if rng.random() < 0.15:
        rng.shuffle(times)
    stages = [[[] for _ in range(length)] for _ in range(depth)]
    for group, time in zip(groups, times.tolist(), strict=True):
        stages[time // length][time % length].append(group)
    return stages


def change(rng, p, groups):
    """Random orders, new ops and unrolling of the kernel loop."""
    nodes = [x for group in groups for x in (group if type(group) is list else [group])]
    inside = [tkw.filter_nodes(each, subgraph=p.KERNEL) for each in nodes]
    chosen = [inside[i] for i in rng.permutation(len(inside))[: rng.integers(0, 4)]]
    if rng.random() < 0.6:
        chosen = [x for x in inside if any(x is y for y in chosen)]
    if chosen:
        prio = tkw.SetWavePrio(int(rng.integers(0, 4)))
        tkw.reorder_graph(p.KERNEL, [tkw.cluster([x, prio]) for x in chosen])
    if rng.random() < 0.3:
        tkw.insert_before(inside[0], tkw.WorkgroupBarrier())
    if rng.random() < 0.3:
        tkw.unroll(p.KERNEL, int(rng.integers(2, 4)))
    elif rng.random() < 0.3:
        tkw.stagger(p.KERNEL)


def random_schedule(rng, loop, tags, products):
    """A schedule of the loop whose staged reads and products have tags."""
    ahead = bool(rng.random() < 0.2)
    copies = [None, None, 1, 2, 3][rng.integers(5)]

    @tkw.wave_schedule
    def schedule():
        parts = [part for tag in tags for part in split(tag)]
        mma = [tkw.get_node_by_tag_and_type(name, tkw.MMA) for name in products]
        groups = [*parts, *mma]
        order = np.argsort([*([0, 1, 2] * len(tags)), *([3] * len(mma))], kind="stable")
        groups = [groups[i] for i in order]
        if rng.random() < 0.6:
            groups = [groups[:2], groups[2:4], groups[4:6], *groups[6:]]
        if rng.random() < 0.2:
            tkw.unroll(tkw.get_node_by_tag(loop), 2)
        with tkw.pipeline(tkw.get_node_by_tag(loop), ahead, copies) as p:
            for stage in slots(rng, groups):
                p.set_stage(stage)
        change(rng, p, groups)

    return schedule


def outcome(kernel, schedule, sizes, dynamic):
    """The compiled kernel, or the error that refuses the schedule."""
    try:
        return compiled(kernel, schedule, sizes, dynamic=dynamic)
    except UserError as error:
        return error


def is_right(kernel, schedule, sizes, error, dynamic, limit):
    """Whether the schedule was carried out; it has to be right if so."""
    made = None
    for trips in (0, 1, 2, 3, 4, 5, 7, 10):
        given = sizes | {K: max(16 * trips - 3, 0)}
        if made is None or not dynamic:
            made = outcome(kernel, schedule, given, dynamic)
            if isinstance(made, UserError):
                assert made.code in REFUSALS, str(made)
                assert made.diagnostics[0].location.file == __file__
                return False
        if trips or K1 not in sizes:
            assert error(made, given) < limit, trips
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_products(seed):
    rng = np.random.default_rng(seed)
    schedule = random_schedule(rng, "k_loop", ("read_a", "read_b"), ("mma",))
    kernel, sizes = tagged_gemm((32, 32, 16)), {M: 40, N: 33}
    is_right(kernel, schedule, sizes, gemm_error, bool(seed % 2), 1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_attention(seed):
    rng = np.random.default_rng(seed)
    schedule = random_schedule(rng, "loop", ("k", "v"), ("qk", "pv"))
    sizes = {B: 1, M: 20, N: 16, K1: 16}
    is_right(tagged_attention(), schedule, sizes, attention_error, bool(seed % 2), 4e-3)


def test_some_random_schedules_are_carried_out():
    kernel, sizes = tagged_gemm((32, 32, 16)), {M: 40, N: 33}
    found = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        schedule = random_schedule(rng, "k_loop", ("read_a", "read_b"), ("mma",))
        found += is_right(kernel, schedule, sizes, gemm_error, dynamic=True, limit=1e-4)
    assert found >= 2
