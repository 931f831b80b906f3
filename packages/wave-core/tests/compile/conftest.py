"""A session with a device of its own, so that core is tested by itself."""

from __future__ import annotations

import sys
import types
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.compile import Session
from wave_core.plugin import ExecutorSpec, hookimpl


class Toy:
    """Copies its first argument to its last, and remembers how it was called."""

    calls: ClassVar[list] = []
    reports: ClassVar[list] = []

    def launch(self, request):
        Toy.calls.append(request)
        if request.views[0].memory != "cpu":
            return None
        arguments = list(request.host_arguments().values())
        np.copyto(arguments[-1], arguments[0])
        return SimpleNamespace(
            counters={"copied": arguments[0].size}, reports=tuple(Toy.reports)
        )


def toy_plugin(**executors):
    """A plugin with devices, by name: what each requires, or fields of the spec."""

    @hookimpl
    def wave_register_executors():
        for name, requires in executors.items():
            more = requires if isinstance(requires, dict) else {"requires": requires}
            yield ExecutorSpec(name, "toy_device:Toy", **more)

    plugin = types.ModuleType("toy_plugin")
    plugin.REQUIRES_API = (1, 0)
    plugin.wave_register_executors = wave_register_executors
    return plugin


@pytest.fixture
def make_session(monkeypatch):
    """Makes sessions whose devices copy."""
    device = types.ModuleType("toy_device")
    device.Toy = Toy
    monkeypatch.setitem(sys.modules, "toy_device", device)
    Toy.calls = []
    Toy.reports = []

    def make(config=None, **executors):
        said = []
        plugin = toy_plugin(**(executors or {"sim": frozenset({"expanded"})}))
        session = Session(
            {"toy": plugin}, config, entry_points=(), announce=said.append
        )
        session.said = said
        return session

    make.calls = lambda: Toy.calls
    make.reports = lambda: Toy.reports
    return make


M, N = tkw.sym.M, tkw.sym.N
BLOCK_M, BLOCK_N, SPACE = tkw.sym.BLOCK_M, tkw.sym.BLOCK_N, tkw.sym.ADDRESS_SPACE


@pytest.fixture
def copy_kernel():
    """``b = a``, in tiles."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, BLOCK_N, 0),
        tkw.WaveConstraint(M, BLOCK_M),
        tkw.WaveConstraint(N, BLOCK_N),
    ]

    @tkw.wave(constraints)
    def copy(
        a: tkw.Memory[M, N, SPACE, tkw.f16],
        b: tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f16],
    ):
        tkw.write(tkw.read(a), b)

    return copy


@pytest.fixture
def tiles():
    """What the copy kernel needs bound, besides its sizes."""
    return {"BLOCK_M": 16, "BLOCK_N": 64, "ADDRESS_SPACE": "global"}
