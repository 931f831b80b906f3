"""Trials on a store: lost, hanging, shared, resumed; by a process that pretends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from pretended import job_on, line_of, pretending

from wave_core.diagnostics import UserError
from wave_tune.process import TrialProcess
from wave_tune.progress import Progress
from wave_tune.tuner import result_of, work


def process_for(job, answers, limit_s=10.0):
    return TrialProcess(job.asked.subject, limit_s, pretending(answers))


def test_what_hangs_dies_or_is_refused_is_recorded_and_left_out(store):
    job = job_on(store, line_of(5), trials=5)
    told = []
    answers = [5.0, "hang", "die", "WV0601: no", 4.0]
    work(job, told.append, process_for(job, answers, limit_s=0.5))
    found = result_of(job)
    assert (found.value, found.best.subs, found.measured) == (4.0, {"TILE": 4}, 2)
    assert found.failed == {
        "preset=default TILE=1": "took longer than 0.5 s",
        "preset=default TILE=2": "its process ended with status 3: last words",
        "preset=default TILE=3": "WV0601: no",
    }
    assert len(told) == 5


def test_nothing_is_measured_again(store):
    for trials in (2, 4):
        job = job_on(store, line_of(4), trials=trials)
        work(job, process=process_for(job, [4.0, 3.0, 2.0, 1.0]))
    assert [t.value for t in job.study.trials] == [4.0, 3.0, 2.0, 1.0]


def test_where_nothing_can_be_measured_that_is_said(store):
    job = job_on(store, line_of(2), trials=2)
    work(job, process=process_for(job, ["WV0601: no", "WV0602: no"]))
    with pytest.raises(UserError) as caught:
        result_of(job)
    assert caught.value.code == "WV0832"
    assert "preset=default TILE=0: WV0601: no" in caught.value.diagnostics[0].notes


WORKER = """
import sys
sys.path.insert(0, {tests!r})
import wave_tune.store
wave_tune.store.HEARTBEAT_S, wave_tune.store.GRACE_S = 1, 2
from pretended import job_on, line_of, pretending
from wave_tune.process import TrialProcess
from wave_tune.store import Store
from wave_tune.tuner import work
job = job_on(Store({url!r}), line_of({count}), trials={count})
command = pretending([float({count} - i) for i in range({count})])
work(job, print, TrialProcess(job.asked.subject, 20.0, command))
"""


@pytest.fixture
def worker(store):
    """A process that works on a store, with trials that take so many seconds."""

    def start(count, trial_s):
        tests = str(Path(__file__).parent)
        text = WORKER.format(tests=tests, count=count, url=store.url)
        environment = {**os.environ, "TRIAL_S": str(trial_s)}
        return subprocess.Popen([sys.executable, "-c", text], env=environment)

    return start


def measured(job):
    return sorted(Progress.of(job.study, job.space).measured.values())


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "never"
        time.sleep(0.1)


def test_kill_and_resume_lose_nothing(store, worker):
    job = job_on(store, line_of(4))
    first = worker(4, trial_s=0.7)
    wait_for(lambda: len(measured(job)) == 2)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = [t.value for t in job.study.trials if t.state.name == "COMPLETE"]
    second = worker(4, trial_s=0)
    assert second.wait(60) == 0
    assert measured(job) == [1.0, 2.0, 3.0, 4.0]
    values = [t.value for t in job.study.trials if t.state.name == "COMPLETE"]
    # What was there is there, and was not done again; what was lost was.
    assert values[: len(kept)] == kept
    assert sorted(values) == [1.0, 2.0, 3.0, 4.0]


def test_two_workers_share_a_store(store, worker):
    job = job_on(store, line_of(5))
    pair = [worker(5, trial_s=0.2) for _ in range(2)]
    assert [each.wait(60) for each in pair] == [0, 0]
    done = [t for t in job.study.trials if t.state.name == "COMPLETE"]
    assert sorted(t.value for t in done) == [float(i) for i in range(1, 6)]
    # They worked at the same time.
    rows = sorted(done, key=lambda t: t.datetime_start)
    assert any(b.datetime_start < a.datetime_complete for a, b in pairwise(rows))
