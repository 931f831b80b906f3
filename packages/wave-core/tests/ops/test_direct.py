"""Direct copies: what they connect, their text, what the verifier asks of them."""

from __future__ import annotations

import pytest

from wave_core.constraints.machine import LANE, REGISTER as REG
from wave_core.diagnostics import UserError
from wave_core.ir import (
    ACCESS,
    LANDING,
    PLACEMENT,
    Access,
    Graph,
    Placement,
    first_difference,
    parse_graph,
    print_graph,
    problems,
)
from wave_core.ops.constant import Splat
from wave_core.ops.memory import Allocate, GatherToLDS
from wave_core.ops.structure import Yield
from wave_core.ops.traits import EffectKind
from wave_core.symbols import Digit, Layout, as_expr, lt, symbol
from wave_core.types import (
    DTYPES,
    AccessMapping,
    AddressSpace,
    MemoryType,
    dynamic_symbol,
    iterator_symbol,
)

M, N = symbol("M"), symbol("N")
F16, F32 = DTYPES["f16"], DTYPES["f32"]


def kernel(*shape, dtype=F16):
    """A graph, a parameter and a buffer over M and N."""
    graph = Graph("copies", "generic", {M: 64, N: 4})
    declared = MemoryType(shape or (M, N), AddressSpace.GLOBAL, F16)
    source = graph.body.add_argument("parameter", "a", declared, None)
    buffer = Allocate((M, N), (as_expr(64), as_expr(4)), dtype)
    graph.body.append(buffer)
    return graph, source, buffer


def test_it_reads_at_once_and_writes_later():
    graph, source, buffer = kernel()
    op = graph.body.append(GatherToLDS(source, buffer))
    found = [(effect.kind, effect.memory) for effect in op.effects()]
    assert found == [(EffectKind.READ, source), (EffectKind.DMA_WRITE, buffer)]
    assert op.type is None


@pytest.mark.parametrize(
    ("more", "swap", "says"),
    [
        ({"dtype": F32}, False, "f16 to f32"),
        ({}, True, "lies in LDS already"),
        ({"shape": (M,)}, False, "the dims of the memories differ"),
    ],
)
def test_memories_have_to_fit(more, swap, says):
    shape = more.pop("shape", ())
    graph, source, buffer = kernel(*shape, **more)
    pair = (buffer, source) if swap else (source, buffer)
    with pytest.raises(UserError, match=says) as error:
        graph.body.append(GatherToLDS(*pair))
    assert error.value.code == "WV0413"


def test_the_destination_is_in_lds():
    graph, source, _ = kernel()
    with pytest.raises(UserError, match="not in LDS"):
        graph.body.append(GatherToLDS(source, source))


def test_a_mapping_connects_other_dims():
    graph, source, buffer = kernel(symbol("P"), symbol("Q"))
    i, j = iterator_symbol(0), iterator_symbol(1)
    mapping = AccessMapping(("M", "N"), (i + 1, j * 2))
    assert (
        graph.body.append(GatherToLDS(source, buffer, (), mapping)).mapping is mapping
    )


def test_as_many_index_registers_as_the_mapping_uses():
    graph, source, buffer = kernel()
    mapping = AccessMapping(
        ("M", "N"), (dynamic_symbol(0), iterator_symbol(1)), (("M",),)
    )
    table = graph.body.append(Splat((M,), DTYPES["i32"], 3))
    op = graph.body.append(GatherToLDS(source, buffer, (table,), mapping))
    assert op.indices == (table,)
    with pytest.raises(UserError, match="1 index registers, 0 are given") as error:
        graph.body.append(GatherToLDS(source, buffer, (), mapping))
    assert error.value.code == "WV0402"
    wide = graph.body.append(Splat((symbol("P"),), DTYPES["i32"], 3))
    with pytest.raises(UserError, match="index register 0") as error:
        graph.body.append(GatherToLDS(source, buffer, (wide,), mapping))
    assert error.value.code == "WV0402"


@pytest.mark.parametrize(("elements", "wrong"), [(1, False), (4, True)])
def test_an_index_register_has_one_element_a_lane(elements, wrong):
    graph = lowered(Access((LANE, REG), 4), indexed=elements)
    text = print_graph(graph)
    assert first_difference(parse_graph(text), graph) is None
    found = [str(problem) for problem in problems(graph, locations=False)]
    assert any("4 elements a lane, not 1" in each for each in found) == wrong, found


def lowered(landing=None, indexed=0):
    graph, source, buffer = kernel()
    indices, mapping = (), None
    if indexed:
        indices = (graph.body.append(Splat((M,), DTYPES["i32"], 3)),)
        layout = Layout.make(64, indexed, {"M": [Digit(1, "reg", 1, indexed)]})
        graph.facts.put(PLACEMENT, indices[0], Placement(layout, (), (("M", M - M),)))
        places = (dynamic_symbol(0), iterator_symbol(1))
        mapping = AccessMapping(("M", "N"), places, (("M",),))
    op = graph.body.append(GatherToLDS(source, buffer, indices, mapping, 4))
    graph.body.append(Yield())
    row = Access((LANE, REG), 4, lt(LANE, 60))
    graph.facts.put(ACCESS, op, row)
    if landing is not None:
        graph.facts.put(LANDING, op, landing)
    graph.facts_present |= {"typed", "indexed", "expanded", "bounded"}
    return graph


def test_the_text_form_has_both_rows():
    graph = lowered(Access((LANE, REG), 4))
    text = print_graph(graph)
    assert "@landing(coordinates = [$LANE, $REG], registers = 4)" in text
    assert first_difference(parse_graph(text), graph) is None


@pytest.mark.parametrize(
    ("landing", "says"),
    [
        (None, "no coordinates of both memories"),
        (Access((LANE,), 4), "1 coordinates, the memory 2 dims"),
        (Access((LANE, REG), 2), "reads 4 elements a lane, lands 2"),
        (Access((LANE, REG), 4, as_expr(3)), "not a condition"),
    ],
)
def test_both_rows_have_to_fit(landing, says):
    found = [str(problem) for problem in problems(lowered(landing), locations=False)]
    assert any(says in problem for problem in found), found


def test_a_copy_with_both_rows_is_right():
    assert list(problems(lowered(Access((LANE, REG), 4)), locations=False)) == []
