"""Edits keep order, locations, tags and facts right."""

from __future__ import annotations

from wave_core.ir import (
    ACCESS,
    PLACEMENT,
    Graph,
    capture,
    erase,
    insert_after,
    move_before,
    parse_graph,
    problems,
    replace,
    resolve,
    set_attributes,
)
from wave_core.ops.arithmetic import Abs, Neg
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Read

TEXT = """\
kernel "k" target "generic" {
  %0 = argument parameter "a" : mem<M, N, global, f32>
  %1 = read %0, [] : reg<M, N, f32>
  %2 = neg %1 : reg<M, N, f32> tags ["t"]
    @placement(layout = #layout(64x1 {M: (lane/1%64)}))
  %3 = iterate [%2], [%0] {axis = K} body {
    %4 = argument carried "c" : reg<M, N, f32>
    %5 = argument capture "a" : mem<M, N, global, f32>
    %6 = iterate [%4], [] {axis = N} body {
      %7 = argument carried "c" : reg<M, N, f32>
      yield [%7]
    }
    %8 = get_result %6 : reg<M, N, f32>
    yield [%8]
  }
  yield []
}
"""


def _graph() -> Graph:
    return parse_graph(TEXT)


def _loops(graph: Graph) -> list[Iterate]:
    return [op for op in graph.walk() if isinstance(op, Iterate)]


def test_a_replacement_takes_uses_lines_tags_and_facts() -> None:
    graph = _graph()
    read, neg, loop, _ = graph.body.ops
    row = graph.facts.get(PLACEMENT, neg)
    new = Abs(read)
    replace(neg, new)
    assert loop.inits == (new,)
    assert (new.location, new.tags) == (neg.location, {"t"})
    assert (graph.facts.get(PLACEMENT, new), neg.owner) == (row, None)
    assert graph.facts.get(PLACEMENT, neg) is None
    assert not problems(graph)


def test_an_op_after_an_op_inherits_its_line() -> None:
    graph = _graph()
    read = next(graph.body.ops)
    new = insert_after(read, Neg(read))
    assert list(graph.body.ops)[1] is new
    assert new.location is read.location


def test_an_op_moves_within_its_region() -> None:
    graph = _graph()
    read, neg, loop, last = graph.body.ops
    other = insert_after(neg, Neg(read))
    move_before(neg, other)
    assert list(graph.body.ops) == [read, other, neg, loop, last]
    assert not problems(graph)


def test_values_are_captured_through_all_regions_between() -> None:
    graph = _graph()
    outer, inner = _loops(graph)
    neg = outer.inits[0]
    argument = capture(inner.body, neg)
    assert argument.role == "capture"
    assert inner.captures == (outer.body.arguments[-1],)
    assert resolve(argument) is neg
    assert capture(inner.body, neg) is argument
    row = graph.facts.get(PLACEMENT, neg)
    assert graph.facts.get(PLACEMENT, argument) == row
    assert not problems(graph)


def test_a_carried_value_goes_before_the_captures() -> None:
    graph = _graph()
    outer, _ = _loops(graph)
    new = outer.body.add_argument("carried", "d", outer.inits[0].type, None)
    assert [a.role for a in outer.body.arguments] == ["carried", "carried", "capture"]
    assert outer.body.arguments[1] is new


def test_erasing_a_loop_forgets_the_facts_inside() -> None:
    graph = _graph()
    outer, inner = _loops(graph)
    argument = capture(inner.body, outer.inits[0])
    erase(outer)
    assert argument.ident not in graph.facts.table(PLACEMENT)
    assert [op.op_name for op in graph.body.ops] == ["read", "neg", "yield"]


def test_new_attributes_give_a_new_type() -> None:
    graph = _graph()
    read = next(graph.body.ops)
    assert isinstance(read, Read)
    set_attributes(read, flags="volatile")
    assert (read.flags, str(read.type)) == ("volatile", "reg<M, N, f32>")
    assert graph.facts.table(ACCESS) == {}
