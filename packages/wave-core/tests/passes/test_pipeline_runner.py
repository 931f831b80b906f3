"""Running a pipeline: facts, checks, counts, errors."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from wave_core.diagnostics import InternalError, PluginError, UserError, user_error
from wave_core.passes import InstalledPass, Pass, PassObserver, PassSpec, Phase, Verify
from wave_core.passes.observe import IrPrinter
from wave_core.passes.resolve import resolve
from wave_core.passes.run import PipelineRunner

MODULE = "wave_test_pipeline_runner"
sys.modules[MODULE] = sys.modules[__name__]


@dataclass(frozen=True)
class Log(Pass):
    word: str = "ran"
    times: int = 1

    def apply(self, graph, context):
        graph.log += [self.word] * self.times
        context.count("words", self.times)
        return self.times > 0


class LogMore(Log):
    pass


class LogLate(Log):
    pass


class SkipMe(Log):
    def should_run(self, graph):
        return not graph.log


class CrashHard(Log):
    def apply(self, graph, context):
        raise KeyError(self.word)


class BreakGraph(Log):
    def apply(self, graph, context):
        graph.broken = True
        return True


class BlameUser(Log):
    def apply(self, graph, context):
        raise user_error("WV0801", "your kernel is wrong")


class ReportErrors(Log):
    def apply(self, graph, context):
        context.collector.error("WV0801", "one")
        context.collector.error("WV0801", "two")
        return False


def spec(cls, phase=Phase.OPTIMIZE, **fields):
    return PassSpec(cls.pass_name(), phase, f"{MODULE}:{cls.__name__}", **fields)


def runner(*specs, **fields):
    pipeline = resolve([InstalledPass(each, "acme") for each in specs])
    return PipelineRunner(pipeline, **fields)


def test_facts_follow_the_passes(graph, context):
    runner(
        spec(Log, Phase.INFER, provides={"typed", "canonical"}),
        spec(LogMore, clobbers={"canonical"}),
    ).run(graph, context)
    assert graph.facts_present == {"typed"}


def test_options_reach_the_passes(graph, context):
    run = runner(spec(Log), spec(LogMore), options={"log": {"word": "a", "times": 2}})
    run.run(graph, context)
    assert graph.log == ["a", "a", "ran"]
    assert str(run.text()) == "log{word=a, times=2}, log-more"


def test_rows_hold_times_and_counts(graph, context):
    report = runner(spec(Log), options={"log": {"times": 3}}).run(graph, context)
    (row,) = report.passes
    assert (row.name, row.provider, row.phase) == ("log", "acme", "optimize")
    assert (row.changed, row.skipped, row.text) == (True, False, "log{times=3}")
    assert 0 <= row.cpu_s < 1
    assert row.statistics == {"words": 3} == context.statistics


def test_a_pass_without_work_is_skipped_and_its_facts_hold(graph, context):
    graph.log = ["busy"]
    report = runner(spec(SkipMe, provides={"typed"})).run(graph, context)
    assert report.passes[0].skipped
    assert (graph.log, graph.facts_present) == (["busy"], {"typed"})


@pytest.mark.parametrize(
    ("verify", "times"), [(Verify.NEVER, 0), (Verify.ENDS, 2), (Verify.EACH, 4)]
)
def test_checks(graph, context, verify, times):
    passes = spec(Log), spec(LogMore), spec(LogLate, Phase.LEGALIZE)
    runner(*passes, verify=verify).run(graph, context)
    assert graph.verified == times


@pytest.mark.parametrize("verify", [Verify.ENDS, Verify.EACH])
def test_a_broken_graph_names_the_pass(graph, context, verify):
    with pytest.raises(InternalError, match="the graph is broken") as caught:
        runner(spec(BreakGraph), verify=verify).run(graph, context)
    assert caught.value.pass_name == "break-graph"


def test_a_crash_is_internal_and_names_pass_and_provider(graph, context):
    with pytest.raises(InternalError) as caught:
        runner(spec(CrashHard)).run(graph, context)
    assert caught.value.code == "WV9901"
    assert caught.value.pass_name == "crash-hard"
    assert "pass `crash-hard` (plugin acme) failed: KeyError" in str(caught.value)
    assert "a defect of plugin `acme`, not of your kernel" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


def test_errors_of_the_user_pass_through(graph, context):
    with pytest.raises(UserError, match="your kernel is wrong") as caught:
        runner(spec(BlameUser)).run(graph, context)
    assert caught.value.diagnostics[0].data["phase"] == "optimize"


def test_reported_errors_are_raised_together_and_stop_the_phase(graph, context):
    run = runner(spec(ReportErrors), spec(Log, after=("report-errors",)))
    with pytest.raises(UserError) as caught:
        run.run(graph, context)
    assert [each.message for each in caught.value.diagnostics] == ["one", "two"]
    assert graph.log == []


@pytest.mark.parametrize(
    ("stop", "log"),
    [("log", 1), ("optimize", 2), ("expand", 0), ("old", 2), ("synchronize", 3)],
)
def test_stopping_early(graph, context, stop, log):
    report = runner(
        spec(Log),
        spec(LogMore, replaces=("old",)),
        PassSpec("old", Phase.OPTIMIZE, "no:One"),
        spec(SkipMe, Phase.LEGALIZE, after=("log",)),
        options={"skip-me": {"word": "never"}},
    ).run(graph, context, stop_after=stop)
    assert len(report.passes) == log


def test_stopping_at_nothing(graph, context):
    with pytest.raises(UserError, match="no phase or pass `optimise`") as caught:
        runner(spec(Log)).run(graph, context, stop_after="optimise")
    assert caught.value.diagnostics[0].help[0] == "did you mean `optimize`?"


def test_observers_see_passes_and_phases(graph, context):
    seen = []

    class Watch(PassObserver):
        def before_pass(self, step, graph, context):
            seen.append(("before", str(step), len(graph.log)))

        def after_pass(self, step, graph, context, *, changed):
            seen.append(("after", str(step), changed))

        def after_phase(self, phase, graph):
            seen.append(("phase", phase))

    runner(spec(Log), spec(SkipMe), observers=[Watch()]).run(graph, context)
    assert seen == [
        *[("before", "log", 0), ("after", "log", True), ("phase", "optimize")],
    ]


def test_printing(graph, context):
    shown = []
    printer = IrPrinter(frozenset({"log-more", "infer"}), lambda *t: shown.append(t))
    passes = spec(Log, Phase.INFER), spec(LogMore)
    options = {"log-more": {"times": 0}}
    runner(*passes, options=options, observers=[printer]).run(graph, context)
    assert shown == [
        ("after phase infer", "ran"),
        ("after log-more{times=0} (no change)", "ran"),
    ]


class NotAPass:
    pass


@pytest.mark.parametrize(
    ("name", "target", "what"),
    [
        ("log", "no_such_module_here:Log", "ModuleNotFoundError"),
        ("log", f"{MODULE}:Missing", "AttributeError"),
        ("not-a-pass", f"{MODULE}:NotAPass", "is not a subclass of Pass"),
        ("other-name", f"{MODULE}:Log", "is named for a pass `log`"),
    ],
)
def test_classes_that_cannot_be_loaded(graph, context, name, target, what):
    with pytest.raises(PluginError, match=what) as caught:
        runner(PassSpec(name, Phase.INFER, target)).run(graph, context)
    assert caught.value.code == "WV0814"
    assert "plugin acme" in str(caught.value)


def test_wrong_options_are_found_before_anything_runs(graph, context):
    options = {"log-more": {"wordd": "x"}}
    with pytest.raises(UserError, match="has no option `wordd`"):
        runner(spec(Log), spec(LogMore), options=options).run(graph, context)
    assert graph.log == []
