"""What is printed between two phases parses to the same graph, and verifies."""

from __future__ import annotations

import pytest
from programs import PROGRAMS, arrays, run_lanes

from wave_core.ir import first_difference, parse_graph, print_graph
from wave_core.passes.phase import PHASES


def stages(kernel):
    yield "trace", kernel.trace_graph
    for phase in PHASES:
        yield str(phase), kernel.snapshots(phase)
    yield "lowered", kernel.graph


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_after_every_phase_is_the_graph(name):
    kernel, _, _ = PROGRAMS[name].build()
    for phase, graph in stages(kernel):
        text = print_graph(graph)
        again = parse_graph(text)
        assert first_difference(graph, again) is None, phase
        assert first_difference(graph, again) is None, phase
        assert print_graph(again) == text, phase
        again.verify()


@pytest.mark.parametrize("name", ["attention-mixed", "conv", "gemm-staged"])
def test_parsed_text_computes_the_same(name):
    kernel, tensors, _ = PROGRAMS[name].build()
    arguments = arrays(kernel, tensors)
    output, _ = run_lanes(kernel.graph, arguments)
    again, result = run_lanes(parse_graph(print_graph(kernel.graph)), arguments)
    assert (again == output).all()
    assert result.reports == ()


def test_last_snapshot_is_the_lowered_graph():
    kernel, _, _ = PROGRAMS["gemm"].build()
    assert first_difference(kernel.snapshots("synchronize"), kernel.graph) is None
