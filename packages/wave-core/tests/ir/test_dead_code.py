"""Elimination of dead code and merging of equal values keep what can be seen."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from wave_core.builtin.canonicalize.cse import merge_common_subexpressions
from wave_core.ir import Graph, eliminate_dead_code, parse_graph, print_graph, problems

RANDOM = st.randoms(use_true_random=False)

HEAD = """\
kernel "k" target "generic" {
  %0 = argument parameter "a" : mem<M, N, global, f32>
"""


def _graph(body: str) -> Graph:
    return parse_graph(f"{HEAD}{body}\n  yield []\n}}\n")


def _body(graph: Graph) -> list[str]:
    return [line.strip() for line in print_graph(graph).splitlines()[2:-1]]


@given(rng=RANDOM, trips=st.integers(0, 2))
def test_results_stay_the_same(
    random_graph: Any, observe: Any, rng: Any, trips: int
) -> None:
    graph = random_graph(rng)
    before = observe(graph, trips)
    merge_common_subexpressions(graph)
    assert not problems(graph)
    assert observe(graph, trips) == before
    eliminate_dead_code(graph)
    assert not problems(graph)
    assert observe(graph, trips) == before


@given(rng=RANDOM)
def test_a_second_run_finds_nothing(random_graph: Any, rng: Any) -> None:
    graph = random_graph(rng)
    merge_common_subexpressions(graph)
    assert merge_common_subexpressions(graph) == 0
    eliminate_dead_code(graph)
    assert eliminate_dead_code(graph) == 0


def test_values_without_users_go() -> None:
    graph = _graph("%1 = read %0, []\n %2 = neg %1\n %3 = neg %2")
    assert eliminate_dead_code(graph) == 3
    assert _body(graph) == ["yield []"]


def test_effects_stay() -> None:
    lines = [
        '%1 = read %0, [] {flags = "volatile"} : reg<M, N, f32>',
        "write %1, %0, []",
        "shared_memory_barrier",
        "memory_counter_wait {load = 0}",
        "set_wave_prio {priority = 1}",
        "%2 = register {shape = [], dtype = !i32, value = 1} : reg<i32>",
        "set_symbol %2 {symbol = S}",
        "breakpoint [%1]",
    ]
    graph = _graph("\n".join(lines))
    assert eliminate_dead_code(graph) == 0
    assert _body(graph) == [*lines, "yield []"]


LOOP = """\
%1 = read %0, []
%2 = neg %1
%3 = iterate [%1, %2, %1], [%0, %2] {axis = K} body {
  %4 = argument carried "kept" : reg<M, N, f32>
  %5 = argument carried "dead" : reg<M, N, f32>
  %6 = argument carried "feeds kept" : reg<M, N, f32>
  %7 = argument capture "a" : mem<M, N, global, f32>
  %8 = argument capture "x" : reg<M, N, f32>
  %9 = add %4, %6
  %10 = add %5, %8
  yield [%9, %10, %6]
}
%11 = get_result %3 {position = 1}
%12 = get_result %3
write %12, %0, []
"""


def test_a_loop_carries_only_what_is_needed() -> None:
    graph = _graph(LOOP)
    # A neg, a get_result, an add; a carried value; both captures.
    assert eliminate_dead_code(graph) == 7
    assert not problems(graph)
    assert _body(graph) == [
        "%1 = read %0, [] : reg<M, N, f32>",
        "%2 = iterate [%1, %1], [] {axis = K} body {",
        '%3 = argument carried "kept" : reg<M, N, f32>',
        '%4 = argument carried "feeds kept" : reg<M, N, f32>',
        "%5 = add %3, %4 : reg<M, N, f32>",
        "yield [%5, %4]",
        "}",
        "%6 = get_result %2 : reg<M, N, f32>",
        "write %6, %0, []",
        "yield []",
    ]


def test_results_are_numbered_again() -> None:
    graph = _graph(LOOP.replace("get_result %3\n", "get_result %3 {position = 2}\n"))
    eliminate_dead_code(graph)
    assert "%5 = get_result %2 : reg<M, N, f32>" not in _body(graph)
    assert _body(graph)[1] == "%2 = iterate [%1], [] {axis = K} body {"
    assert not problems(graph)


def test_a_loop_without_effects_or_users_goes() -> None:
    graph = _graph(LOOP.replace("write %12, %0, []", ""))
    eliminate_dead_code(graph)
    assert _body(graph) == ["yield []"]


def test_a_loop_that_only_writes_stays() -> None:
    graph = _graph(
        """%1 = iterate [], [%0] {axis = K} body {
  %2 = argument capture "a" : mem<M, N, global, f32>
  %3 = read %2, []
  write %3, %2, []
  yield []
}"""
    )
    assert eliminate_dead_code(graph) == 0


def test_a_condition_keeps_only_used_results() -> None:
    graph = _graph(
        """%1 = read %0, []
%2 = gt %1, %1
%3 = conditional %2, [%1], [%1, %1] body {
  %4 = argument capture "x" : reg<M, N, f32>
  %5 = neg %4
  yield [%5, %4]
}
%6 = get_result %3 {position = 1}
write %6, %0, []"""
    )
    assert eliminate_dead_code(graph) == 2
    assert "yield [%4]" in _body(graph)
    assert not problems(graph)


def test_equal_values_are_merged_and_keep_both_lines() -> None:
    graph = _graph("%1 = read %0, []\n%2 = neg %1\n%3 = neg %1\n%4 = add %2, %3\n")
    assert merge_common_subexpressions(graph) == 1
    _, neg, add, _ = graph.body.ops
    assert add.operands == (neg, neg)
    assert [part.line for part in neg.location.parts] == [4, 5]


def test_numbers_that_only_compare_equal_are_not_merged() -> None:
    splat = "{{shape = [M], dtype = !f32, value = {}}}"
    values = ["0.0", "-0.0", "0", "nan", "nan", "false"]
    lines = [f"%{i + 1} = register {splat.format(v)}" for i, v in enumerate(values)]
    assert merge_common_subexpressions(_graph("\n".join(lines))) == 1


def test_reads_and_tagged_values_are_not_merged() -> None:
    graph = _graph(
        """%1 = read %0, []
%2 = read %0, []
%3 = neg %1
%4 = neg %1 tags ["second"]
%5 = neg %1 @placement(layout = #layout(64x1 {M: (lane/1%64)}))"""
    )
    assert merge_common_subexpressions(graph) == 0


def test_values_are_not_merged_across_a_set_symbol() -> None:
    graph = _graph(
        """%1 = scalar {value = S, dtype = !i32}
%2 = scalar {value = S + 1, dtype = !i32}
set_symbol %2 {symbol = S}
%3 = scalar {value = S, dtype = !i32}
%4 = scalar {value = S, dtype = !i32}"""
    )
    assert merge_common_subexpressions(graph) == 1


def test_captures_of_one_value_become_one() -> None:
    graph = _graph(
        """%1 = read %0, []
%2 = neg %1
%3 = neg %1
%4 = iterate [%1], [%2, %3] {axis = K} body {
  %5 = argument carried "c" : reg<M, N, f32>
  %6 = argument capture "x" : reg<M, N, f32>
  %7 = argument capture "y" : reg<M, N, f32>
  %8 = add %6, %5
  %9 = add %7, %5
  %10 = mul %8, %9
  yield [%10]
}
%11 = get_result %4
write %11, %0, []"""
    )
    assert merge_common_subexpressions(graph) == 2
    eliminate_dead_code(graph)
    assert "%3 = iterate [%1], [%2] {axis = K} body {" in _body(graph)
    assert not problems(graph)
