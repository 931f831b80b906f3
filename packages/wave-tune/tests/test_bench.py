"""``wave bench``: rates over sizes, in a table, as JSON and as a picture."""

from __future__ import annotations

import json
from contextlib import contextmanager
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import torch

from wave_core.cli.app import run_command
from wave_tune import bench
from wave_tune.clocks import by_bursts, by_graph
from wave_tune.measure import GpuMeter, Measured
from wave_tune.tensors import tensor_of


@pytest.fixture
def wave(capsys):
    def run(*arguments):
        code = run_command(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_rates_over_sizes_by_the_emulator(wave, tmp_path):
    path = tmp_path / "found.json"
    given = ("--over", "M,N=64,128", "--target", "gfx942", "--against", "torch")
    code, out, err = wave("bench", "copy", *given, "-o", str(path), "--json")
    assert code == 0, err
    found = json.loads(out)
    assert json.loads(path.read_text()) == found
    assert found["on"].startswith("emulator")
    assert found["left_out"] == ["torch"]
    assert "`torch` is measured on GPUs alone" in err
    small, large = found["rows"]
    assert small["shape"] == {"M": 64, "N": 64}
    for row, size in ((small, 64), (large, 128)):
        # f16, read and written once.
        assert row["rate"] == pytest.approx(4 * size * size / row["us"] / 1e3)
        assert (row["unit"], row["bound"], row["peers"]) == ("GB/s", "memory", {})
        assert row["roof"] > row["rate"]
    picture = ET.fromstring(path.with_suffix(".svg").read_text())
    texts = [each.text for each in picture.iter() if each.text]
    assert {"wave", "roofline", "GB/s", "M=64 N=64", "M=128 N=128"} <= set(texts)


class Card(GpuMeter):
    """A GPU that takes a microsecond for everything."""

    on = "cuda: a card"

    def __init__(self):
        pass

    def measure(self, case, options):
        return Measured(1.0, "us", 1.0)


def test_peers_are_measured_on_the_same_arguments(monkeypatch, wave, tmp_path):
    seen = []
    file = tmp_path / "mine.py"
    file.write_text("def product(a, b, c):\n    return (a @ b.mT).shape\n")
    monkeypatch.setattr(bench, "meter_for", lambda *_: Card())
    monkeypatch.setattr(bench, "tensor_of", lambda a: tensor_of(a, "cpu").float())
    monkeypatch.setattr(bench, "by_graph", lambda run: seen.append(run()) or 2.0)
    sizes = ("--shape", "M=32,N=64,K=32", "--target", "gfx942")
    against = f"torch,mine={file}:product"
    code, out, err = wave("bench", "gemm", *sizes, "--against", against, "--json")
    assert code == 0, err
    (row,) = json.loads(out)["rows"]
    flops = 2 * 32 * 64 * 32
    assert row["rate"] == pytest.approx(flops / 1e6)
    assert row["peers"] == pytest.approx({"torch": flops / 2e6, "mine": flops / 2e6})
    assert [tuple(getattr(each, "shape", each)) for each in seen] == [(32, 64)] * 2


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        (("--against", "triton"), 2, "there is no peer of kernel `copy` `triton`"),
        (("--over", "M=big"), 2, "--over takes NAMES=SIZES"),
        (("--target", "sm_90a"), 1, "error[WV0831]"),
    ],
)
def test_what_cannot_be_measured_is_refused(wave, more, status, says):
    code, _, err = wave("bench", "copy", "--target", "gfx942", *more)
    assert (code, says in err) == (status, True), err


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int8"])
def test_tensors_have_the_elements_of_arrays(name):
    import ml_dtypes

    dtype = getattr(ml_dtypes, name) if name == "bfloat16" else name
    array = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    found = tensor_of(array.T, "cpu")
    assert found.dtype is getattr(torch, name)
    assert found.tolist() == array.T.tolist()
    assert tensor_of(1e-5) == 1e-5


def test_time_is_that_of_a_launch(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def passing(seconds):
        return lambda: now.__setitem__(0, now[0] + seconds)

    assert by_bursts(passing(3e-6), passing(1e-5)) == pytest.approx(3.0)


class Graphs:
    """What torch has of graphs: replaying takes what was captured, and no more.

    On the CPU a launch takes four microseconds, on the GPU three.
    """

    def __init__(self, now, captures):
        self.now, self.captures, self.launches, self.open = now, captures, 0, False

    def launch(self):
        self.launches += self.open
        self.now[0] += 0.0 if self.open else 4e-6

    def CUDAGraph(self):
        return self

    @contextmanager
    def graph(self, _):
        self.open = True
        yield
        self.open = False
        if not self.captures:
            raise RuntimeError

    def replay(self):
        self.now[0] += 3e-6 * self.launches

    def synchronize(self):
        self.now[0] += 1e-5

    def Event(self, *, enable_timing):
        event = SimpleNamespace(at=0.0, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.now[0])
        event.elapsed_time = lambda other: 1e3 * (other.at - event.at)
        return event


@pytest.mark.parametrize(("captures", "us"), [(True, 3.0), (False, 4.0)])
def test_a_graph_leaves_out_what_launching_takes(monkeypatch, captures, us):
    now = [0.0]
    graphs = Graphs(now, captures)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(torch, "cuda", graphs)
    assert by_graph(graphs.launch) == pytest.approx(us)
