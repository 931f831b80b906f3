"""Graphs print as text that parses back to equal graphs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from hypothesis import given, strategies as st

from wave_core.ir import (
    Graph,
    first_difference,
    parse_graph,
    print_graph,
    problems,
)
from wave_core.ops import Op, Trait
from wave_core.ops.arithmetic import Add
from wave_core.ops.base import attribute, operand
from wave_core.ops.memory import Read
from wave_core.ops.structure import Yield
from wave_core.types import Type

RANDOM = st.randoms(use_true_random=False)
Maker = Callable[[Any], Graph]

SMALL = """\
kernel "k" target "generic" {
  bind BLOCK = 64
  dynamic [N]
  constraint #WorkgroupConstraint(dim = M, tile_size = BLOCK, workgroup_dim = 0)
  facts ["typed"]
  %0 = argument parameter "a" : mem<M, N, global, f32>
  %1 = read %0, [] {flags = "volatile"} : reg<M, N, f32>
  %2 = add %1, %1 : reg<M, N, f32> tags ["t"]
  write %2, %0, []
  yield []
}
"""


@given(rng=RANDOM)
def test_random_graphs_come_back(random_graph: Maker, rng: Any) -> None:
    graph = random_graph(rng)
    text = print_graph(graph, locations=True)
    back = parse_graph(text)
    assert first_difference(graph, back, locations=True) is None
    assert print_graph(back, locations=True) == text


@given(rng=RANDOM)
def test_text_without_locations_comes_back(random_graph: Maker, rng: Any) -> None:
    graph = random_graph(rng)
    back = parse_graph(print_graph(graph))
    assert first_difference(graph, back) is None
    assert not problems(back)


def test_the_form_is_as_documented() -> None:
    assert print_graph(parse_graph(SMALL)) == SMALL
    assert str(parse_graph(SMALL)) == SMALL


def test_an_op_gets_its_place_in_the_text() -> None:
    graph = parse_graph(SMALL, file="small.wave")
    add = next(op for op in graph.walk() if isinstance(op, Add))
    assert str(add.location) == "small.wave:8:3"


def test_comments_and_line_breaks_do_not_matter() -> None:
    text = SMALL.replace("  %2", "  // CHECK: add\n\n  %2")
    text = text.replace(", [] {", ",\n[]\n{")
    assert print_graph(parse_graph(text)) == SMALL


def test_a_type_that_is_left_out_is_inferred() -> None:
    text = SMALL.replace("%1, %1 : reg<M, N, f32>", "%1, %1")
    assert print_graph(parse_graph(text)) == SMALL


def test_values_are_numbered_in_program_order(graph: Graph) -> None:
    read = graph.body.append(Read(graph.parameters[0]))
    graph.body.append(Yield())
    graph.body.insert_after(read, Add(read, read))
    assert "%2 = read %0" in print_graph(graph)
    assert "%3 = add %2, %2" in print_graph(graph)


SCRIPT = """
import sys
from wave_core.ir import parse_graph, print_graph
graph = parse_graph(sys.stdin.read())
graph.facts_present |= {"a", "b", "c", "d"}
for op in graph.walk():
    op.tags |= {"p", "q", "r", "s"}
print(print_graph(graph))
"""


def _run(seed: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=SMALL,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    ).stdout


def test_text_is_the_same_in_every_process() -> None:
    text = _run("1")
    assert text == _run("2")
    assert '["p", "q", "r", "s", "t"]' in text


class Toy(Op, name="toy.twist", traits={Trait.PURE}):
    """An op of a plugin."""

    value: Op = operand()
    turns: int = attribute(default=1)

    def infer(self) -> Type | None:
        return self.value.type


def test_ops_of_plugins_parse() -> None:
    text = SMALL.replace("add %1, %1", "toy.twist %1 {turns = 2}")
    graph = parse_graph(text, [Toy])
    assert print_graph(graph) == text
    assert isinstance(list(graph.body.ops)[1], Toy)
