"""Answers of analyses: made once, and again when the graph is another."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import PluginError
from wave_core.ir import ACCESS, erase, insert_before, set_attributes
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Read
from wave_core.ops.sync import WorkgroupBarrier
from wave_core.passes import (
    Analysis,
    InstalledPass,
    Pass,
    PassContext,
    PassSpec,
    Phase,
    Verify,
)
from wave_core.passes.resolve import resolve
from wave_core.passes.run import PipelineRunner
from wave_core.targets import generic_target

MODULE = "wave_test_analyses"
sys.modules[MODULE] = sys.modules[__name__]

M, K, GLOBAL = tkl.sym.M, tkl.sym.K, tkl.GLOBAL_ADDRESS_SPACE


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 4, 0),
        tkw.TilingConstraint(K, 16),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]
)
def sums(a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]):
    zero = tkl.Register[M, tkl.f32](0.0)

    @tkw.iterate(K, init_args=[zero])
    def loop(acc):
        return tkw.sum(tkw.read(a), acc, dim=K)

    tkw.write(loop, b)


@pytest.fixture
def graph():
    options = tkw.WaveCompileOptions(subs={M: 16, K: 64}, device="sim")
    return tkw.wave_compile(options, sums).graph.clone()


@pytest.fixture
def context():
    return PassContext(generic_target())


def first(graph, kind):
    return next(op for op in graph.walk() if isinstance(op, kind))


def add_op(graph):
    insert_before(first(graph, Read), WorkgroupBarrier())


def remove_op(graph):
    erase(first(graph, WorkgroupBarrier))


def change_attributes(graph):
    loop = first(graph, Iterate)
    set_attributes(loop, count=loop.count)


def change_facts(graph):
    read = first(graph, Read)
    graph.facts.put(ACCESS, read, graph.facts.get(ACCESS, read))


@pytest.mark.parametrize("change", [add_op, change_attributes, change_facts])
def test_an_answer_lasts_until_the_graph_changes(graph, context, change):
    known = context.dependences(graph), context.region_facts(graph)
    assert context.dependences(graph) is known[0]
    assert context.region_facts(graph) is known[1]
    change(graph)
    assert context.dependences(graph) is not known[0]
    assert context.region_facts(graph) is not known[1]


def test_removing_an_op_is_a_change(graph, context):
    add_op(graph)
    known = context.dependences(graph)
    remove_op(graph)
    assert context.dependences(graph) is not known


def test_geometry_follows_from_constraints_and_bindings_alone(graph, context):
    geometry = context.geometry(graph)
    add_op(graph)
    assert context.geometry(graph) is geometry
    graph.bindings = graph.bindings | {next(iter(graph.bindings)): 32}
    assert context.geometry(graph) is not geometry
    assert context.geometry(graph.clone()) is not geometry


@dataclass(frozen=True)
class AddBarrier(Pass):
    def apply(self, graph, context):
        add_op(graph)
        return True


def spec(**fields):
    name = AddBarrier.pass_name()
    return PassSpec(name, Phase.OPTIMIZE, f"{MODULE}:{AddBarrier.__name__}", **fields)


@pytest.mark.parametrize("preserved", [(), ("region_facts",), tuple(Analysis)])
def test_a_pass_drops_what_it_does_not_preserve(graph, context, preserved):
    before = context.dependences(graph), context.region_facts(graph)
    pipeline = resolve([InstalledPass(spec(preserves=preserved), "acme")])
    PipelineRunner(pipeline, verify=Verify.NEVER).run(graph, context)
    same = (
        context.dependences(graph) is before[0],
        context.region_facts(graph) is before[1],
    )
    assert same == ("dependences" in preserved, "region_facts" in preserved)


def test_a_stale_answer_is_not_revived(graph, context):
    known = context.region_facts(graph)
    runs = [spec(), spec(preserves={"region_facts"})]
    for one in runs:
        pipeline = resolve([InstalledPass(one, "acme")])
        PipelineRunner(pipeline, verify=Verify.NEVER).run(graph, context)
    assert context.region_facts(graph) is not known


def test_only_analyses_are_preserved():
    with pytest.raises(PluginError, match="there is no analysis `geometri`") as caught:
        spec(preserves={"geometri"})
    assert caught.value.code == "WV0809"
