"""The pass alone: text in, one pass, text out."""

from __future__ import annotations

import pytest
from wave_example_pass.fold import FoldDoubleNegation
from wave_example_pass.ops import Relu6

from wave_core.diagnostics import UserError
from wave_core.ir import parse_graph, print_graph
from wave_core.passes import PassContext
from wave_core.targets import generic_target

KERNEL = """
kernel "activation" target "generic" {
  %0 = argument parameter "a" : mem<M, N, global, f32>
  %1 = argument parameter "b" : mem<M, N, global, f32>
  %2 = read %0, [] : reg<M, N, f32>
BODY
  yield []
}
"""
NEGATED = "  %{} = neg %{} : reg<M, N, f32>"
RELU6 = "  %{} = wave_example.relu6 %{} {{cap = 4.0}} : reg<M, N, f32>"
WRITE = "  write %{}, %1, []"


def kernel(*body):
    return KERNEL.replace("BODY", "\n".join(body)).strip()


def run(text, **options):
    graph = parse_graph(text, [Relu6])
    step = FoldDoubleNegation(**options)
    changed = step.should_run(graph) and step.apply(
        graph, PassContext(generic_target())
    )
    graph.verify()
    return changed, print_graph(graph).strip()


def negations(count):
    return [NEGATED.format(i, i - 1) for i in range(3, 3 + count)]


@pytest.mark.parametrize(("count", "source"), [(2, 2), (3, 4), (4, 2)])
def test_pairs_of_negations_fold(count, source):
    text = kernel(*negations(count), WRITE.format(2 + count))
    changed, after = run(text)
    assert changed
    assert f"write %{source}, %1, []" in after


def test_users_of_the_inner_negation_keep_it():
    text = kernel(*negations(2), WRITE.format(3), WRITE.format(4))
    assert run(text) == (
        True,
        kernel(*negations(1), WRITE.format(3), WRITE.format(2)),
    )


@pytest.mark.parametrize("count", [0, 1])
def test_without_a_pair_nothing_changes(count):
    text = kernel(*negations(count), RELU6.format(3 + count, 2 + count))
    assert run(text) == (False, text)


def test_at_most_as_many_as_the_option_says():
    text = kernel(*negations(4), WRITE.format(6))
    assert run(text, max_folds=0) == (False, text)
    assert run(text, max_folds=1)[1].count("neg") == 3


def test_what_has_folded_does_not_fold_again():
    once = run(kernel(*negations(4), WRITE.format(6)))[1]
    assert run(once)[0] is False


def test_the_op_has_a_text_form():
    text = kernel(RELU6.format(3, 2), WRITE.format(3))
    assert print_graph(parse_graph(text, [Relu6])).strip() == text


def test_an_unknown_option_is_refused():
    with pytest.raises(UserError, match="has no option `max-fold`"):
        FoldDoubleNegation.with_options([("max-fold", 1)])
