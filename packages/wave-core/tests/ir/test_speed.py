"""Budgets, in processor time: the verifier runs between passes, text in caches."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from wave_core.diagnostics import Location
from wave_core.ir import Graph, parse_graph, print_graph, problems
from wave_core.ops.arithmetic import Add, Mul
from wave_core.ops.memory import Read
from wave_core.ops.structure import Yield

OPS = 2000


def _chain(graph: Graph) -> Graph:
    value = graph.body.append(Read(graph.parameters[0]))
    for number in range(OPS):
        value = graph.body.append((Add if number % 2 else Mul)(value, value))
    graph.body.append(Yield())
    for op in graph.walk():
        op.location = Location.unknown()
    return graph


def _best_ms(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1e3


@pytest.mark.bench
def test_two_thousand_ops_stay_within_budget(graph: Graph) -> None:
    text = print_graph(_chain(graph))
    assert _best_ms(lambda: problems(graph)) < OPS / 100
    assert _best_ms(lambda: print_graph(graph)) < 100
    assert _best_ms(lambda: parse_graph(text)) < 400
    assert _best_ms(graph.clone) < 100
