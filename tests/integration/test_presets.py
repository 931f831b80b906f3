"""Every kernel under every preset, lane by lane: right, and without a race."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kernel_shapes import SMALL

from wave_core.compile import Config, Session, run_case
from wave_core.compile.kernels import make_case

HOST = Session(config=Config(cache=False), announce=lambda _: None).plugins
PRESETS = sorted(HOST.presets)
TARGETS = ("gfx942", "sm_90a")


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", SMALL)
def test_no_wave_races(session, name, preset, target):
    case = make_case(HOST.load_kernel(name), name, SMALL[name], {}, target)
    asked = {"device": "sim", "preset": preset, "poison_outputs": True}
    report = run_case(case, options=replace(case.options, **asked), session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()
