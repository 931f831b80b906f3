"""Host time of calls of functions: all of Python's part.

``python benchmarks/bench_calls.py`` needs no card: as in `bench_launch`, the driver's
functions are one of C that does nothing, and tensors of the CPU stand for those of a
GPU. CPU time; ``torch.mm`` of tiny tensors, in the same process, says what machine it
was.

``python benchmarks/bench_calls.py --device cuda`` measures the same on a card, driver
included, after it has seen that calls which are repeated give, for other values each
time, the bits of calls that are looked at from scratch.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import torch
from bench_launch import Card, timed
from measure import Figure, report

import wave_torch
from wave_backend_nvgpu.executors import CudaExecutor
from wave_backend_nvgpu.plugin import NEEDED
from wave_core.compile import Session
from wave_core.plugin import ExecutorSpec, hookimpl
from wave_kernels import functions
from wave_kernels.functions import launches
from wave_kernels.functions.recording import Replay

LIMIT = 25
"""Microseconds of a call above those of its launches."""

FEWER = 1_000
"""Calls of one measurement where they take long."""

ALIKE = 20
"""Calls on a card that are compared."""

NAME = "no-gpu"


class Plugin:
    """A GPU that takes launches and does nothing."""

    REQUIRES_API = (1, 0)

    @hookimpl
    def wave_register_executors(self):
        """The device, whose executor is that of CUDA on another driver."""
        own = f"{Path(__file__).stem}:executor"
        yield ExecutorSpec(NAME, own, requires=NEEDED, backend="nvgpu", strided=False)


class AnyCard(Card):
    """Of the newest kind whose machine code is made here."""

    machine_code = runs = ("sm_90a", "sm_90")


def executor():
    return CudaExecutor(lambda _: AnyCard())


def works(device):
    """Arguments by function, as in a model that decodes one token."""
    some = partial(torch.randn, dtype=torch.float16, device=device)
    x, weight = some(1, 4096), some(4096)
    few, matrix = some(1, 512), some(256, 512)
    query, key, value = (some(1, 4, n, 64) for n in (1, 256, 256))
    return {
        "rms_norm": (x, weight),
        "matmul": (few, matrix.mT),
        "gated_activation": (x,),
        "elementwise": ("x, y -> x + y", (x, weight)),
        "attention": (query, key, value),
    }


def launches_of(session):
    """The launches of the call that came last, at the addresses of nothing."""
    *_, replay = session.calls.values()
    assert isinstance(replay, Replay), "it is repeated"
    apart = [i << 40 for i in range(1, 17)]
    rows = [(repeat, apart[: len(places)]) for repeat, places in replay.launches]

    def run():
        for repeat, addresses in rows:
            repeat(repeat.check(addresses), 0)

    return run


def repeats_alike(function, given):
    """Calls that are repeated give what a look from scratch gives, for other values."""
    parts = (each if isinstance(each, tuple) else (each,) for each in given)
    tensors = [t for part in parts for t in part if isinstance(t, torch.Tensor)]
    for _ in range(ALIKE):
        for tensor in tensors:
            tensor.normal_()
        got, want = function(*given), function.__wrapped__(*given)
        assert torch.equal(got, want), function.__name__


def figures(device):
    torch.set_num_threads(1)
    small = torch.randn(4, 4, device=device)
    unit = timed("torch.mm of 4 x 4", [lambda: torch.mm(small, small)])
    yield unit
    plugins = {"gpu": Plugin()} if device == "cpu" else None
    session = Session(plugins, announce=lambda _: None)
    if device == "cpu":
        launches.ON_CPU = NAME, "sm_90a"
    launches.default_session = lambda: session
    assert wave_torch, "whose operators are called"
    for name, given in works(device).items():
        function, operator = getattr(functions, name), getattr(torch.ops.wave, name)
        session.calls.clear()
        for _ in range(2):
            function(*given)
        if device == "cuda":
            repeats_alike(function, given)
        scratch = partial(function.__wrapped__, *given)
        yield timed(f"{name}: looked at from scratch", [scratch], count=FEWER)
        whole = timed(f"{name}: repeated", [partial(function, *given)])
        yield whole
        if device == "cpu":
            launch = timed(f"{name}: launches", [launches_of(session)])
            yield launch
            note = f"it takes {whole.value / unit.value:.1f} of torch.mm"
            above = whole.value - launch.value
            yield Figure(f"{name}: above its launches", above, "us", LIMIT, note)
        yield timed(f"torch.ops.wave.{name}", [partial(operator, *given)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    given, _ = parser.parse_known_args()
    report("calls of functions: CPU time", figures(given.device))
