"""Every public function where sizes are 0, 1, prime, about a tile, and very long."""

from __future__ import annotations

import inspect
import re
from zlib import crc32

import pytest
import torch
from boundaries import TABLE
from boundaries.axes import ULP

from wave_core.diagnostics import LaunchError
from wave_kernels import functions
from wave_kernels.functions import launches

FUZZ = pytest.mark.fuzz
EVERY = [(name, *edge) for name, row in TABLE.items() for edge in row.edges]
FEW = {name: crc32(name.encode()) % len(row.edges) for name, row in TABLE.items()}
"""The edge that is an ordinary test: another one for each function."""


def in_ordinary_tests(name, axis, size):
    """Whether it is tried each time: what is empty, and one more of each function."""
    return not size or TABLE[name].edges[FEW[name]] == (axis, size)


def stated(function):
    """The codes of refusals that a docstring names, ranges among them."""
    text = inspect.getdoc(function) or ""
    if "As `attention`" in text:
        text += inspect.getdoc(functions.attention) or ""
    ends = re.findall(r"WV(\d{4})(?: to WV(\d{4}))?", text)
    spans = (range(int(a), int(b or a) + 1) for a, b in ends)
    return {f"WV{number:04}" for span in spans for number in span}


def poisoned(function, trial, dtype):
    """The argument that takes the results, where there is one."""
    if "out" not in inspect.signature(function).parameters:
        return {}
    places = [torch.full(each.shape, torch.nan).to(dtype) for each in trial.wanted]
    if function.__name__.endswith("_with_lse"):
        places[1] = places[1].float()
    return {"out": places[0] if len(places) == 1 else tuple(places)}


def check(name, dtype, axis, size):
    function, row = getattr(functions, name), TABLE[name]
    sizes = row.sizes(axis, size)
    trial = row.trial(dtype, **sizes)
    named = {**trial.named, **poisoned(function, trial, dtype)}
    if not row.axes[axis].takes(size):
        with pytest.raises(LaunchError) as refusal:
            function(*trial.arguments, **named)
        assert refusal.value.code in stated(function)
        return
    found = function(*trial.arguments, **named)
    results = found if isinstance(found, tuple) else (found,)
    for mine, wanted, limit in zip(results, trial.wanted, trial.limits, strict=True):
        assert mine.shape == wanted.shape
        rounding = ULP.get(mine.dtype, 0.0) if limit else 0.0
        torch.testing.assert_close(mine.double(), wanted, rtol=rounding, atol=limit)


def test_every_public_function_has_edges():
    """A new one has a row in a module beside `boundaries.axes`."""
    assert sorted(TABLE) == sorted(functions.__all__)


@pytest.mark.parametrize(
    ("name", "axis", "size"),
    [pytest.param(*e, marks=() if in_ordinary_tests(*e) else FUZZ) for e in EVERY],
)
def test_results_are_right_or_the_refusal_is_stated(name, axis, size):
    torch.manual_seed(size)
    check(name, TABLE[name].dtypes[0], axis, size)


@FUZZ
@pytest.mark.parametrize(("name", "axis", "size"), EVERY)
def test_narrow_types(name, axis, size):
    torch.manual_seed(size)
    check(name, TABLE[name].dtypes[-1], axis, size)


@FUZZ
@pytest.mark.parametrize(("name", "axis", "size"), EVERY)
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_90a"])
def test_machine_code(name, axis, size, target, monkeypatch):
    monkeypatch.setattr(launches, "ON_CPU", ("emulator", target))
    torch.manual_seed(size)
    check(name, TABLE[name].dtypes[0], axis, size)
