"""The compiler in a process of its own: crashes and long runs are answers."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from wave_backend_amdgpu.compile import worker as module
from wave_backend_amdgpu.compile.request import Form, Request

FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
BROKEN = Request("module {", Form.CODE, FLAGS)


@pytest.fixture
def worker():
    found = module.Worker(time_limit_s=60)
    yield found
    found.close()


def test_malformed_text(worker):
    assert "expected" in worker.run(BROKEN).errors[0]


def test_unknown_flag(worker):
    answer = worker.run(Request("module {}", Form.CODE, ("--no-such-flag",)))
    assert "no-such-flag" in answer.errors[0]


def test_killed_while_compiling(worker):
    worker.run(BROKEN)
    process = worker._process
    os.kill(process.pid, signal.SIGSTOP)
    timer = threading.Timer(0.2, lambda: os.kill(process.pid, signal.SIGKILL))
    timer.start()
    assert "crashed" in worker.run(BROKEN).errors[0]
    assert "expected" in worker.run(BROKEN).errors[0]


def test_time_limit(worker):
    worker.run(BROKEN)
    os.kill(worker._process.pid, signal.SIGSTOP)
    worker._limit = 0.3
    started = time.monotonic()
    assert "more than 0.3 s" in worker.run(BROKEN).errors[0]
    assert time.monotonic() - started < 10
