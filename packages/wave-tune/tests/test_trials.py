"""Trials on a store: lost, hanging, shared, resumed; by a process that pretends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
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


COUNT = 6

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
work(job, print, TrialProcess(job.asked.subject, 300.0, pretending({answers})))
"""


@pytest.fixture
def worker(store):
    """A process that works on a store, and hangs at one of the points if asked to."""

    def start(hangs=None):
        answers = ["hang" if i == hangs else float(i) for i in range(COUNT)]
        tests = str(Path(__file__).parent)
        text = WORKER.format(tests=tests, url=store.url, count=COUNT, answers=answers)
        return subprocess.Popen([sys.executable, "-c", text])

    return start


def measured(job):
    return sorted(Progress.of(job.study, job.space).measured.values())


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "never"
        time.sleep(0.1)


def test_two_workers_share_a_store_and_what_one_loses_by_kill_9_is_done_again(
    store, worker
):
    job = job_on(store, line_of(COUNT))
    first = worker(hangs=2)
    wait_for(lambda: running(job) and measured(job) == [0.0, 1.0])
    second = worker()
    # It goes on beside the first, with what that one is not at.
    wait_for(lambda: measured(job) == [0.0, 1.0, 3.0, 4.0, 5.0])
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert second.wait(60) == 0
    done = [t for t in job.study.trials if t.state.name == "COMPLETE"]
    # Each point was measured once; the lost one last.
    assert [t.value for t in done] == [0.0, 1.0, 3.0, 4.0, 5.0, 2.0]
    assert [t.state.name for t in job.study.trials].count("FAIL") == 1


def running(job):
    return Progress.of(job.study, job.space).running
