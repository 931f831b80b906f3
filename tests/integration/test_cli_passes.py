"""The command line reaches every pass: which run, and with which options."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import get_args

import pytest

from wave_core.cli.app import run_command
from wave_core.compile import Session, WaveCompileOptions, wave_compile
from wave_core.compile.pipeline import plan_for
from wave_core.diagnostics import UserError
from wave_core.passes.load import load_pass
from wave_core.passes.options import option_fields, option_types


@pytest.fixture
def wave(capsys):
    def run(*arguments):
        code = run_command(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_set_pass_and_disable_reach_the_passes(wave):
    given = ("--set-pass", "schedule-loops.strategy=prefetch")
    given += ("--disable", "delay-reads, pack-matrix-operands")
    code, out, _ = wave("pipeline", *given, "--json")
    found = json.loads(out)
    off = {row["name"] for row in found["passes"] if not row["runs"]}
    assert code == 0
    assert {"delay-reads", "pack-matrix-operands"} <= off
    assert "sets schedule-loops.strategy = prefetch" in found["log"][0]


def test_inspect_shows_what_the_options_do(wave):
    loop = ("inspect", "gemm", "--shape", "M=128,N=128,K=128", "--what", "ir")
    _, plain, _ = wave(*loop)
    _, asked, _ = wave(*loop, "--passes", "schedule-loops{strategy=prefetch}")
    assert asked.count(" mma ") > plain.count(" mma ")


def test_run_takes_them(wave):
    given = ("--shape", "M=16,N=64", "--set-pass", "merge-contiguous-reads.max-bits=32")
    code, out, _ = wave("run", "copy", *given, "--json")
    assert code == 0
    assert json.loads(out)["passed"]


def test_an_unknown_option(wave):
    code, _, err = wave("run", "copy", "--set-pass", "reorder-loops.ordr=pingpong")
    assert code == 2
    assert err == (
        "error[WV0803]: `reorder-loops` has no option `ordr`\n"
        "  = help: did you mean `order`?\n"
        "  = help: its options are: `order`, `clusters`, `groups`\n"
        "\n`wave explain WV0803` says more\n"
    )


def test_an_unfit_value(wave):
    code, _, err = wave(
        "compile",
        "copy",
        "--set-pass",
        "schedule-loops.unroll=two",
        "--target",
        "gfx942",
    )
    assert code == 2
    assert err == (
        "error[WV0804]: option `unroll` of `schedule-loops` cannot be `two`\n"
        "  = help: it takes int from 1\n"
        "\n`wave explain WV0804` says more\n"
    )


def test_an_interval_that_no_table_holds(wave):
    code, _, err = wave("run", "gemm", "--set-pass", f"schedule-loops.interval={2**62}")
    assert code == 2
    assert err == (
        "error[WV0804]: option `interval` of `schedule-loops` cannot be "
        "`4611686018427387904`\n"
        "  = help: it takes int or `none` from 1 to 65536\n"
        "\n`wave explain WV0804` says more\n"
    )


def numbers():
    """Options of passes that are numbers, each with the largest that it takes."""
    for row in Session().plugins.passes:
        cls = type(load_pass(row))
        for name, declared in option_fields(cls).items():
            if int in (option_types(cls)[name], *get_args(option_types(cls)[name])):
                most = 2**63 - 1 if declared.at_most is None else declared.at_most
                yield row.name, name, most


@pytest.mark.parametrize(("name", "option", "most"), list(numbers()))
def test_the_largest_number_compiles_or_is_refused(name, option, most):
    session = Session(announce=lambda _: None)
    case = session.plugins.load_kernel("gemm")({}, {}, "gfx942")
    passes = {"schedule-loops": {"strategy": "modulo"}}
    passes[name] = {**passes.get(name, {}), option: most}
    options = replace(case.options, device="sim", passes=passes)
    with suppress(UserError):
        wave_compile(options, case.kernel, session=session)


def test_an_unknown_pass(wave):
    code, _, err = wave("inspect", "copy", "--disable", "schedule-lops")
    assert code == 2
    assert "there is no pass `schedule-lops`" in err
    assert "did you mean `schedule-loops`?" in err


def test_a_setting_without_an_option(wave):
    code, _, err = wave("run", "copy", "--set-pass", "unroll=2")
    assert code == 2
    assert "--set-pass takes PASS.OPTION=VALUE, not `unroll=2`" in err


def test_python_gets_the_line_of_the_options():
    session = Session()
    options = WaveCompileOptions(passes="schedule-loops{unroll=two}")
    with pytest.raises(UserError) as caught:
        plan_for(session, options, session.target("generic"))
    written = 'WaveCompileOptions(passes="schedule-loops{unroll=two}")'
    heading, _, code, marks, fix = str(caught.value).splitlines()
    assert heading.endswith("option `unroll` of `schedule-loops` cannot be `two`")
    assert code.endswith(f" |     options = {written}")
    assert marks.endswith(f" {'^' * len(written)} given by option passes")
    assert fix.strip() == "= help: it takes int from 1"


def test_option_reaches_every_option_of_compilation(wave):
    asked = ("gemm", "--shape", "M=128,N=128,K=128", "--set", "WAVES_M=2,WAVES_N=1")
    loop = ("--what", "ir", "--phase", "schedule", "--preset", "prefetch")
    _, plain, _ = wave("inspect", *asked, *loop)
    code, unrolled, _ = wave("inspect", *asked, *loop, "--option", "unroll_factor=2")
    assert code == 0
    assert unrolled.count(" mma ") > plain.count(" mma ")
    chip = ("--target", "gfx942", "--json")
    _, exact, _ = wave("explain-schedule", *asked, *chip)
    _, fast, _ = wave("explain-schedule", *asked, *chip, "--option", "unroll_factor=2")
    presets = [
        {row["options"]["preset"] for row in json.loads(each)["choices"]}
        for each in (exact, fast)
    ]
    assert presets[1] == {"default"} < presets[0]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("unrol_factor=2", "did you mean `unroll_factor`?"),
        ("unroll_factor=two", "[WV0823]"),
        ("unroll_factor", "--option takes NAME=VALUE, not `unroll_factor`"),
        ("preset=naive", "--option preset: write --preset"),
    ],
)
def test_an_option_of_compilation_that_is_none(wave, given, wanted):
    code, _, err = wave("run", "copy", "--option", given)
    assert code == 2
    assert wanted in err
