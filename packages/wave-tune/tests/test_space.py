"""What authors declare, and the candidates that come of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import scaled

import wave_core.lang as tkl
from wave_core.compile import Config, Session
from wave_core.compile.bare_case import bare_case
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_tune import wave_autotune
from wave_tune.points import Point, space_of
from wave_tune.subject import Subject

SESSION = Session(config=Config(cache=False), announce=lambda _: None)


def case_of(kernel, **subs):
    options = tkl.WaveCompileOptions(subs={"M": 8, "N": 64, **subs}, target="gfx942")
    return bare_case(kernel, options, {"M": 8, "N": 64}, SESSION)


def told(space):
    return [str(each.point) for each in space.tried]


def test_the_author_declares_symbols_presets_and_options():
    kernel = wave_autotune(
        presets=("naive", "default"), options={"unroll_factor": (1, 2)}
    )(scaled.scaled)
    assert told(space_of(case_of(kernel, BLOCK=4), SESSION)) == [
        "preset=naive",
        "preset=naive unroll_factor=2",
        "preset=default",
        "preset=default unroll_factor=2",
    ]
    assert len(space_of(case_of(kernel), SESSION).tried) == 8


def test_what_is_open_is_tried_under_the_preset():
    space = space_of(case_of(scaled.scaled), SESSION)
    assert told(space) == ["preset=default BLOCK=1", "preset=default BLOCK=4"]
    case = case_of(scaled.scaled)
    naive = replace(case, options=replace(case.options, preset="naive"))
    assert told(space_of(naive, SESSION))[0] == "preset=naive BLOCK=1"


def test_the_estimate_leaves_out_what_does_not_fit_or_is_far_behind():
    shape = {"M": 1024, "N": 1024, "K": 512}
    case = make_case(SESSION.plugins.load_kernel("gemm"), "gemm", shape, {}, "gfx942")
    space = space_of(case, SESSION)
    reasons = [each.refused for each in space.candidates if each.refused]
    assert len(space.tried) < len(space.candidates) // 2
    assert any("times as slow" in why for why in reasons)
    assert any("LDS" in why or "registers" in why for why in reasons)
    cycles = [each.cycles for each in space.tried]
    assert cycles == sorted(cycles)


def test_a_point_survives_its_text_and_settles_options():
    point = Point.of({"SPACE": "shared", "BLOCK": 4}, {"passes": ("a{b=1}",)})
    assert Point.of_text(point.text()) == point
    found = point.applied(tkl.WaveCompileOptions(subs={"M": 8}))
    assert (found.preset, len(found.passes), len(found.subs)) == ("default", 1, 3)


def test_arguments_are_made_up_for_a_kernel_that_has_none():
    import numpy as np

    a, b = case_of(scaled.scaled).make_arguments(np.random.default_rng(0))
    assert a.shape == b.shape == (8, 64)
    assert a.dtype == np.float32
    assert a.std() > 0.5
    with pytest.raises(UserError, match=r"arguments of `scaled`: `a: f32\[M, N\]`"):
        bare_case(scaled.scaled, tkl.WaveCompileOptions(subs={"M": 8}), {}, SESSION)


def test_a_subject_survives_its_text():
    subject = Subject("gemm", ("M=8",), (), "gfx942", None, ("use_fast_math=true",))
    assert Subject.of_text(subject.text()) == subject


@pytest.mark.parametrize(
    ("declare", "code", "says"),
    [
        (lambda: wave_autotune({scaled.BLOCK: 4}), "WV0327", "`values` of Tunable"),
        (lambda: wave_autotune(presets="naive"), "WV0327", "`presets` of TuningWays"),
        (lambda: wave_autotune(options={"a": 1}), "WV0327", "`options` of TuningWays"),
        (lambda: wave_autotune({})(len), "WV0826", "which is no kernel"),
        (
            lambda: space_of(case_of(scaled.settled), SESSION),
            "WV0832",
            "nothing to tune",
        ),
    ],
)
def test_what_is_declared_wrongly_is_refused(declare, code, says):
    with pytest.raises(UserError, match=says) as caught:
        declare()
    assert caught.value.code == code
