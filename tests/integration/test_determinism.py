"""The same kernel is the same text in every process, whatever Python's hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

DIGESTS = """
import hashlib
from wave_core.compile import Session, wave_compile
from wave_core.ir import print_graph
session = Session(announce=lambda _: None)
for name in ("gemm", "attention", "conv2d", "softmax", "gemm-staged"):
    case = session.plugins.load_kernel(name)({}, {}, "generic")
    kernel = wave_compile(case.options, case.kernel, session=session)
    text = print_graph(kernel.graph)
    print(name, len(text), hashlib.sha256(text.encode()).hexdigest(), kernel.key)
"""


def digests(seed: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS],
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def outcomes(processes: int) -> set[str]:
    with ThreadPoolExecutor(2) as pool:
        return set(pool.map(digests, range(processes)))


def test_two_processes_agree():
    found = outcomes(2)
    assert len(found) == 1
    assert len(found.pop().splitlines()) == 5


@pytest.mark.fuzz
def test_twenty_processes_agree():
    assert len(outcomes(20)) == 1
