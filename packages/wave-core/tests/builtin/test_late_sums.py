"""Sums of loops: lanes add up their parts behind it, where nothing needs the whole."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.ops.control import Iterate
from wave_core.ops.reduce import Shuffle

M, K = tkl.sym.M, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROWS = [
    tkw.HardwareConstraint(threads_per_wave=64),
    tkw.WorkgroupConstraint(M, 8, 0),
    tkw.TilingConstraint(K, 16),
]
Row = tkl.Register[M, tkl.f32]


def kernel_of(step, first=0.0):
    """A loop that carries a number for each row, and stores the last."""

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32],
        scales: tkl.Memory[M, GLOBAL, tkl.f32],
        b: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, tkl.f32](first)])
        def loop(carried: Row) -> Row:
            return step(tkw.read(a), carried, tkw.read(scales), b)

        tkw.write(loop, b)

    return kernel


def exchanges(graph):
    """Shuffles within the loop, and behind it."""
    found = [op for op in graph.walk() if isinstance(op, Shuffle)]
    (loop,) = (op for op in graph.walk() if isinstance(op, Iterate))
    within = sum(op.owner is loop.body for op in found)
    return within, len(found) - within


def added(tile, carried, _scale, _memory):
    return tkw.sum(tile, carried, dim=K)


def scaled(tile, carried, scale, _memory):
    return tkw.sum(tile, scale * carried * scale, dim=K)


def rescaled_or_kept(tile, carried, scale, _memory):
    @tkw.conditional(scale > tkl.Register[M, tkl.f32](1.0), else_return=[carried])
    def less():
        return carried * scale

    return tkw.sum(tile, less, dim=K)


@pytest.mark.parametrize("step", [added, scaled, rescaled_or_kept])
def test_lanes_add_up_their_parts_once(lowered, step):
    graph = lowered(kernel_of(step), "decompose-reductions", M=8, K=64)
    # 8 rows of 16 elements: 8 lanes have a row.
    assert exchanges(graph) == (0, 3)


def squared(tile, carried, _scale, _memory):
    return tkw.sum(tile, carried * carried, dim=K)


def moved(tile, carried, scale, _memory):
    return tkw.sum(tile, carried + scale, dim=K)


def stored(tile, carried, _scale, memory):
    tkw.write(carried, memory)
    return tkw.sum(tile, carried, dim=K)


def halved_behind(tile, carried, scale, _memory):
    return scale * tkw.sum(tile, carried, dim=K)


def compared(tile, carried, scale, _memory):
    @tkw.conditional(carried > scale, else_return=[carried])
    def less():
        return carried * scale

    return tkw.sum(tile, less, dim=K)


def kept_elsewhere(tile, carried, scale, _memory):
    @tkw.conditional(scale > tkl.Register[M, tkl.f32](1.0), else_return=[scale])
    def less():
        return carried * scale

    return tkw.sum(tile, less, dim=K)


def greatest(tile, carried, _scale, _memory):
    return tkw.max(tile, carried, dim=K)


@pytest.mark.parametrize(
    "step",
    [squared, moved, stored, halved_behind, compared, kept_elsewhere, greatest],
)
def test_what_needs_the_whole_sum_has_it_in_each_iteration(lowered, step):
    graph = lowered(kernel_of(step), "decompose-reductions", M=8, K=64)
    assert exchanges(graph) == (3, 0)


def test_a_sum_that_begins_with_something_counts_it_once(lowered):
    graph = lowered(kernel_of(added, 1.0), "decompose-reductions", M=8, K=64)
    assert exchanges(graph) == (3, 0)


def test_what_comes_behind_the_loop_has_no_tag_of_what_is_in_it(lowered):
    def tagged(tile, carried, _scale, _memory):
        return tkw.sum(tile, carried, dim=K, tag="softmax")

    graph = lowered(kernel_of(tagged), "decompose-reductions", M=8, K=64)
    (loop,) = (op for op in graph.walk() if isinstance(op, Iterate))
    found = [op for op in graph.walk() if "softmax" in op.tags]
    assert found
    assert all(op.owner is loop.body for op in found)
