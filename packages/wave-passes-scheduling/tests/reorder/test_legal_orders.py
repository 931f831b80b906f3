"""Orders of a loop's body: proved, or refused with the edge that fails."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from alternating_kernels import Product, error_of, loop_of
from hypothesis import given, settings, strategies as st

from wave_core.diagnostics import UserError
from wave_core.ops.sync import SchedulingBarrier, WorkgroupBarrier
from wave_core.passes import PassContext
from wave_passes_scheduling.reorder import apply_order, region_order
from wave_passes_scheduling.reorder.passes import ReorderLoops

SIZES = (64, 64, 96)
BEFORE = "schedule-loops"


@pytest.fixture(scope="module")
def compiled():
    return Product(buffered=True).compile(SIZES)


def order_of(graph, region, target):
    return region_order(graph, region, PassContext(target).dependences(graph))


@pytest.fixture(scope="module")
def order(compiled):
    graph = compiled.compiled.after(BEFORE)
    return order_of(graph, loop_of(graph).body, compiled.compiled.target)


def ops(order, prefix):
    return [op for op, name in order.names.items() if name.startswith(prefix)]


def refused(order, *clusters):
    with pytest.raises(UserError) as caught:
        order.follow(clusters)
    (row,) = caught.value.diagnostics
    return row


def test_program_order_is_legal(order):
    assert order.follow([order.ops]) == list(order.ops)
    assert list(order.broken(order.ops)) == []


def test_a_value_before_what_makes_it(order):
    product = ops(order, "mma_")[0]
    source = product.operands[0]
    row = refused(order, [product], [source])
    assert row.code == "WV0502"
    name = order.names[source]
    assert f"puts `mma_0` before `{name}`" in row.message
    assert f"{name} -> mma_0 (data)" in row.notes


def test_a_read_of_lds_before_what_is_read(order):
    edge = next(e for e in order.edges if e.reason == "memory")
    row = refused(order, [edge.after], [edge.before])
    assert row.code == "WV0502"
    assert order.describe(edge) in row.notes
    assert edge.before.op_name == "write"
    assert edge.after.op_name == "read"


def test_a_chain_through_ops_that_are_not_named(order):
    write, product = ops(order, "write_")[0], ops(order, "mma_")[-1]
    row = refused(order, [product], [write])
    first, *_, last = row.notes
    assert first.startswith("write_0 -> read_")
    assert last.endswith(f"{order.names[product]} (data)")


def test_check_names_the_edge_of_a_whole_order(order):
    with pytest.raises(UserError, match="on which it depends"):
        order.check(order.ops[::-1])


def test_a_barrier_holds_accesses_but_not_products(compiled):
    graph = compiled.compiled.after(BEFORE).clone()
    body = loop_of(graph).body
    first = next(op for op in body.ops if op.op_name == "mma")
    barrier = body.insert_before(first, WorkgroupBarrier())
    order = order_of(graph, body, compiled.compiled.target)
    read = ops(order, "read_")[-1]
    assert order.follow([[first], [barrier]]).index(first) >= 0
    row = refused(order, [barrier], [read])
    assert f"{order.names[read]} -> workgroup_barrier_0 (order)" in row.notes


def test_an_op_that_is_named_twice_or_elsewhere(order, compiled):
    product = ops(order, "mma_")[0]
    assert refused(order, [product, product]).code == "WV0503"
    outside = next(iter(compiled.compiled.after(BEFORE).body.ops))
    assert refused(order, [outside]).code == "WV0503"


def test_new_ops_stand_where_they_are_named(order):
    product, hint = ops(order, "mma_")[0], SchedulingBarrier()
    found = order.follow([[product, hint], ops(order, "mma_")[1:2]])
    assert found.index(hint) == found.index(product) + 1


def is_contradicted(order, named):
    """Whether some op comes before one that it depends on, near or far."""
    place = {op: i for i, op in enumerate(named)}
    above = {op: set() for op in order.ops}
    for op in order.ops:
        for edge in order.before(op):
            above[op] |= above[edge.before] | {edge.before}
    return any(
        place[first] > place[op] for op in named for first in above[op] & set(named)
    )


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_an_order_is_followed_exactly_or_refused(order, data):
    named = data.draw(st.lists(st.sampled_from(order.ops), unique=True, max_size=9))
    if is_contradicted(order, named):
        assert refused(order, named).code == "WV0502"
        return
    found = order.follow([named])
    assert [op for op in found if op in named] == named
    assert sorted(map(id, found)) == sorted(map(id, order.ops))
    assert list(order.broken(found)) == []


def shuffled(seed):
    """A pass that brings the loop into a random legal order."""

    def apply(_step, graph, context):
        body = loop_of(graph).body
        order = region_order(graph, body, context.dependences(graph))
        rank = np.random.default_rng(seed).permutation(len(order.ops)).tolist()
        key = {op: (n,) for op, n in zip(order.ops, rank, strict=True)}
        apply_order(body, order.sorted_by(key))
        return True

    return apply


@pytest.mark.parametrize("seed", range(6))
def test_legal_orders_compute_the_same(seed):
    with patch.object(ReorderLoops, "apply", shuffled(seed)):
        kernel = Product(buffered=True).compile(SIZES, preset="prefetch")
    assert error_of(kernel, SIZES) < 1e-4
