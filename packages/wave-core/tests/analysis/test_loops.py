"""What is known of the counters of loops, in the loops and outside."""

from __future__ import annotations

import pytest

from wave_core.analysis.dependences.derive import Dependences
from wave_core.analysis.loops import counter_ranges
from wave_core.backends.emission.symbols import facts_of
from wave_core.constraints.geometry import Geometry
from wave_core.ir import parse_graph
from wave_core.ops.control import Iterate
from wave_core.symbols import ge, parse_expr
from wave_core.targets import generic_target

KERNEL = """
kernel "k" target "generic" {
  bind M = 256
  constraint #HardwareConstraint(threads_per_wave = 64)
  constraint #WorkgroupConstraint(dim = M, tile_size = `128`, workgroup_dim = 0)
  %a = argument parameter "a" : mem<M, global, f32>
LOOPS
  yield []
}
"""

LOOP = """
  %NAME = iterate [], [] {axis = N, induction = $IV:N, count = COUNT, start = START}
      body {
    yield []
  }
"""


def kernel(*loops):
    """A kernel of loops over one axis, which share a counter: (start, count)."""
    text = "".join(
        LOOP.replace("NAME", f"l{i}").replace("COUNT", count).replace("START", start)
        for i, (start, count) in enumerate(loops)
    )
    graph = parse_graph(KERNEL.replace("LOOPS", text))
    geometry = Geometry(graph.constraints, graph.bindings, generic_target())
    return graph, geometry


COUNTER = parse_expr("$IV:N")

OFTEN = parse_expr("min(3, 2*$WG0 + 2)")
"""2 in the first workgroup, and 3 in the other one."""


def known(graph, geometry):
    yield facts_of(graph, geometry, ())
    yield Dependences(graph, geometry)._induction_facts()


def test_outside_a_loop_it_may_have_no_iteration():
    graph, geometry = kernel(("`0`", "min(3, 2*$WG0 + 2) - 2"))
    for facts in known(graph, geometry):
        assert not facts.prove(ge(OFTEN, 3))
        assert facts.bounds(OFTEN).lo == 2
        assert (facts.bounds(COUNTER).lo, facts.bounds(COUNTER).hi) == (0, 0)


def test_loops_beside_each_other_share_a_counter():
    graph, geometry = kernel(("`0`", "`4`"), ("`4`", "`9`"))
    for facts in known(graph, geometry):
        assert (facts.bounds(COUNTER).lo, facts.bounds(COUNTER).hi) == (0, 12)


@pytest.mark.parametrize(
    ("loops", "ends"),
    [
        ([("`0`", "`0`")], (0, None)),
        ([("`0`", "`0`"), ("`2`", "`3`")], (0, 4)),
        ([("`3`", "N"), ("`1`", "`1`")], (1, None)),
    ],
)
def test_ends_that_are_not_known(loops, ends):
    graph, geometry = kernel(*loops)
    found = [op for op in graph.walk() if isinstance(op, Iterate)]
    assert counter_ranges(found, geometry.bind, geometry.facts) == {COUNTER: ends}
