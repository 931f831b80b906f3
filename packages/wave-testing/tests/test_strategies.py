"""What the strategies draw is what they say."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from wave_core.compile import Session
from wave_core.constraints.geometry import Geometry
from wave_core.symbols import parse_expr, symbol
from wave_testing.programs import Program
from wave_testing.strategies import constraint_sets, expressions, layouts, programs

VALUES = st.tuples(*[st.integers(0, 1000)] * 3)


@given(expr=expressions(), values=VALUES)
def test_expressions_have_a_value_and_a_text(expr, values):
    bound = dict(zip(map(symbol, "xyz"), values, strict=True))
    assert isinstance(expr.subs(bound).constant_value, int)
    assert parse_expr(str(expr)) == expr


@given(layout=layouts())
def test_layouts_hold_every_element_of_their_box_equally_often(layout):
    box = {dim: layout.extent(dim) for dim in layout.dims}
    found = layout.coverage(box)
    slots = layout.lanes * layout.registers
    assert (found.missing, found.outside) == (0, 0)
    assert found.min_multiplicity == found.max_multiplicity
    assert found.max_multiplicity == slots // int(np.prod(list(box.values())))


@given(found=constraint_sets())
def test_constraint_sets_are_valid(found):
    graph = found.kernel.trace(found.bindings)
    target = Session(announce=lambda _: None).target("generic")
    geometry = Geometry(graph.constraints, graph.bindings, target)
    assert geometry.waves_per_workgroup <= 8


@settings(max_examples=20)
@given(program=programs())
def test_programs_write_something(program):
    assert isinstance(program, Program)
    assert any(memory.is_output for memory in program.memories)
