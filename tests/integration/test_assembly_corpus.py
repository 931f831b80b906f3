"""All that the repository has of kernels, by the backend `asm`, under every preset.

Results are those of numpy in f64, or of torch. The emulator may report nothing. What
is refused is refused by a code, for a reason of the kernel or of the chip.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest
import torch
from library_cases import SETTINGS, TILES
from programs import SCRIPTS
from test_emulator import SMALL

import wave_core.lang as language
import workspace
from wave_core.compile import Config, Session
from wave_core.compile.check_case import run_case
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError

CHIPS = ("gfx90a", "gfx942", "gfx950")
PRESETS = tuple(Session(announce=lambda _: None).plugins.presets)
FORMS = [(name, n) for name, rows in SETTINGS.items() for n in range(len(rows))]

pytestmark = pytest.mark.filterwarnings("ignore")  # loops that stay as they are say so


@pytest.fixture(scope="module")
def session():
    config, points = Config(cache=False), workspace.plugins()
    return Session(config=config, entry_points=points, announce=lambda _: None)


def check(session, name, chip, preset, settings):
    """A kernel of the library beside its reference, with no report."""
    sizes = SMALL[name] | {k: v for k, v in settings.items() if k in SMALL[name]}
    words = {k: v for k, v in settings.items() if k not in sizes}
    factory = session.plugins.load_kernel(name)
    case = make_case(factory, name, sizes, words, chip)
    how = {"backend": "asm", "device": "emulator", "preset": preset}
    options = replace(case.options, poison_outputs=True, **how)
    report = run_case(case, options=options, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()
    assert report.kernel.options.backend == "asm"


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", SMALL)
def test_every_kernel_is_right_under_every_preset(session, name, preset, chip):
    check(session, name, chip, preset, {})


@pytest.mark.fuzz
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form)))
def test_every_form_of_every_kernel_is_right(session, form, preset, chip):
    name, number = form
    settings = SETTINGS[name][number]
    code = refusal(name, settings, chip)
    if code:
        with pytest.raises(UserError, match=code):
            check(session, name, chip, preset, settings)
        return
    check(session, name, chip, preset, settings)


def refusal(name, settings, chip):
    """The code by which a chip refuses a form; products by blocks stage nothing."""
    if name == "gemm-mxfp" and "STAGED" in settings and chip != "gfx950":
        return "WV0801"
    return "WV0702" if multiplies(name, settings) not in (None, chip) else None


def multiplies(name, settings):
    """The chip whose matrix instructions alone take the floats of a byte."""
    dtype = str(settings.get("DTYPE", ""))
    if not name.startswith("gemm") or not dtype.startswith("f8"):
        return None
    return "gfx942" if dtype.endswith("fnuz") else "gfx950"


def test_every_setting_of_every_kernel_has_a_form(session):
    assert SETTINGS.keys() == SMALL.keys()
    for name, rows in SETTINGS.items():
        case = make_case(session.plugins.load_kernel(name), name, {}, {}, "gfx950")
        usual, given = case.settings, {key for row in rows for key in row}
        assert {*usual} - TILES <= given, name
        same = [row for row in rows if row.items() <= usual.items()]
        assert same == [], name


def example(script, session, monkeypatch, **options):
    """Run an example, which compares with torch; no launch may report anything."""
    compiled, made = language.wave_compile, []

    def recorded(given, kernel, **_):
        chosen = replace(given, poison_outputs=True)
        made.append(compiled(chosen, kernel, session=session))
        return made[-1]

    monkeypatch.setattr(language, "wave_compile", recorded)
    torch.manual_seed(20261127)
    how = {"device": "emulator", "backend": "asm", **options}
    import_module(script).main(**how)
    assert made
    assert all(kernel.last_run.reports == () for kernel in made)


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_example_is_right_under_every_preset(
    session, script, preset, chip, monkeypatch
):
    how = {"target": chip, "preset": preset}
    if script == "gemm_mxfp4" and chip != "gfx950":
        with pytest.raises(UserError, match="WV0702"):
            example(script, session, monkeypatch, **how)
        return
    example(script, session, monkeypatch, **how)
