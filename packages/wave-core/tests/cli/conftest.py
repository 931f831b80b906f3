"""The command line with a device of its own, so that core is tested by itself."""

from __future__ import annotations

import json
import sys
import types
from types import SimpleNamespace

import numpy as np
import pytest

from wave_core.cli import app, bisect, doctor, inspect, kernels, pipeline, plugins, run
from wave_core.compile import Session
from wave_core.plugin import CheckSpec, ExecutorSpec, KernelSpec, OptionSpec, hookimpl

CASE = '''
import numpy as np
import wave_core.lang as tkw
from wave_core.compile import KernelCase, WaveCompileOptions

M, N = tkw.sym.M, tkw.sym.N

def double(shape, settings, target):
    """Says that it copies; the device doubles where WRONG is set."""
    sizes = {"M": 20, "N": 70} | shape
    tiles = {"BLOCK_M": 16, "WRONG": 0} | settings

    @tkw.wave([
        tkw.HardwareConstraint(threads_per_wave=64),
        tkw.WorkgroupConstraint(M, tkw.sym.BLOCK_M, 0),
    ])
    def copy(
        a: tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
        b: tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
    ):
        tkw.write(tkw.read(a), b)

    def arguments(rng):
        a = rng.standard_normal((sizes["M"], sizes["N"])).astype("f4")
        return [a, np.empty_like(a)]

    return KernelCase(
        kernel=copy,
        options=WaveCompileOptions(
            subs={**sizes, "BLOCK_M": tiles["BLOCK_M"]}, target=target
        ),
        shape=sizes,
        settings=tiles,
        make_arguments=arguments,
        reference=lambda given: [given[0] * (2.0 if tiles["WRONG"] else 1.0)],
        outputs=(1,),
        tolerance=0.0,
    )
'''


class Toy:
    """Copies its first argument to its last."""

    def launch(self, request):
        arguments = list(request.host_arguments().values())
        np.copyto(arguments[-1], arguments[0])
        given = request.settings.compile_options.plugin_options
        counters = {"copied": arguments[0].size} | dict(given)
        return SimpleNamespace(counters=counters, reports=())


def toy_plugin():
    """A plugin with a device and a kernel."""

    @hookimpl
    def wave_register_executors():
        yield ExecutorSpec("sim", "toy_case:Toy", requires={"expanded"})

    @hookimpl
    def wave_register_kernels():
        yield KernelSpec("toy", "toy_case:double", "copies")

    @hookimpl
    def wave_register_checks():
        yield CheckSpec("toy-tool", "toy_case:tool")
        yield CheckSpec("toy-fault", "toy_case:fault")

    @hookimpl
    def wave_register_options():
        yield OptionSpec("toy_depth", int, 0, "wave-core", "how deep", at_least=1)

    plugin = types.ModuleType("toy_plugin")
    plugin.wave_register_options = wave_register_options
    plugin.REQUIRES_API = (1, 6)
    plugin.wave_register_checks = wave_register_checks
    plugin.wave_register_executors = wave_register_executors
    plugin.wave_register_kernels = wave_register_kernels
    return plugin


@pytest.fixture
def case_file(tmp_path):
    """A user's file with a kernel case."""
    path = tmp_path / "mine.py"
    path.write_text(CASE)
    return path


@pytest.fixture
def wave(monkeypatch, capsys, case_file):
    """Runs a command: exit code, stdout, stderr."""
    device = types.ModuleType("toy_case")
    device.__file__ = str(case_file)
    exec(compile(CASE, str(case_file), "exec"), vars(device))
    device.Toy = Toy
    device.tool = lambda: ("missing", "bring one")
    device.fault = lambda: ("ok", "here")
    monkeypatch.setitem(sys.modules, "toy_case", device)

    def session():
        return Session({"toy": toy_plugin()}, entry_points=())

    for module in (bisect, doctor, inspect, kernels, pipeline, plugins, run):
        monkeypatch.setattr(module, "open_session", session)

    def call(*arguments):
        code = app.run_command([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err, json=_last_json(out))

    return call


def _last_json(out):
    lines = out.strip().splitlines()
    return json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None
