"""The verifier accepts valid graphs and names what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from wave_core.diagnostics import InternalError, Location
from wave_core.ir import (
    BOX,
    Graph,
    first_difference,
    parse_graph,
    print_graph,
    problems,
    set_operands,
    verify,
)
from wave_core.ir.rewrite import change_expressions
from wave_core.ops import EffectKind, Trait
from wave_core.ops.arithmetic import Add, Neg
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.memory import Read
from wave_core.ops.structure import Yield
from wave_core.targets import generic_target
from wave_core.types import RegisterType
from wave_core.types.dtype import f16

LAYOUT = "#layout(64x4 {M: (lane/1%64), N: (reg/1%4)})"
ONE = "#layout(64x1 {M: (lane/1%64)})"
AT = f"@placement(layout = {LAYOUT})"


def _graph(body: str, facts: str = '"typed"') -> Graph:
    return parse_graph(
        f"""kernel "k" target "generic" {{
  facts [{facts}]
  %0 = argument parameter "a" : mem<M, N, global, f32>
{body}
  yield []
}}"""
    )


def _messages(graph: Graph, **options: Any) -> list[str]:
    return [found.message.split(": ", 1)[1] for found in problems(graph, **options)]


@given(rng=st.randoms(use_true_random=False))
def test_valid_graphs_have_no_problems(random_graph: Any, rng: Any) -> None:
    assert problems(random_graph(rng)) == ()


LOOP = """%1 = read %0, []
%2 = iterate [%1], [%0] {axis = K} body {
  %3 = argument carried "c" : reg<M, N, f32>
  %4 = argument capture "a" : mem<M, N, global, f32>
  %5 = read %4, []
  yield [%5]
}"""


def _loop(graph: Graph) -> Iterate:
    return next(op for op in graph.walk() if isinstance(op, Iterate))


def test_a_value_of_another_region_is_found() -> None:
    graph = _graph(LOOP)
    loop = _loop(graph)
    inner = next(loop.body.ops)
    stray = loop.body.insert_before(inner, Neg(next(graph.body.ops)))
    stray.location = inner.location
    (message,) = _messages(graph)
    assert message.endswith("belongs to another region and is not captured")


def test_a_use_before_the_definition_is_found() -> None:
    graph = _graph("%1 = read %0, []\n%2 = neg %1\n%3 = neg %1")
    _, first, second, _ = graph.body.ops
    set_operands(first, (second,))
    (message,) = _messages(graph)
    assert message.endswith("comes later in the region")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("yield [%5]", "yield []", "yields 0, has 1 carried values"),
        ("yield [%5]", "", "the region does not end with a terminator"),
        ("[%1], [%0]", "[], [%0]", "has 0 inits and 1 carried values"),
        ("[%1], [%0]", "[%1], []", "captures 0 values, its region has 1"),
        ("[%1], [%0]", "[%1], [%1]", "captures a value of type reg<M, N, f32>"),
        ("argument carried", "argument parameter", "a parameter does not belong here"),
        ("yield [%5]", "yield [%5]\n yield [%5]", "a terminator is not the last op"),
        ('"c" : reg<M, N, f32>', '"c" : reg<M, f32>', "starts with a value of type"),
        ("%5 = read %4, []", "%5 = read %4, [] : reg<M, f32>", "has type reg<M, f32>"),
    ],
)
def test_structure(old: str, new: str, message: str) -> None:
    graph = _graph(LOOP)
    assert problems(graph) == ()
    text = str(graph).replace("read %4, [] : reg<M, N, f32>", "read %4, []")
    broken = parse_graph(text.replace(old, new))
    assert any(found.startswith(message) for found in _messages(broken))


def test_operands_of_the_wrong_kind_are_found() -> None:
    graph = _graph(LOOP)
    loop = _loop(graph)
    set_operands(loop, (graph.parameters, graph.parameters))
    assert _messages(graph) == [
        "starts with a value of type mem<M, N, global, f32>",
        "`iterate` needs a register as `init_args` and got a memory",
    ]


def test_a_wrong_type_is_found() -> None:
    graph = _graph("%1 = read %0, []\n%2 = add %1, %1")
    _, add, _ = graph.body.ops
    add.type = RegisterType(add.type.shape, f16)
    assert _messages(graph) == ["has type reg<M, N, f16>, its rule says reg<M, N, f32>"]


def test_a_missing_location_is_found(graph: Graph) -> None:
    read = graph.body.append(Read(graph.parameters[0]))
    graph.body.append(Yield()).location = Location.unknown()
    with pytest.raises(InternalError) as raised:
        verify(graph, pass_name="my-pass")
    assert raised.value.code == "WV9907"
    assert "my-pass" in str(raised.value)
    assert problems(graph, locations=False) == ()
    assert read.location is None


def test_all_problems_are_reported_at_once(graph: Graph) -> None:
    a = graph.parameters[0]
    for _ in range(3):
        graph.body.append(Read(a))
    with pytest.raises(InternalError) as raised:
        graph.verify()
    codes = [found.code for found in raised.value.diagnostics]
    assert codes == ["WV9907"] * 3 + ["WV9902"]


INDEXED = '"typed", "indexed"'
EXPANDED = '"typed", "indexed", "expanded"'


def test_indexed_values_have_placements() -> None:
    body = f"%1 = read %0, [] : reg<M, N, f32> {AT}\n%2 = neg %1"
    assert _messages(_graph(body, INDEXED)) == ["a register value has no placement"]
    assert problems(_graph(body, INDEXED))[0].code == "WV9903"
    assert _messages(_graph(body)) == []


def test_layouts_have_digits_for_dims_of_the_value_only() -> None:
    body = f"%1 = read %0, [] {AT.replace('N:', 'P:')}"
    assert _messages(_graph(body, INDEXED)) == [
        "the layout has digits for P, the value has not"
    ]


ACCESS = "@access(coordinates = [M, $REG], registers = 4)"
READ = f"%1 = read %0, [] : reg<M, N, f32> {AT} {ACCESS}"


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        (READ, []),
        (f"{READ}\n%2 = neg %1 : reg<M, N, f32> {AT}", []),
        (
            f"{READ}\n%2 = neg %1 : reg<M, N, f32> @placement(layout = {ONE})",
            ["an operand has 4 registers, the result 1"],
        ),
        (READ.replace("4)}))", '4)}), steps = [["M", 2, 64]])'), ["an expanded value"]),
        (READ.replace(ACCESS, ""), ["a memory access has no coordinates"]),
        (READ.replace("[M, $REG]", "[M]"), ["has 1 coordinates, the memory 2 dims"]),
        (READ.replace("registers = 4", "registers = 2"), ["accesses 2 elements a la"]),
        (
            READ.replace("registers = 4", "registers = 4, mask = M + 2"),
            ["the mask `M + 2` is not a condition"],
        ),
        (
            f"{READ}\n%2 = permute %1 {{shape = [N, M]}} : reg<N, M, f32> {AT}",
            ["an op on whole tiles is left after expansion"],
        ),
        ("%1 = iterate [], [] {axis = K} body {\n yield []\n}", ["the loop has no"]),
    ],
)
def test_expanded(body: str, messages: list[str]) -> None:
    found = _messages(_graph(body, EXPANDED))
    assert len(found) == len(messages)
    assert all(f.startswith(m) for f, m in zip(found, messages, strict=True))


MMA = f"""\
%1 = register {{shape = [M, K], dtype = !f16, value = 0.0}} : reg<M, K, f16>
  @placement(layout = #layout(64x4 {{M: (lane/1%16), K: 4*(lane/16%4) + (reg/1%4)}}))
%2 = register {{shape = [N, K], dtype = !f16, value = 0.0}} : reg<N, K, f16>
  @placement(layout = #layout(64x4 {{N: (lane/1%16), K: 4*(lane/16%4) + (reg/1%4)}}))
%3 = register {{shape = [M, N], dtype = !f32, value = 0.0}} : reg<M, N, f32> {AT}
%4 = mma %1, %2, %3 {{mma_type = "F32_16x16x16_F16"}} : reg<M, N, f32> {AT}
"""


def test_matrix_operands_fit_the_instruction() -> None:
    target = generic_target()
    assert _messages(_graph(MMA, EXPANDED), target=target) == []
    thin = MMA.replace("64x4 {M: (lane/1%16)", "64x2 {M: (lane/1%16)", 1)
    thin = thin.replace("(reg/1%4)", "(reg/1%2)", 1)
    assert _messages(_graph(thin, EXPANDED), target=target) == [
        "lhs has 2 registers, F32_16x16x16_F16 takes 4"
    ]


TILE = """\
%buffer = allocate {shape = [M, K], distributed_shape = [`16`, `16`], dtype = !f16,
  layout = #BufferLayout(chunk = 16, step = 4, ways = 2, panel = 32)}
  : mem<M, K, shared, f16, physical[16, 16]>
%1 = shared_tile %buffer : reg<M, K, f16>
  @access(coordinates = [$LANE % 16, $REG + 4*($LANE // 16)], registers = 4)
  @box(origin = [`0`, `0`], extents = [16, 16])
  @placement(layout = #layout(64x4 {M: (lane/1%16), K: 4*(lane/16%4) + (reg/1%4)}))
"""


def _product_of_a_tile() -> str:
    return TILE + MMA[MMA.index("%2") :]


def test_an_operand_may_stay_in_lds() -> None:
    graph = _graph(_product_of_a_tile(), EXPANDED)
    assert _messages(graph, target=generic_target()) == []
    text = print_graph(graph)
    assert "#BufferLayout(chunk = 16, step = 4, ways = 2, panel = 32)" in text
    assert first_difference(graph, parse_graph(text)) is None
    (product,) = (op for op in graph.walk() if isinstance(op, Mma))
    tile = product.lhs
    assert isinstance(tile, SharedTile)
    (effect,) = product.effects()
    assert (effect.kind, effect.memory) == (EffectKind.READ, tile.memory)
    assert not product.has(Trait.PURE)
    change_expressions(tile, lambda place: place + 16)
    box = graph.facts.known(BOX, tile)
    assert [place.constant_value for place in box.origin] == [16, 16]


OTHER_USE = "%9 = neg %1 : reg<M, K, f16> " + TILE[TILE.index("@placement") :]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            TILE.replace("@box(origin = [`0`, `0`], extents = [16, 16])", ""),
            "a shared tile has no coordinates",
        ),
        (TILE.replace("[`0`, `0`]", "[`0`]"), "its box has not the 2 dims"),
        (TILE + OTHER_USE, "a shared tile is an operand of products"),
    ],
)
def test_what_a_shared_tile_lacks_is_found(body: str, message: str) -> None:
    (found,) = _messages(_graph(body, EXPANDED))
    assert found.startswith(message)


def test_an_op_that_left_the_graph_is_found() -> None:
    graph = _graph("%1 = read %0, []\n%2 = add %1, %1")
    read, add, _ = graph.body.ops
    read.owner = None
    assert isinstance(add, Add)
    assert _messages(graph) == ["the op does not know the region that it is in"]


def test_equal_ops_on_arguments_of_other_types_are_checked() -> None:
    argument = '%{} = argument carried "c{}" : reg<M, {}>'
    lines = [argument.format(3 + i, i, t) for i, t in enumerate(["f32", "f16", "f32"])]
    inits = [
        f"register {{shape = [M], dtype = !{t}, value = 1.0}}" for t in ("f32", "f16")
    ]
    graph = _graph(
        f"%1 = {inits[0]}\n%2 = {inits[1]}\n"
        "%9 = iterate [%1, %2, %1], [] {axis = K} body {\n"
        + "\n".join(lines)
        + """
  %6 = add %3, %5 : reg<M, f32>
  %7 = add %3, %4 : reg<M, f32>
  yield [%3, %4, %5]
}"""
    )
    assert len(_messages(graph)) == 1
