"""Copies are equal and independent."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from wave_core.ir import (
    PLACEMENT,
    Graph,
    clone_into,
    clone_op,
    erase,
    first_difference,
    parse_graph,
    print_graph,
    problems,
)
from wave_core.ops.arithmetic import Neg
from wave_core.ops.control import Iterate

RANDOM = st.randoms(use_true_random=False)

LOOP = """\
kernel "k" target "generic" {
  %0 = argument parameter "a" : mem<M, N, global, f32>
  %1 = read %0, [] : reg<M, N, f32>
  %2 = iterate [%1], [%0] {axis = K} body {
    %3 = argument carried "c" : reg<M, N, f32>
    %4 = argument capture "a" : mem<M, N, global, f32>
    %5 = neg %3 : reg<M, N, f32> @placement(layout = #layout(64x1 {M: (lane/1%64)}))
    write %5, %4, []
    yield [%5]
  }
  %6 = get_result %2 : reg<M, N, f32>
  yield []
}
"""


@given(rng=RANDOM)
def test_a_copy_of_a_graph_is_equal(random_graph: Any, rng: Any) -> None:
    graph = random_graph(rng)
    copy = graph.clone()
    assert first_difference(graph, copy, locations=True) is None
    assert not problems(copy)


def test_a_copy_is_independent() -> None:
    graph = parse_graph(LOOP)
    copy = graph.clone()
    for op in reversed(list(copy.body.ops)):
        erase(op)
    copy.facts_present.add("typed")
    assert print_graph(graph) == LOOP


def _loop(graph: Graph) -> Iterate:
    return next(op for op in graph.walk() if isinstance(op, Iterate))


def test_an_op_is_copied_with_its_regions_and_their_facts() -> None:
    graph = parse_graph(LOOP)
    loop = _loop(graph)
    copy = clone_op(loop, {}, graph.body)
    assert copy.owner is None
    graph.body.insert_after(loop, copy)
    assert not problems(graph)
    assert copy.body is not loop.body
    neg = next(copy.body.ops)
    assert graph.facts.get(PLACEMENT, neg) is not None


def test_operands_are_looked_up() -> None:
    graph = parse_graph(LOOP)
    read = next(graph.body.ops)
    neg = graph.body.insert_after(read, Neg(read))
    neg.location = read.location
    values = {read: neg}
    copy = clone_into(neg, values, graph.body, _loop(graph))
    assert copy.operands == (neg,)
    assert values[neg] is copy


def test_differences_are_named() -> None:
    graph = parse_graph(LOOP)
    other = parse_graph(LOOP.replace("neg", "abs"))
    assert first_difference(graph, other) == "%5 = neg: `neg` and `abs`"
    other = parse_graph(LOOP.replace("yield [%5]", "yield [%3]"))
    assert first_difference(graph, other) == "yield, operand values: [%5] and [%3]"
    other = parse_graph(LOOP.replace("64x1 {M: (lane/1%64)}", "64x1 {M: 0}"))
    assert "%5 = neg, facts: " in (first_difference(graph, other) or "")


def test_a_graph_that_is_longer_differs() -> None:
    graph = parse_graph(LOOP)
    other = parse_graph(LOOP.replace("  yield []\n", ""))
    assert first_difference(graph, other) == (
        "the kernel's body: only the left graph has `yield` next"
    )
    assert first_difference(other, graph) is not None
