"""What is gathered about a kernel, with nothing but core installed."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import dataclass

import pytest
from viewed_kernels import case_of, double, refused

from wave_core.compile import Session, wave_compile
from wave_core.diagnostics import user_error
from wave_core.passes import Pass, PassSpec, Phase
from wave_core.plugin import ViewSpec, hookimpl
from wave_sim_cpu import plugin as sim_cpu
from wave_view import collect, view_of_kernel


def line_of(view, text):
    """The place of the first line of the kernel's file that ends so."""
    (source, *_) = view.sources
    return 0, 1 + next(n for n, row in enumerate(source.lines) if row.endswith(text))


def lines_at(view, stage, place):
    return [
        view.texts[text]
        for text, _, places in stage.lines
        if place in view.place_lists[places]
    ]


def test_it_is_json(view):
    assert json.loads(json.dumps(view.to_json(), allow_nan=False))["kernel"] == "double"


def test_stages_are_the_passes_that_changed_something_in_order(view):
    assert view.stages[0].name == "trace"
    phases = [stage.phase for stage in view.stages[1:]]
    order = [str(phase) for phase in Phase]
    assert [order.index(each) for each in phases] == sorted(map(order.index, phases))
    for before, after in zip(view.stages, view.stages[1:], strict=False):
        assert before.lines != after.lines, after.name


def test_the_last_stage_is_what_the_compiler_gives(view, session):
    case = case_of(double)
    kernel = wave_compile(case.options, case.kernel, session=session)
    shown = [view.texts[text] for text, _, _ in view.stages[-1].lines]
    # Passes that change nothing establish facts all the same.
    found, expected = (
        [line for line in lines if not line.startswith("  facts [")]
        for lines in (shown, str(kernel.graph).splitlines())
    )
    assert found == expected


def test_a_line_of_a_called_function_counts_for_its_caller(view):
    called, calls = line_of(view, "# called"), line_of(view, "<!--")
    for stage in (view.stages[0], view.stages[-1]):
        products = [row for row in lines_at(view, stage, called) if " mul " in row]
        assert products
        assert set(products) <= set(lines_at(view, stage, calls))
        assert any(" write " in row for row in lines_at(view, stage, calls))
        assert not any(" write " in row for row in lines_at(view, stage, called))
    assert calls in dict(view.above)[called]


def test_every_element_has_a_holder(view):
    (layout,) = [row for row in view.layouts if row.title.startswith("mul")]
    found = {
        tuple(
            sum(c * ((lane if s == "lane" else reg) // div % mod)
                for c, s, div, mod in digits)
            + sum(k * step for name, _, k in layout.steps if name == dim)
            for dim, digits in layout.dims
        )
        for lane in range(layout.lanes)
        for reg in range(layout.registers)
        for step in range(max([count for _, count, _ in layout.steps], default=1))
    }  # fmt: skip
    assert {dim for dim, _ in layout.dims} == {"M", "N"}
    assert len(found) == 4 * 128


def test_what_is_not_installed_is_said(view):
    why = {row.view: row for row in view.missing}
    assert "WV0719" in why["code"].why
    assert any("wave-backend" in line for line in why["code"].help)
    assert "WV0829" in why["roofline"].why
    assert not view.failed


def test_a_kernel_that_is_refused_has_its_source_and_the_diagnostic(session):
    view = collect(case_of(refused), session)
    (problem,) = view.problems
    assert view.failed
    assert "error[WV0204]" in problem.text
    assert problem.place == line_of(view, "tkl.write(tkl.read(a), b)")
    assert view.stages == ()


@dataclass(frozen=True)
class Refuses(Pass):
    """Refuses the first write, as a pass does that meets what it cannot do."""

    def apply(self, graph, context):
        (write, *_) = [op for op in graph.walk() if op.op_name == "write"]
        raise user_error("WV0601", "no such write", at=write.location)


def test_a_pass_that_refuses_leaves_the_stages_before_it(view, monkeypatch):
    @hookimpl
    def wave_register_passes():
        yield PassSpec("refuses", Phase.OPTIMIZE, "refusing:Refuses", essential=True)

    refusing = types.ModuleType("refusing")
    refusing.REQUIRES_API, refusing.Refuses = (1, 0), Refuses
    refusing.wave_register_passes = wave_register_passes
    monkeypatch.setitem(sys.modules, "refusing", refusing)
    session = Session({"toy": refusing, "sim_cpu": sim_cpu}, entry_points=())
    found = collect(case_of(double), session)
    (problem,) = found.problems
    assert problem.place == line_of(found, "<!--")
    names = [stage.name for stage in view.stages]
    assert [stage.name for stage in found.stages] == names[: len(found.stages)]
    assert found.stages[-1].phase == "expand"
    assert found.layouts == view.layouts


def test_a_view_that_fails_is_said_and_the_others_are_there():
    @hookimpl
    def wave_register_views():
        yield ViewSpec("broken", "fractions:Fraction")

    toy = types.ModuleType("toy")
    toy.REQUIRES_API, toy.wave_register_views = (1, 0), wave_register_views
    session = Session({"toy": toy, "sim_cpu": sim_cpu}, entry_points=())
    found = collect(case_of(double), session)
    (row,) = [row for row in found.missing if row.view == "broken"]
    assert "plugin `toy`" in row.why
    assert "WV0819" in row.why
    assert found.stages
    assert not found.failed


def test_of_a_compiled_kernel_all_that_needs_no_arguments(view, session):
    case = case_of(double)
    found = view_of_kernel(wave_compile(case.options, case.kernel, session=session))
    assert found.shape == view.shape
    assert [each.name for each in found.stages] == [each.name for each in view.stages]
    assert found.documents == {}


@pytest.mark.parametrize("target", ["generic", "generic128"])
def test_the_target_is_that_of_the_options(session, target):
    assert collect(case_of(double, target), session).target == target
