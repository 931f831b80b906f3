"""The view of schedules: table and JSON."""

from __future__ import annotations

import pytest
from pipelined_kernels import run_gemm, staged_gemm

from wave_core.plugin import ViewRequest
from wave_passes_scheduling.views.view import reservations, schedule, tables, view_of


@pytest.fixture(scope="module")
def view():
    kernel, _ = run_gemm(
        staged_gemm(), preset="modulo", passes=["schedule-loops{profile=unit}"]
    )
    return view_of(kernel)


def test_the_reservations_add_up_to_the_ops(view):
    (loop,) = view.loops
    titles, rows = reservations(loop.schedule)
    (column,) = (i for i, title in enumerate(titles) if "MMA_UNITS" in title)
    used = sum(int(row[column]) * cycles(row[0]) for row in rows)
    assert used == loop.analysed.kinds.count("MMA")
    assert sum(cycles(row[0]) for row in rows) == loop.schedule.interval


def cycles(span):
    first, _, last = span.partition(" to ")
    return int(last or first) - int(first) + 1


def test_stages_have_all_operations(view):
    summary, stages, _ = tables(view.loops)
    assert [row[0] for row in summary[1]] == ["K"]
    products = [row for row in stages[1] if row[1] == "MMA"]
    (loop,) = view.loops
    assert sum(int(row[2]) for row in products) == loop.analysed.kinds.count("MMA")


def test_json_holds_the_file(view):
    (loop,) = view.to_json()["loops"]
    assert loop["schedule"]["interval"] == view.loops[0].schedule.interval
    assert loop["registers"] > 0


def test_the_chart_has_a_bar_for_each_use(view):
    chart = view.to_json()["loops"][0]["chart"]
    uses = [use for task in view.loops[0].schedule.problem.tasks for use in task.uses]
    assert len(chart["bars"]) == len(uses)
    assert sum(bar["cycles"] for bar in chart["bars"]) == sum(u.cycles for u in uses)
    assert {bar["stage"] for bar in chart["bars"]} <= set(range(chart["stages"]))
    assert all(".py:" in bar["source"] for bar in chart["bars"])


def test_bars_of_a_lane_do_not_overlap(view):
    chart = view.to_json()["loops"][0]["chart"]
    ends = {}
    for bar in chart["bars"]:
        lane = bar["resource"], bar["lane"]
        assert ends.get(lane, 0) <= bar["start"]
        ends[lane] = bar["start"] + bar["cycles"]


def test_a_kernel_that_is_not_scheduled_shows_nothing():
    kernel, _ = run_gemm(staged_gemm())
    shown = schedule(ViewRequest("gemm", "generic", {}, {}, list, kernel))
    assert len(shown.tables) == 1
    assert not any(row[1] for row in shown.tables[0][1])
