"""Every pass shows in its docstring what it does, and does it."""

from __future__ import annotations

import pytest

import pass_examples
from wave_core.ir import parse_graph
from wave_core.plugin import PluginHost

HOST = PluginHost()
LONGEST = 40
CHANGES_NOTHING = {"check-lds-budget", "check-scans"}
REPAIRS_TYPES = {"infer-types"}


@pytest.mark.parametrize("each", HOST.passes, ids=lambda each: each.name)
def test_the_example_of_a_pass_is_what_it_does(each):
    shown = pass_examples.example_of(each)
    assert shown is not None, "write one: tools/pass_examples.py says how"
    assert shown.text.name == each.name
    assert len(shown.lines) <= LONGEST
    ops = HOST.op_classes.values()
    graph, after = (parse_graph(text, ops) for text in (shown.before, shown.after))
    if each.name not in REPAIRS_TYPES:
        graph.verify()
    changed = pass_examples.transform(HOST, each, shown, graph)
    assert changed == (each.name not in CHANGES_NOTHING)
    graph.verify()
    assert str(graph) == str(after)
    assert pass_examples.outcome(HOST, each, shown) == shown


class Wrong:
    """Takes an op away that it leaves alone.

    Example, as `eliminate-dead-code`::

          kernel "k" target "generic" {
            %a = argument parameter "a" : mem<M, global, f32>
        -   %x = read %a, [] : reg<M, f32>
        +   %y = read %a, [] : reg<M, f32>
            yield []
          }
    """


def test_what_an_example_shows(monkeypatch):
    each = next(each for each in HOST.passes if each.name == "eliminate-dead-code")
    monkeypatch.setattr(pass_examples, "pass_class", lambda _: Wrong)
    shown = pass_examples.example_of(each)
    monkeypatch.undo()
    assert "%x" in shown.before
    assert "%y" in shown.after
    made = pass_examples.outcome(HOST, each, shown)
    assert [line for line in made.lines if line[0] != " "] == [
        "-   %x = read %a, [] : reg<M, f32>"
    ]
